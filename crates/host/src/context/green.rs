//! A small preemptive library of user-level threads, as the Michigan poster's gtthread: a run queue, ucontext, and a
//! timer signal whose handler takes the CPU from the running thread.
//!
//! Why a switch inside a signal handler is right here:
//! - The kernel blocks the signal while its handler runs, and swapcontext saves and restores the mask. A thread that
//!   was preempted is suspended inside its handler with the signal blocked; when it is switched back to, it returns
//!   from the handler, and the kernel's sigreturn gives it the mask, and all registers with the vector state, that it
//!   was interrupted with. A thread that begins, or that gave up the CPU by itself, has the signal unblocked.
//! - The scheduler's own data is touched under `is_busy`: a signal that comes meanwhile is counted and switches
//!   nothing. Every place at which a thread comes back clears the flag.
//! - What runs in a thread must not allocate, lock, or make system calls that keep state in the process: it may lose
//!   the CPU at any instruction to a thread that does the same.

use std::cell::{Cell, UnsafeCell};
use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering::SeqCst};

use units::Nanos;

use super::machine::{Machine, address_of};
use super::timer::SignalTimer;

/// The scheduler that the signal belongs to; null where there is none.
static RUNNING: AtomicPtr<Scheduler> = AtomicPtr::new(std::ptr::null_mut());

/// What a thread does when it has the CPU, again and again.
type Turn = Box<dyn Fn(&Scheduler, usize)>;

/// A set of user-level threads, of which thread 0 is the caller. One at a time in a process.
pub struct Green {
    // Boxed: threads and handler hold its address.
    scheduler: Box<Scheduler>,
}

/// The run queue, as threads see it.
pub struct Scheduler {
    machines: Vec<Machine>,
    turn: Turn,
    current: Cell<usize>,
    ready: UnsafeCell<VecDeque<usize>>,
    parked: UnsafeCell<VecDeque<usize>>,
    is_busy: AtomicBool,
    yields: AtomicU64,
    preemptions: AtomicU64,
    signals: AtomicU64,
}

impl Green {
    /// Threads 1 to `threads - 1` call `turn` for ever, each with its number, whenever they have the CPU.
    ///
    /// Errors where another set lives in this process, or there is no memory for the stacks.
    pub fn new(threads: usize, turn: Turn) -> io::Result<Green> {
        let mut scheduler = Box::new(Scheduler {
            machines: Vec::with_capacity(threads),
            turn,
            current: Cell::new(0),
            ready: UnsafeCell::new((1..threads).collect()),
            parked: UnsafeCell::new(VecDeque::with_capacity(threads)),
            is_busy: AtomicBool::new(false),
            yields: AtomicU64::new(0),
            preemptions: AtomicU64::new(0),
            signals: AtomicU64::new(0),
        });
        scheduler.machines.push(Machine::of_caller()?);
        let address: *mut Scheduler = &mut *scheduler;
        for index in 1..threads {
            let machine = Machine::new(run, address.cast_const(), index)?;
            scheduler.machines.push(machine);
        }
        RUNNING.compare_exchange(std::ptr::null_mut(), address, SeqCst, SeqCst).map_err(|_| {
            io::Error::other("found another set of user-level threads in this process, need it to be the only one")
        })?;
        Ok(Green { scheduler })
    }

    /// The run queue, for the caller as thread 0.
    pub fn scheduler(&self) -> &Scheduler {
        &self.scheduler
    }

    /// Runs `body` as thread 0 while the timer takes the CPU from whoever runs, once a `period`.
    pub fn preempting<T>(&self, period: Nanos, body: impl FnOnce(&Scheduler) -> T) -> io::Result<T> {
        let timer = SignalTimer::start(period, on_tick)?;
        let outcome = body(&self.scheduler);
        drop(timer);
        Ok(outcome)
    }

    /// Runs `body` as the only thread: the others are out of the run queue meanwhile.
    pub fn alone<T>(&self, body: impl FnOnce(&Scheduler) -> T) -> T {
        self.scheduler.exchange_parked();
        let outcome = body(&self.scheduler);
        self.scheduler.exchange_parked();
        outcome
    }
}

impl Drop for Green {
    fn drop(&mut self) {
        RUNNING.store(std::ptr::null_mut(), SeqCst);
    }
}

impl Scheduler {
    /// Goes to the end of the run queue; returns at once where it is empty.
    pub fn yield_now(&self) {
        self.is_busy.store(true, SeqCst);
        self.to_the_next(&self.yields);
        self.is_busy.store(false, SeqCst);
    }

    /// Switches made because a thread yielded.
    pub fn yields(&self) -> u64 {
        self.yields.load(SeqCst)
    }

    /// Switches made by the timer's signal.
    pub fn preemptions(&self) -> u64 {
        self.preemptions.load(SeqCst)
    }

    /// Signals that came, whether or not they switched.
    pub fn signals(&self) -> u64 {
        self.signals.load(SeqCst)
    }

    /// Switches to the head of the run queue, and comes back when this thread is the head; at once where nobody waits.
    /// A switch is counted before it is made: whoever gets the CPU may look. The caller has set `is_busy`.
    fn to_the_next(&self, count: &AtomicU64) {
        let own = self.current.get();
        // SAFETY: `is_busy` keeps the handler out, and no other kernel thread knows this scheduler.
        let ready = unsafe { &mut *self.ready.get() };
        let Some(next) = ready.pop_front() else { return };
        // Never grows: the queue was made for all threads but one.
        ready.push_back(own);
        self.current.set(next);
        count.fetch_add(1, SeqCst);
        self.machines[own].leave_for(&self.machines[next]);
    }

