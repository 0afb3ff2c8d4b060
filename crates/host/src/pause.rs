//! Detects that this thread was paused: a signal stopped it (SIGSTOP), its control group was
//! frozen, or the machine was suspended.
//!
//! If a wait with a timeout returns much too late, the thread was paused, unless it waited for a
//! CPU. The time of a suspension is the increase of CLOCK_BOOTTIME minus that of CLOCK_MONOTONIC.

use std::ops::{Add, AddAssign};

use switchcost_units::Nanos;

use crate::clock::{boot_time, monotonic};
use crate::evidence::parse_run_delay;

/// Delay from which a late return is examined. Timers are less late, and a shorter pause hardly
/// matters to a run.
const LATE: Nanos = Nanos::millis(200);

/// Time during which this thread could not continue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pause {
    /// Time for which the thread was stopped or frozen, on CLOCK_MONOTONIC.
    pub stopped: Nanos,
    /// Time for which the machine was suspended. CLOCK_MONOTONIC does not count the time.
    pub suspended: Nanos,
}

impl Pause {
    /// Whether there was no pause.
    pub fn is_none(&self) -> bool {
        *self == Pause::default()
    }

    /// Returns the whole time for which the thread could not continue.
    pub fn total(&self) -> Nanos {
        self.stopped + self.suspended
    }
}

impl Add for Pause {
    type Output = Pause;

    fn add(self, other: Pause) -> Pause {
        Pause {
            stopped: self.stopped + other.stopped,
            suspended: self.suspended + other.suspended,
        }
    }
}

impl AddAssign for Pause {
    fn add_assign(&mut self, other: Pause) {
        *self = *self + other;
    }
}

/// CLOCK_MONOTONIC and CLOCK_BOOTTIME at one moment.
#[derive(Clone, Copy, Debug)]
struct Moment {
    monotonic: Nanos,
    boot: Nanos,
}

impl Moment {
    fn read() -> Moment {
        Moment {
            monotonic: monotonic(),
            boot: boot_time(),
        }
    }

    fn suspended(&self) -> Nanos {
        self.boot.saturating_sub(self.monotonic)
    }
}

/// Detector of pauses of one thread during its waits.
#[derive(Debug)]
pub struct PauseDetector {
    /// Run delay of the thread at the start, or at the last late return; `None` if the kernel does
    /// not show it.
    run_delay: Option<Nanos>,
}

impl PauseDetector {
    /// Starts a detector for the calling thread.
    pub fn start() -> PauseDetector {
        PauseDetector {
            run_delay: own_run_delay(),
        }
    }

    /// Calls `wait`, which should take at most `longest`. Returns the result, and the pause of the
    /// thread during the call.
    pub fn detect<T>(&mut self, longest: Nanos, wait: impl FnOnce() -> T) -> (T, Pause) {
        let begun = Moment::read();
        let result = wait();
        let pause = self.pause(begun, Moment::read(), longest, own_run_delay);
        (result, pause)
    }

    /// Returns the pause in a wait from `begun` to `ended`. The run delay is read only after a late
    /// return, because a measurement may be running on this CPU.
    fn pause(
        &mut self,
        begun: Moment,
        ended: Moment,
        longest: Nanos,
        run_delay: impl FnOnce() -> Option<Nanos>,
    ) -> Pause {
        let late = ended.monotonic.saturating_sub(begun.monotonic + longest);
        let suspended = ended.suspended().saturating_sub(begun.suspended());
        let mut pause = Pause::default();
        if suspended > LATE {
            pause.suspended = suspended;
        }
        if late > LATE {
            let now = run_delay();
            let waited = now
                .zip(self.run_delay)
                .map(|(now, before)| now.saturating_sub(before));
            self.run_delay = now;
            let left = late.saturating_sub(waited.unwrap_or(late));
            pause.stopped = if left > LATE { left } else { Nanos(0) };
        }
        pause
    }
}

fn own_run_delay() -> Option<Nanos> {
    parse_run_delay(&std::fs::read_to_string("/proc/thread-self/schedstat").ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the pause in a wait that should take 0.1 s, and takes `monotonic` and `boot` on the
    /// two clocks. `run_delay` is the thread's run delay before and after the wait.
    fn pause(monotonic: Nanos, boot: Nanos, run_delay: [Option<Nanos>; 2]) -> Pause {
        let at = |monotonic, boot| Moment { monotonic, boot };
        let (begun, ahead) = (Nanos::seconds(100), Nanos::seconds(50));
        let mut detector = PauseDetector {
            run_delay: run_delay[0],
        };
        detector.pause(
            at(begun, begun + ahead),
            at(begun + monotonic, begun + ahead + boot),
            Nanos::millis(100),
            || run_delay[1],
        )
    }

    #[test]
    fn who_comes_back_late_was_stopped_unless_it_waited_for_a_cpu() {
        let wait = Nanos::millis(3100);
        let delay = |ms| Some(Nanos::millis(ms));
        let stopped = |run_delay| pause(wait, wait, run_delay).stopped;
        assert_eq!(stopped([delay(40), delay(40)]), Nanos::seconds(3));
        assert_eq!(stopped([delay(40), delay(1040)]), Nanos::seconds(2));
        assert_eq!(stopped([delay(40), delay(2940)]), Nanos(0), "but for 0.1 s");
        assert_eq!(stopped([None, None]), Nanos(0), "its delay is not known");
        let soon = Nanos::millis(250);
        assert!(pause(soon, soon, [delay(0), delay(0)]).is_none());
    }

    #[test]
    fn a_suspended_machine_is_distinguished_from_a_stopped_thread() {
        let found = pause(Nanos::millis(100), Nanos::seconds(8), [None, None]);
        let expected = Pause {
            stopped: Nanos(0),
            suspended: Nanos::millis(7900),
        };
        assert_eq!(found, expected);
        assert_eq!(expected.total(), Nanos::millis(7900));
    }

    #[test]
    fn a_wait_that_is_in_time_is_no_pause() {
        let (result, pause) = PauseDetector::start().detect(Nanos::seconds(60), || 7);
        assert!(result == 7 && pause.is_none(), "{pause:?}");
    }
}
