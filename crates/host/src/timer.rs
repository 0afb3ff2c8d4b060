//! Timers as file descriptors.

use std::io;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use switchcost_units::Nanos;

/// A timer that fires periodically or never. The timer is closed when dropped.
#[derive(Debug)]
pub struct PeriodicTimer(OwnedFd);

impl PeriodicTimer {
    /// Creates a timer that fires each `period`, for the first time after one `period`.
    pub fn start(period: Nanos) -> io::Result<PeriodicTimer> {
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::empty())?;
        let period = Timespec {
            tv_sec: (period.0 / 1_000_000_000) as i64,
            tv_nsec: (period.0 % 1_000_000_000) as i64,
        };
        timerfd_settime(
            &timer,
            TimerfdTimerFlags::empty(),
            &Itimerspec {
                it_interval: period,
                it_value: period,
            },
        )?;
        Ok(PeriodicTimer(timer))
    }

    /// Creates a timer that never fires. [`PeriodicTimer::poll`] returns immediately, and
    /// [`PeriodicTimer::wait`] fails.
    pub fn idle() -> io::Result<PeriodicTimer> {
        Ok(PeriodicTimer(timerfd_create(
            TimerfdClockId::Monotonic,
            TimerfdFlags::NONBLOCK,
        )?))
    }

    /// Waits until the timer has fired since the last wait.
    pub fn wait(&self) -> io::Result<()> {
        rustix::io::read(&self.0, &mut [0; 8])?;
        Ok(())
    }

    /// Reads the timer by the same system call as [`PeriodicTimer::wait`]. That a timer from
    /// [`PeriodicTimer::idle`] has not fired is no error.
    pub fn poll(&self) -> io::Result<()> {
        match rustix::io::read(&self.0, &mut [0; 8]) {
            Ok(_) | Err(Errno::AGAIN) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// A timer that fires once each time that it is set. The timer is closed when dropped.
#[derive(Debug)]
pub struct Alarm(OwnedFd);

impl Alarm {
    /// Creates a timer that is not set.
    pub fn new() -> io::Result<Alarm> {
        Ok(Alarm(timerfd_create(
            TimerfdClockId::Monotonic,
            TimerfdFlags::CLOEXEC,
        )?))
    }

    /// Waits for `time`, without using the CPU.
    pub fn wait(&self, time: Nanos) -> io::Result<()> {
        let never = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // A time of 0 would stop the timer.
        let time = time.0.max(1);
        let once = Timespec {
            tv_sec: (time / 1_000_000_000) as i64,
            tv_nsec: (time % 1_000_000_000) as i64,
        };
        timerfd_settime(
            &self.0,
            TimerfdTimerFlags::empty(),
            &Itimerspec {
                it_interval: never,
                it_value: once,
            },
        )?;
        rustix::io::read(&self.0, &mut [0; 8])?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn fires_once_a_period() {
        let timer = PeriodicTimer::start(Nanos::millis(2)).expect("a timer");
        let start = Instant::now();
        for _ in 0..5 {
            timer.wait().expect("it fires");
        }
        assert!(start.elapsed() >= Duration::from_millis(10));
    }

    #[test]
    fn an_alarm_fires_once_after_it_was_set() {
        let alarm = Alarm::new().expect("a timer");
        for _ in 0..3 {
            let start = Instant::now();
            alarm.wait(Nanos::millis(2)).expect("it fires");
            assert!(start.elapsed() >= Duration::from_millis(2));
        }
        alarm.wait(Nanos(0)).expect("it fires at once");
    }

    #[test]
    fn an_idle_timer_does_not_wait() {
        PeriodicTimer::idle()
            .expect("a timer")
            .poll()
            .expect("nothing to wait for");
    }
}
