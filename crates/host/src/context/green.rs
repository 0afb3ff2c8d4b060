//! A small preemptive library of user-level threads, built like gtthread of the Michigan poster: a
//! run queue, ucontext, and a timer signal whose handler takes the CPU from the running thread.
//!
//! Why a switch inside a signal handler is right here:
//! - The kernel blocks the signal while its handler runs, and swapcontext saves and restores the
//!   mask. A thread that was preempted is suspended inside its handler with the signal blocked;
//!   when it is switched back to, it returns from the handler, and the kernel's sigreturn gives it
//!   the mask, and all registers with the vector state, that it was interrupted with. A thread that
//!   begins, or that gave up the CPU by itself, has the signal unblocked.
//! - The scheduler's own data is touched under `is_busy`: a signal that comes while it is set is
//!   counted, but switches nothing. Every place at which a thread comes back clears the flag. The
//!   timer ends under the flag too: a switch by its last signal would leave nothing to bring the
//!   caller back.
//! - A signal of the same number that another process sends is not counted, and switches nothing.
//! - What runs in a thread must not allocate, lock, or make system calls that keep state in the
//!   process: it may lose the CPU at any instruction to a thread that does the same.

use std::cell::{Cell, UnsafeCell};
use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering::SeqCst};

use switchcost_units::Nanos;

use super::machine::{Machine, address_of};
use super::timer::{SignalTimer, is_of_a_timer, require_deliverable};

/// Scheduler whose threads the signal switches; null if there is none.
static RUNNING: AtomicPtr<Scheduler> = AtomicPtr::new(std::ptr::null_mut());

/// Body of a thread, called each time that the thread gets the CPU with the scheduler and the
/// thread's number.
type Turn = Box<dyn Fn(&Scheduler, usize)>;

/// A set of user-level threads. Thread 0 is the caller. A process can have only one set at a time.
pub struct Green {
    // Boxed: threads and handler hold its address.
    scheduler: Box<Scheduler>,
}

/// The run queue of a set of user-level threads.
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
    /// Makes a set of `threads` threads. Threads 1 to `threads - 1` call `turn` forever, each with
    /// its number, whenever they have the CPU.
    ///
    /// Errors: another set exists in this process, there is no memory for the stacks, or the
    /// calling thread blocks the timer's signal, which every thread would inherit.
    pub fn new(threads: usize, turn: Turn) -> io::Result<Green> {
        require_deliverable()?;
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
        scheduler.machines.push(Machine::new_caller()?);
        let address: *mut Scheduler = &mut *scheduler;
        for index in 1..threads {
            let machine = Machine::new(run, address.cast_const(), index)?;
            scheduler.machines.push(machine);
        }
        RUNNING
            .compare_exchange(std::ptr::null_mut(), address, SeqCst, SeqCst)
            .map_err(|_| {
                io::Error::other("another set of user-level threads is already in this process")
            })?;
        Ok(Green { scheduler })
    }

    /// Returns the run queue, for the caller as thread 0.
    pub fn scheduler(&self) -> &Scheduler {
        &self.scheduler
    }

    /// Runs `body` as thread 0, while a timer preempts the running thread once each `period`.
    ///
    /// Errors: the period is zero, or no timer can be had.
    pub fn preempting<T>(
        &self,
        period: Nanos,
        body: impl FnOnce(&Scheduler) -> T,
    ) -> io::Result<T> {
        let timer = SignalTimer::start(period, handle_tick)?;
        let _preemption = Preemption {
            scheduler: &self.scheduler,
            timer: Some(timer),
        };
        Ok(body(&self.scheduler))
    }

    /// Runs `body` as the only thread. The other threads are not in the run queue until `body`
    /// returns.
    pub fn alone<T>(&self, body: impl FnOnce(&Scheduler) -> T) -> T {
        self.scheduler.exchange_parked();
        let _parking = Parking(&self.scheduler);
        body(&self.scheduler)
    }
}

/// A running timer that preempts threads. The thread that started the timer stops the timer by
/// dropping this value.
struct Preemption<'a> {
    scheduler: &'a Scheduler,
    timer: Option<SignalTimer>,
}

