//! A ring of contexts that switch directly from one to the next with swapcontext.

use std::cell::Cell;
use std::io;

use super::machine::{Machine, address_of};

/// A ring of contexts that switch by swapcontext. Context 0 is the caller. In each round, every
/// context runs once.
pub struct UcontextRing {
    // Boxed: the contexts hold its address.
    inner: Box<Inner>,
}

struct Inner {
    machines: Vec<Machine>,
    turn: Box<dyn Fn(usize)>,
    switches: Cell<u64>,
}

impl UcontextRing {
    /// Makes a ring of two or more contexts. Each context calls `turn` with its number whenever it
    /// gets the CPU.
    pub fn new(contexts: usize, turn: Box<dyn Fn(usize)>) -> io::Result<UcontextRing> {
        if contexts < 2 {
            return Err(io::Error::other(format!(
                "{contexts} contexts make no ring, which needs two or more"
            )));
        }
        let mut inner = Box::new(Inner {
            machines: Vec::with_capacity(contexts),
            turn,
            switches: Cell::new(0),
        });
        inner.machines.push(Machine::new_caller()?);
        let address: *const Inner = &*inner;
        for index in 1..contexts {
            let machine = Machine::new(run, address, index)?;
            inner.machines.push(machine);
        }
        Ok(UcontextRing { inner })
    }

    /// Runs `rounds` rounds. In each one, all contexts get the CPU in order, the caller first.
    pub fn rounds(&mut self, rounds: u64) {
        for _ in 0..rounds {
            (self.inner.turn)(0);
            self.inner.pass_on(0);
        }
    }

    /// Returns the number of switches since the ring was made.
    pub fn switches(&self) -> u64 {
        self.inner.switches.get()
    }
}

impl Inner {
    #[inline(always)]
    fn pass_on(&self, from: usize) {
        self.switches.set(self.switches.get() + 1);
        let next = if from + 1 == self.machines.len() {
            0
        } else {
            from + 1
        };
        self.machines[from].leave_for(&self.machines[next]);
    }
}

/// Runs the body of a context other than the caller's, in a loop. A panic ends the process.
extern "C" fn run(high: libc::c_uint, low: libc::c_uint, index: libc::c_uint) {
    // SAFETY: the address is that of the boxed ring, which outlives its contexts: they run only inside `rounds`.
    let ring = unsafe { &*address_of::<Inner>(high, low) };
    loop {
        (ring.turn)(index as usize);
        ring.pass_on(index as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::rc::Rc;

    #[test]
    fn every_context_has_its_turn_in_order() {
        let order = Rc::new(RefCell::new(Vec::new()));
        let seen = Rc::clone(&order);
        let mut ring = UcontextRing::new(3, Box::new(move |index| seen.borrow_mut().push(index)))
            .expect("a ring");
        ring.rounds(2);
        assert_eq!(*order.borrow(), [0, 1, 2, 0, 1, 2]);
        assert_eq!(ring.switches(), 6);
        ring.rounds(1);
        assert_eq!(ring.switches(), 9);
    }

    #[test]
    fn a_context_alone_is_no_ring() {
        let refused = |contexts| {
            UcontextRing::new(contexts, Box::new(|_| ()))
                .err()
                .map(|error| error.to_string())
        };
        assert_eq!(
            refused(1).as_deref(),
            Some("1 contexts make no ring, which needs two or more")
        );
        assert!(refused(0).is_some());
        assert!(refused(2).is_none());
    }

    #[test]
    fn rings_come_and_go() {
        for _ in 0..100 {
            UcontextRing::new(8, Box::new(|_| ()))
                .expect("a ring")
                .rounds(3);
        }
    }

    /// Returns the control words of the floating-point units, without the flags of past operations.
    #[cfg(target_arch = "x86_64")]
    fn floating_point_modes() -> (u16, u32) {
        let (mut x87, mut sse) = (0_u16, 0_u32);
        // SAFETY: stores the control word to the two bytes that the pointer names.
        unsafe { std::arch::asm!("fnstcw [{}]", in(reg) &mut x87, options(nostack)) };
        // SAFETY: stores the control word to the four bytes that the pointer names.
        unsafe { std::arch::asm!("stmxcsr [{}]", in(reg) &mut sse, options(nostack)) };
        (x87, sse & !0x3f)
    }

    /// Overwrites what earlier function calls have left on the stack.
    #[cfg(target_arch = "x86_64")]
    #[inline(never)]
    fn scribble() {
        std::hint::black_box([0_u8; 16 << 10]);
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn a_new_context_begins_with_the_callers_floating_point_modes() {
        let seen = Rc::new(RefCell::new(Vec::new()));
        let inside = Rc::clone(&seen);
        let turn = move |_| inside.borrow_mut().push(floating_point_modes());
        let mut ring = UcontextRing::new(3, Box::new(turn)).expect("a ring");
        scribble();
        ring.rounds(2);
        assert_eq!(*seen.borrow(), [floating_point_modes(); 6]);
    }
}
