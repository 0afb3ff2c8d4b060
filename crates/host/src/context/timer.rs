//! A timer that periodically sends a signal to the calling thread. The signal has its own action
//! while the timer lives.

use std::io;
use std::mem::MaybeUninit;

use switchcost_units::Nanos;

use crate::signal_action::SignalAction;
use crate::signal_set::SignalSet;

/// Signal that the timer sends. Neither a terminal nor the kernel sends this signal by itself.
const TICK: libc::c_int = libc::SIGUSR2;

/// Signal handler: a function that gets the signal's number, information and context.
pub(super) type Handler = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);

/// Whether a timer sent the signal. A program may send the same signal by `kill`, to any thread of
/// the process.
pub(super) fn is_of_a_timer(information: &libc::siginfo_t) -> bool {
    information.si_code == libc::SI_TIMER
}

/// Fails if the calling thread blocks the signal, because no thread would ever be preempted.
pub(super) fn require_deliverable() -> io::Result<()> {
    if SignalSet::blocked()?.contains(TICK) {
        return Err(io::Error::other(
            "SIGUSR2 is blocked in this thread; unblock it",
        ));
    }
    Ok(())
}

/// A timer that sends a signal each period until dropped. On drop, the signal's previous action is
/// restored.
#[derive(Debug)]
pub(super) struct SignalTimer {
    timer: libc::timer_t,
    before: SignalAction,
}

impl SignalTimer {
    pub(super) fn start(period: Nanos, handler: Handler) -> io::Result<SignalTimer> {
        if period == Nanos(0) {
            // The kernel takes a period of 0 for a timer that never fires.
            return Err(io::Error::other("a period of 0 ns never passes"));
        }
        require_deliverable()?;
        // Without SA_NODEFER the signal stays blocked while its handler runs. With SA_RESTART,
        // system calls of the experiment continue after the signal.
        let action = SignalAction::informed_handler(handler, libc::SA_RESTART);
        // SAFETY: the handler touches nothing but atomics and what the scheduler's own flag guards (see `green`).
        let before = unsafe { action.set(TICK) }?;
        let timer = create().inspect_err(|_| put_back(&before))?;
        let timer = SignalTimer { timer, before };
        set(timer.timer, period)?;
        Ok(timer)
    }
}

fn create() -> io::Result<libc::timer_t> {
    let mut event = MaybeUninit::<libc::sigevent>::zeroed();
    let pointer = event.as_mut_ptr();
    // SAFETY: zeroed is a valid sigevent.
    let event = unsafe { &mut *pointer };
    event.sigev_notify = libc::SIGEV_THREAD_ID;
    event.sigev_signo = TICK;
    event.sigev_notify_thread_id = crate::task::current_tid();
    let mut timer = std::ptr::null_mut();
    // SAFETY: both pointers are valid for the call.
    let status = unsafe { libc::timer_create(libc::CLOCK_MONOTONIC, event, &mut timer) };
    if status == 0 {
        Ok(timer)
    } else {
        Err(io::Error::last_os_error())
    }
}

fn set(timer: libc::timer_t, period: Nanos) -> io::Result<()> {
    let time = libc::timespec {
        tv_sec: (period.0 / 1_000_000_000) as libc::time_t,
        tv_nsec: (period.0 % 1_000_000_000) as libc::c_long,
    };
    let period = libc::itimerspec {
        it_interval: time,
        it_value: time,
    };
    // SAFETY: the timer exists, and the pointer is valid for the call.
    let status = unsafe { libc::timer_settime(timer, 0, &period, std::ptr::null_mut()) };
    if status == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

fn put_back(before: &SignalAction) {
    // SAFETY: the action was in force before; restoring it cannot fail.
    let _ = unsafe { before.set(TICK) };
}

impl Drop for SignalTimer {
    fn drop(&mut self) {
        // SAFETY: the timer belongs to this value and is deleted once. A signal already on its way
        // is delivered at the next return from the kernel, which is that of this call, while the
        // handler still exists.
        unsafe { libc::timer_delete(self.timer) };
        put_back(&self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
    use std::time::{Duration, Instant};

    static TICKS: AtomicU32 = AtomicU32::new(0);

    extern "C" fn count(_: libc::c_int, _: *mut libc::siginfo_t, _: *mut libc::c_void) {
        TICKS.fetch_add(1, SeqCst);
    }

    fn ticks_in(time: Duration) -> u32 {
        let (start, before) = (Instant::now(), TICKS.load(SeqCst));
        while start.elapsed() < time {}
        TICKS.load(SeqCst) - before
    }

    #[test]
    fn ticks_while_it_lives_and_leaves_the_disposition_as_it_was() {
        let _turn = super::super::green::tests::one_at_a_time();
        let timer = SignalTimer::start(Nanos::millis(1), count).expect("a timer");
        // Ticks that come while another task has the CPU are merged; 50 ms may contain few of this
        // process's own.
        let many = (0..20)
            .map(|_| ticks_in(Duration::from_millis(50)))
            .find(|ticks| *ticks >= 5);
        drop(timer);
        assert!(many.is_some(), "fewer than 5 ticks in 50 ms, 20 times");
        // SAFETY: ignoring a signal runs nothing; the old action is restored below.
        let found = unsafe { SignalAction::ignored().set(TICK) }.expect("a disposition");
        put_back(&found);
        assert!(found.is_default(), "{found:?}");
    }

    #[test]
    fn a_timer_that_would_never_tick_is_refused() {
        let _turn = super::super::green::tests::one_at_a_time();
        let refused = |period| {
            SignalTimer::start(period, count)
                .err()
                .map(|error| error.to_string())
        };
        assert_eq!(
            refused(Nanos(0)).as_deref(),
            Some("a period of 0 ns never passes")
        );
        let tick = SignalSet::new(&[TICK]);
        tick.block().expect("a signal mask");
        let found = refused(Nanos::millis(1));
        tick.unblock().expect("a signal mask");
        assert_eq!(
            found.as_deref(),
            Some("SIGUSR2 is blocked in this thread; unblock it")
        );
    }
}
