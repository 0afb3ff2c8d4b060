//! Measures the real time per switch, including the work of the programs under Valgrind. Programs
//! read clocks of real time, although time in the trace is counted in instructions.

use std::time::{Duration, Instant};

/// Least number of switches for a warning.
const FEWEST: u64 = 1000;
/// Real time per voluntary switch above which a warning is given: about ten times the kernel's own
/// time under Valgrind.
const LONG: Duration = Duration::from_micros(200);

/// Number of voluntary switches in a capture, and the real time since the first switch, without the
/// time in which all tasks slept.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    began: Option<Instant>,
    asleep_since: Option<Instant>,
    asleep: Duration,
    voluntary: u64,
}

impl Pace {
    /// Records a switch to another task at time `now`.
    pub(crate) fn switched(&mut self, now: Instant, is_voluntary: bool) {
        self.began.get_or_insert(now);
        self.voluntary += u64::from(is_voluntary);
    }

    /// Records that all tasks sleep, and none wants the CPU.
    pub(crate) fn note_idle(&mut self, now: Instant) {
        self.asleep_since.get_or_insert(now);
    }

    /// Records that a task wants the CPU after all slept.
    pub(crate) fn someone_wakes(&mut self, now: Instant) {
        self.asleep += self
            .asleep_since
            .take()
            .map_or(Duration::ZERO, |since| now - since);
    }

    /// Returns a warning if too much real time passed for the number of switches; otherwise `None`.
    pub(crate) fn remark(&self, now: Instant) -> Option<String> {
        let busy = (now - self.began?).saturating_sub(self.asleep);
        if self.voluntary < FEWEST || busy < LONG * self.voluntary.min(u64::from(u32::MAX)) as u32 {
            return None;
        }
        let each = busy.as_secs_f64() * 1e3 / self.voluntary as f64;
        Some(format!(
            "{} voluntary switches took {each:.1} ms each by the programs' clock, {:.1} s in all while tasks could \
             run: timeouts and housekeeping occur more often per instruction than without tracing; --order as-run \
             reduces this",
            self.voluntary,
            busy.as_secs_f64()
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the warning after `switches` voluntary switches in `all_ms` milliseconds, in
    /// `asleep_ms` of which all tasks slept.
    fn said(switches: u64, all_ms: u64, asleep_ms: u64) -> Option<String> {
        let (mut pace, began) = (Pace::default(), Instant::now());
        let at = |ms| began + Duration::from_millis(ms);
        (0..switches).for_each(|_| pace.switched(began, true));
        pace.note_idle(at(1));
        pace.note_idle(at(2));
        pace.someone_wakes(at(1 + asleep_ms));
        pace.someone_wakes(at(2 + asleep_ms));
        pace.remark(at(all_ms))
    }

    #[test]
    fn switches_that_take_long_by_the_clock_are_reported_with_how_long() {
        let message = said(2000, 10_000, 4000).expect("three milliseconds each");
        assert!(
            message
                .starts_with("2000 voluntary switches took 3.0 ms each by the programs' clock, 6.0 s in all while"),
            "{message}"
        );
        assert_eq!(
            said(2000, 4300, 4000),
            None,
            "0.15 ms each: the rest of the time all slept"
        );
        assert_eq!(said(900, 10_000, 0), None, "too few");
        assert_eq!(Pace::default().remark(Instant::now()), None);
    }
}
