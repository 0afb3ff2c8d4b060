//! Shows the progress and the precision of an injection.

use indicatif::ProgressBar;
use switchcost_analysis::injection::{Power, half_width_ns, power};
use switchcost_host::live::ThreadId;
use switchcost_inject::{Progress, Stop};
use switchcost_record::injection::{Group, Header, Other, Run};
use switchcost_units::Nanos;

use super::neighbours::Neighbours;
use crate::progress::{over_time, tell};
use crate::signals::Interrupt;

/// Time between two reports on the precision for a service.
const EACH: Nanos = Nanos::seconds(2);

/// Shows the progress over the time of an injection, between two runs of copies or two groups of
/// phases of a service.
pub(super) struct Watcher<'a> {
    header: &'a Header,
    interrupt: &'a Interrupt,
    bar: ProgressBar,
    neighbours: Neighbours,
    reported_at: Nanos,
}

impl<'a> Watcher<'a> {
    /// Creates the progress display. `measured` is the service's thread, which does not count as
    /// another task.
    pub(super) fn new(
        header: &'a Header,
        measured: Option<ThreadId>,
        interrupt: &'a Interrupt,
    ) -> Watcher<'a> {
        let neighbours = Neighbours::new(header.plan.cpu, measured);
        Watcher {
            header,
            interrupt,
            bar: over_time(header.plan.budget_ns),
            neighbours,
            reported_at: Nanos(0),
        }
    }

    /// Advances the progress bar. Returns true if the next report on the precision is due.
    fn advance(&mut self, elapsed: Nanos, each: Nanos) -> bool {
        self.neighbours.look();
        self.bar.set_position(elapsed.0 / 1_000_000);
        tell(&self.bar);
        let is_time = elapsed.saturating_sub(self.reported_at) >= each;
        self.reported_at = if is_time { elapsed } else { self.reported_at };
        is_time
    }

    /// Returns the other tasks that used much of the CPU.
    pub(super) fn other_tasks(&self) -> Vec<Other> {
        self.neighbours.heavy()
    }

    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Stop for Watcher<'_> {
    fn should_stop(&self) -> bool {
        self.interrupt.is_raised()
    }

    fn progress(&mut self, progress: Progress, runs: &[Run]) {
        if self.advance(progress.elapsed, Nanos(0)) {
            let precision = power(self.header, runs)
                .map_or(String::new(), |power| reported(power, progress.elapsed));
            self.bar
                .set_message(format!("{} runs{precision}", progress.runs));
        }
    }
}

impl Stop<Group> for Watcher<'_> {
    fn should_stop(&self) -> bool {
        self.interrupt.is_raised()
    }

    fn progress(&mut self, progress: Progress, groups: &[Group]) {
        if self.advance(progress.elapsed, EACH) {
            let precision = half_width_ns(self.header, groups);
            self.bar.set_message(precision.map_or(String::new(), |ns| {
                format!("+-{:.2} us of cold caches", ns / 1e3)
            }));
        }
    }
}

/// Formats the precision, such as `, +-14 %; +-10 % after about 40 s`.
fn reported(power: Power, elapsed: Nanos) -> String {
    let percent = power.half_width * 100.0;
    if power.times_as_many <= 1.0 {
        return format!(", +-{percent:.0} %");
    }
    format!(
        ", +-{percent:.0} %; +-10 % after about {:.0} s",
        power.times_as_many * elapsed.0 as f64 / 1e9
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_reported_how_long_a_tenth_takes() {
        let reported = |half_width, times_as_many| {
            reported(
                Power {
                    half_width,
                    times_as_many,
                },
                Nanos::seconds(10),
            )
        };
        assert_eq!(reported(0.2, 4.0), ", +-20 %; +-10 % after about 40 s");
        assert_eq!(reported(0.05, 0.25), ", +-5 %");
    }
}
