//! How far an injection is, and how precise.

use indicatif::ProgressBar;
use switchcost_analysis::injection::{Power, power};
use switchcost_inject::{Progress, Stop};
use switchcost_injection::{Header, Other, Run};
use switchcost_units::Nanos;

use super::neighbours::Neighbours;
use crate::progress::over_time;
use crate::signals::Interrupt;

/// A bar over the time of all runs, drawn between them.
pub(super) struct Watcher<'a> {
    header: &'a Header,
    interrupt: &'a Interrupt,
    bar: ProgressBar,
    neighbours: Neighbours,
}

impl<'a> Watcher<'a> {
    pub(super) fn new(header: &'a Header, interrupt: &'a Interrupt) -> Watcher<'a> {
        let neighbours = Neighbours::of(header.plan.cpu, None);
        Watcher { header, interrupt, bar: over_time(header.plan.budget_ns), neighbours }
    }

    /// Who else has had much of the CPU.
    pub(super) fn others(&self) -> Vec<Other> {
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
        self.neighbours.look();
        self.bar.set_position(progress.elapsed.0 / 1_000_000);
        if !self.bar.is_hidden() {
            let precision = power(self.header, runs).map_or(String::new(), |power| reported(power, progress.elapsed));
            self.bar.set_message(format!("{} runs{precision}", progress.runs));
        }
    }
}

/// `, +-14 %; +-10 % after about 40 s`.
fn reported(power: Power, elapsed: Nanos) -> String {
    let percent = power.half_width * 100.0;
    if power.times_as_many <= 1.0 {
        return format!(", +-{percent:.0} %");
    }
    format!(", +-{percent:.0} %; +-10 % after about {:.0} s", power.times_as_many * elapsed.0 as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_reported_how_long_a_tenth_takes() {
        let reported = |half_width, times_as_many| reported(Power { half_width, times_as_many }, Nanos::seconds(10));
        assert_eq!(reported(0.2, 4.0), ", +-20 %; +-10 % after about 40 s");
        assert_eq!(reported(0.05, 0.25), ", +-5 %");
    }
}