impl Drop for Preemption<'_> {
    fn drop(&mut self) {
        self.scheduler.is_busy.store(true, SeqCst);
        // Before Linux 6.13, a signal that the timer sent just before its deletion is still
        // delivered.
        drop(self.timer.take());
        self.scheduler.is_busy.store(false, SeqCst);
    }
}

/// Guard that keeps all other threads out of the run queue until it is dropped.
struct Parking<'a>(&'a Scheduler);

impl Drop for Parking<'_> {
    fn drop(&mut self) {
        self.0.exchange_parked();
    }
}

impl Drop for Green {
    fn drop(&mut self) {
        RUNNING.store(std::ptr::null_mut(), SeqCst);
    }
}

impl Scheduler {
    /// Moves the calling thread to the end of the run queue, and switches to the thread at its
    /// head. Returns immediately if no other thread is ready.
    pub fn yield_now(&self) {
        self.is_busy.store(true, SeqCst);
        self.switch_to_next(&self.yields);
        self.is_busy.store(false, SeqCst);
    }

    /// Returns the number of switches made by [`Scheduler::yield_now`].
    pub fn yields(&self) -> u64 {
        self.yields.load(SeqCst)
    }

    /// Returns the number of switches made by the timer's signal.
    pub fn preemptions(&self) -> u64 {
        self.preemptions.load(SeqCst)
    }

    /// Returns the number of the timer's signals, whether or not they caused a switch.
    pub fn signals(&self) -> u64 {
        self.signals.load(SeqCst)
    }

    /// Switches to the thread at the head of the run queue, and returns when the calling thread
    /// runs again. Returns immediately if no thread is ready. The switch is counted in `count`
    /// before the context changes, because the next thread may read the count. The caller must have
    /// set `is_busy`.
    fn switch_to_next(&self, count: &AtomicU64) {
        let own = self.current.get();
        // SAFETY: `is_busy` keeps the handler out, and no other OS thread knows this scheduler.
        let ready = unsafe { &mut *self.ready.get() };
        let Some(next) = ready.pop_front() else {
            return;
        };
        // The queue never reallocates, because it has room for all threads but one.
        ready.push_back(own);
        self.current.set(next);
        count.fetch_add(1, SeqCst);
        self.machines[own].leave_for(&self.machines[next]);
    }

    fn exchange_parked(&self) {
        self.is_busy.store(true, SeqCst);
        // SAFETY: `is_busy` keeps the handler out, and no other OS thread knows this scheduler.
        let ready = unsafe { &mut *self.ready.get() };
        // SAFETY: as above; the two queues are different fields.
        let parked = unsafe { &mut *self.parked.get() };
        std::mem::swap(ready, parked);
        self.is_busy.store(false, SeqCst);
    }
}

/// Runs the body of a thread other than the caller's, in a loop. A panic ends the process.
extern "C" fn run(high: libc::c_uint, low: libc::c_uint, index: libc::c_uint) {
    // SAFETY: the address is that of the boxed scheduler, which outlives its threads: they run only while its owner
    // yields or is preempted.
    let scheduler = unsafe { &*address_of::<Scheduler>(high, low) };
    scheduler.is_busy.store(false, SeqCst);
    loop {
        (scheduler.turn)(scheduler, index as usize);
    }
}

extern "C" fn handle_tick(_: libc::c_int, information: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel hands over the signal's information, which lies in the frame of this very handler.
    if !is_of_a_timer(unsafe { &*information }) {
        return;
    }
    // SAFETY: the pointer is null, or leads to a scheduler that lives until it has removed itself.
    let Some(scheduler) = (unsafe { RUNNING.load(SeqCst).as_ref() }) else {
        return;
    };
    scheduler.signals.fetch_add(1, SeqCst);
    if scheduler.is_busy.swap(true, SeqCst) {
        return;
    }
    scheduler.switch_to_next(&scheduler.preemptions);
    scheduler.is_busy.store(false, SeqCst);
}

#[cfg(test)]
pub(super) mod tests;
