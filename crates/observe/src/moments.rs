//! Records how switches and waits are distributed over the window: as sums over short intervals.

use crate::totals::Totals;
use switchcost_record::observation::Moment;
use switchcost_units::Nanos;

/// Length of the intervals before any are merged.
const FIRST: Nanos = Nanos::millis(100);
/// Number of intervals at which pairs of neighbours are merged. Intervals are twice as long from
/// then on.
const MOST: usize = 240;

pub(crate) struct Moments {
    began: Nanos,
    length: Nanos,
    last: Totals,
    next_at: Nanos,
    moments: Vec<Moment>,
}

impl Moments {
    pub(crate) fn begin(now: Nanos) -> Moments {
        let next_at = Nanos(now.0 + FIRST.0);
        Moments {
            began: now,
            length: FIRST,
            last: Totals::default(),
            next_at,
            moments: Vec::new(),
        }
    }

    /// Ends the current interval if its time is over. `totals` returns the present totals.
    pub(crate) fn look(&mut self, now: Nanos, totals: impl FnOnce() -> Totals) {
        if now < self.next_at {
            return;
        }
        self.end(now, totals());
        if self.moments.len() >= MOST {
            self.moments = self.moments.chunks(2).map(together).collect();
            self.length.0 *= 2;
        }
        self.next_at = Nanos(now.0 + self.length.0);
    }

    /// Ends the current interval. `totals` are the counts since the start of the observation.
    pub(crate) fn end(&mut self, now: Nanos, totals: Totals) {
        let last = std::mem::replace(&mut self.last, totals);
        self.moments.push(Moment {
            end_ns: now.saturating_sub(self.began),
            voluntary: totals.voluntary.saturating_sub(last.voluntary),
            involuntary: totals.involuntary.saturating_sub(last.involuntary),
            run_ns: totals.run.saturating_sub(last.run),
            wait_ns: totals.wait.saturating_sub(last.wait),
        });
    }

    pub(crate) fn into_vec(self) -> Vec<Moment> {
        self.moments
    }
}

fn together(moments: &[Moment]) -> Moment {
    let sum = |of: fn(&Moment) -> u64| moments.iter().map(of).sum::<u64>();
    Moment {
        end_ns: moments.last().map_or(Nanos(0), |last| last.end_ns),
        voluntary: sum(|moment| moment.voluntary),
        involuntary: sum(|moment| moment.involuntary),
        run_ns: Nanos(sum(|moment| moment.run_ns.0)),
        wait_ns: Nanos(sum(|moment| moment.wait_ns.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_hour_has_few_stretches_that_add_up_to_all() {
        let mut moments = Moments::begin(Nanos(0));
        let totals = |now: u64| Totals {
            voluntary: now / 1_000_000,
            ..Totals::default()
        };
        let step = 20_000_000;
        let all = 3600 * 1_000_000_000;
        for now in (step..all).step_by(step as usize) {
            moments.look(Nanos(now), || totals(now));
        }
        moments.end(Nanos(all), totals(all));
        let moments = moments.into_vec();
        assert!(
            (MOST / 2..=MOST).contains(&moments.len()),
            "{}",
            moments.len()
        );
        assert_eq!(
            moments.iter().map(|moment| moment.voluntary).sum::<u64>(),
            3_600_000
        );
        assert!(moments.is_sorted_by_key(|moment| moment.end_ns));
        assert_eq!(moments.last().map(|moment| moment.end_ns), Some(Nanos(all)));
    }
}
