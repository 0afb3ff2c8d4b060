//! Timers as file descriptors.

use std::io;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use units::Nanos;

/// A timer that fires again and again, or never; gone when dropped.
#[derive(Debug)]
pub struct PeriodicTimer(OwnedFd);

impl PeriodicTimer {
    /// Fires for the first time after one `period`.
    pub fn start(period: Nanos) -> io::Result<PeriodicTimer> {
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::empty())?;
        let period = Timespec { tv_sec: (period.0 / 1_000_000_000) as i64, tv_nsec: (period.0 % 1_000_000_000) as i64 };
        timerfd_settime(&timer, TimerfdTimerFlags::empty(), &Itimerspec { it_interval: period, it_value: period })?;
        Ok(PeriodicTimer(timer))
    }

    /// Never fires, and does not wait.
    pub fn idle() -> io::Result<PeriodicTimer> {
        Ok(PeriodicTimer(timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK)?))
    }

    /// Waits until it has fired since the last wait.
    pub fn wait(&self) -> io::Result<()> {
        rustix::io::read(&self.0, &mut [0; 8])?;
        Ok(())
    }

    /// Looks whether it has fired, with the call that [`PeriodicTimer::wait`] makes.
    pub fn poll(&self) -> io::Result<()> {
        match rustix::io::read(&self.0, &mut [0; 8]) {
            Ok(_) | Err(Errno::AGAIN) => Ok(()),
            Err(error) => Err(error.into()),
        }
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
    fn an_idle_timer_does_not_wait() {
        PeriodicTimer::idle().expect("a timer").poll().expect("nothing to wait for");
    }
}
