//! A suspended context: saved registers, signal mask and stack.

use std::cell::UnsafeCell;
use std::io;
use std::mem::MaybeUninit;

use corosensei::stack::{DefaultStack, Stack};

/// Size of a stack in bytes: room for a walk, a signal frame with the widest vector registers, and
/// the handler.
const STACK: usize = 128 << 10;

/// A context that can be left and resumed: one that begins in a given function, or the caller's.
pub(super) struct Machine {
    saved: Box<UnsafeCell<libc::ucontext_t>>,
    /// Stack with a guard page, unmapped on drop; `None` for the caller, which has its own stack.
    _stack: Option<DefaultStack>,
}

/// Function in which a new context begins. makecontext passes only ints, so an address is passed in
/// two halves; `index` is the number of the context.
pub(super) type Entry = extern "C" fn(high: libc::c_uint, low: libc::c_uint, index: libc::c_uint);

/// Returns the calling context, saved at its final address. On x86-64 a context points into itself,
/// to the saved modes of the floating-point unit, so it must not be moved.
fn current() -> io::Result<Box<UnsafeCell<libc::ucontext_t>>> {
    let saved = Box::new(UnsafeCell::new(MaybeUninit::<libc::ucontext_t>::zeroed()));
    // SAFETY: the pointer is valid for writing one ucontext_t.
    let status = unsafe { libc::getcontext(saved.get().cast()) };
    if status != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: zeroed is a valid ucontext_t, and getcontext has filled it in; neither wrapper
    // changes the layout.
    Ok(unsafe { Box::from_raw(Box::into_raw(saved).cast()) })
}

impl Machine {
    /// Creates a context for the caller. The context is saved when it is first left.
    pub(super) fn new_caller() -> io::Result<Machine> {
        Ok(Machine {
            saved: current()?,
            _stack: None,
        })
    }

    /// Creates a context that begins in `entry`, with the caller's signal mask.
    pub(super) fn new<T>(entry: Entry, shared: *const T, index: usize) -> io::Result<Machine> {
        let stack = DefaultStack::new(STACK)?;
        let saved = current()?;
        let context = saved.get();
        // SAFETY: only this function has the box until it is returned.
        let inside = unsafe { &mut *context };
        inside.uc_stack.ss_sp = (stack.base().get() - STACK) as *mut libc::c_void;
        inside.uc_stack.ss_size = STACK;
        inside.uc_link = std::ptr::null_mut();
        let address = shared as usize as u64;
        let (high, low) = ((address >> 32) as libc::c_uint, address as libc::c_uint);
        // SAFETY: the C prototype says `void (*)()`, and the call passes what `Entry` takes: three ints.
        let function = unsafe { std::mem::transmute::<Entry, extern "C" fn()>(entry) };
        // SAFETY: the context was filled in by getcontext and given a stack of its own, which lives as long as it.
        unsafe { libc::makecontext(context, function, 3, high, low, index as libc::c_uint) };
        Ok(Machine {
            saved,
            _stack: Some(stack),
        })
    }

    /// Leaves this context, which must be the running one, and resumes another. Returns when this
    /// context is resumed.
    #[inline(always)]
    pub(super) fn leave_for(&self, next: &Machine) {
        // SAFETY: `self` is saved and `next` restored; both are alive, and `next` is suspended, because one context of
        // a set runs at a time. On return the registers are as before the call, as for any function.
        let status = unsafe { libc::swapcontext(self.saved.get(), next.saved.get()) };
        assert_eq!(status, 0, "swapcontext fails only for want of stack");
    }
}

/// Returns the address that [`Machine::new`] passes to an [`Entry`] in two halves.
pub(super) fn address_of<T>(high: libc::c_uint, low: libc::c_uint) -> *const T {
    (u64::from(high) << 32 | u64::from(low)) as usize as *const T
}

#[cfg(test)]
mod tests {
    use super::*;

    extern "C" fn never_entered(_: libc::c_uint, _: libc::c_uint, _: libc::c_uint) {}

    /// Returns the machine of a context that is suspended.
    fn suspended() -> Machine {
        Machine::new(never_entered, std::ptr::null::<u8>(), 1).expect("a stack")
    }

    #[test]
    fn below_the_stack_lies_a_page_that_faults() {
        let machine = suspended();
        // SAFETY: the context belongs to this machine and is suspended.
        let lowest = unsafe { &*machine.saved.get() }.uc_stack.ss_sp as usize;
        let maps = std::fs::read_to_string("/proc/self/maps").expect("own mappings");
        let guard = maps
            .lines()
            .find(|line| line.contains(&format!("-{lowest:x} ")));
        assert!(
            guard.is_some_and(|line| line.contains(" ---p ")),
            "{lowest:x} in {maps}"
        );
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn a_context_points_to_its_own_floating_point_modes() {
        let machine = suspended();
        let start = machine.saved.get() as usize;
        // SAFETY: the context belongs to this machine and is suspended.
        let modes = unsafe { &*machine.saved.get() }.uc_mcontext.fpregs as usize;
        assert!(
            (start..start + size_of::<libc::ucontext_t>()).contains(&modes),
            "{modes:x} from {start:x}"
        );
    }
}