    fn exchange_parked(&self) {
        // SAFETY: no timer runs and no other thread is running: the caller is thread 0.
        let ready = unsafe { &mut *self.ready.get() };
        // SAFETY: as above; the two are different fields.
        let parked = unsafe { &mut *self.parked.get() };
        std::mem::swap(ready, parked);
    }
}

/// The life of every thread but the caller's. A panic in it ends the process at this boundary.
extern "C" fn run(high: libc::c_uint, low: libc::c_uint, index: libc::c_uint) {
    // SAFETY: the address is that of the boxed scheduler, which outlives its threads: they run only while its owner
    // yields or is preempted.
    let scheduler = unsafe { &*address_of::<Scheduler>(high, low) };
    scheduler.is_busy.store(false, SeqCst);
    loop {
        (scheduler.turn)(scheduler, index as usize);
    }
}

extern "C" fn on_tick(_: libc::c_int) {
    // SAFETY: null, or a scheduler that lives until it has taken itself out.
    let Some(scheduler) = (unsafe { RUNNING.load(SeqCst).as_ref() }) else { return };
    scheduler.signals.fetch_add(1, SeqCst);
    if scheduler.is_busy.swap(true, SeqCst) {
        return;
    }
    scheduler.to_the_next(&scheduler.preemptions);
    scheduler.is_busy.store(false, SeqCst);
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::rc::Rc;
    use std::sync::{Mutex, MutexGuard, PoisonError};

    static TURN: Mutex<()> = Mutex::new(());

    /// One set of threads, and one disposition of the signal, in a process: the tests take turns.
    pub(in super::super) fn one_at_a_time() -> MutexGuard<'static, ()> {
        TURN.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[test]
    fn yields_go_round_the_queue_and_are_counted() {
        let _turn = one_at_a_time();
        let order = Rc::new(RefCell::new(Vec::new()));
        let seen = Rc::clone(&order);
        let turn = move |scheduler: &Scheduler, index| {
            seen.borrow_mut().push(index);
            scheduler.yield_now();
        };
        let green = Green::new(3, Box::new(turn)).expect("the only set");
        for _ in 0..2 {
            order.borrow_mut().push(0);
            green.scheduler().yield_now();
        }
        assert_eq!(*order.borrow(), [0, 1, 2, 0, 1, 2]);
        assert_eq!((green.scheduler().yields(), green.scheduler().preemptions()), (6, 0));
        green.alone(|scheduler| scheduler.yield_now());
        assert_eq!(green.scheduler().yields(), 6, "alone there is nobody to switch to");
        green.scheduler().yield_now();
        assert_eq!(green.scheduler().yields(), 9, "and then there is again");
    }

    #[test]
    fn there_is_one_set_at_a_time() {
        let _turn = one_at_a_time();
        let first = Green::new(2, Box::new(|_, _| ())).expect("the only set");
        assert!(Green::new(2, Box::new(|_, _| ())).is_err());
        drop(first);
        drop(Green::new(2, Box::new(|_, _| ())).expect("the only set again"));
    }

    /// A sum that comes out the same to the last bit only if no register is lost.
    fn compute(rounds: u32) -> f64 {
        let (mut a, mut b, mut c) = (1.0_f64, 0.5_f64, 0.25_f64);
        for round in 0..rounds {
            let x = f64::from(round);
            a = a.mul_add(0.999, x.sqrt());
            b = b * 0.998 + a * 0.001;
            c = c * 0.997 + b * 0.002;
        }
        a + b + c
    }

    #[test]
    fn preempted_threads_lose_no_register() {
        let _turn = one_at_a_time();
        const ROUNDS: u32 = 200_000;
        let expected = compute(ROUNDS);
        let results = Rc::new((Cell::new(0_u32), Cell::new(0_u32)));
        let counts = Rc::clone(&results);
        let turn = move |_: &Scheduler, _| {
            let count = if compute(ROUNDS) == expected { &counts.0 } else { &counts.1 };
            count.set(count.get() + 1);
        };
        let green = Green::new(3, Box::new(turn)).expect("the only set");
        let own = green.preempting(Nanos::micros(50), |_| (0..60).map(|_| compute(ROUNDS)).collect::<Vec<_>>());
        let own = own.expect("a timer");
        assert!(own.iter().all(|sum| *sum == expected));
        assert_eq!(results.1.get(), 0, "wrong sums");
        let scheduler = green.scheduler();
        assert!(scheduler.preemptions() > 20, "{} preemptions", scheduler.preemptions());
        assert!(results.0.get() > 10, "the other threads ran too: {}", results.0.get());
    }

    #[test]
    fn alone_the_signals_come_and_switch_nothing() {
        let _turn = one_at_a_time();
        let green = Green::new(2, Box::new(|_, _| unreachable!("parked"))).expect("the only set");
        let signals = green.alone(|_| {
            green.preempting(Nanos::micros(100), |scheduler| {
                while scheduler.signals() < 20 {}
                scheduler.signals()
            })
        });
        assert!(signals.expect("a timer") >= 20);
        assert_eq!(green.scheduler().preemptions(), 0);
    }
}
