//! Computes the reload of a working set after a switch: the additional time of each of the first
//! walks, compared with settled walks.

use switchcost_record::{Arm, Batch};

use crate::measurement::findings::{Flag, FlagName, Reload};
use crate::measurement::speed::Speed;
use crate::statistics::Estimate;
use crate::statistics::estimate::estimate;
use crate::statistics::order_statistics::trimmed_mean;

/// Number of walks at the end of a round (visit) that count as settled.
const SETTLED: usize = 3;

/// Share of the reload in the last walk before the settled walks, above which the reload is
/// reported as not settled.
const NOT_SETTLED: f64 = 0.05;

/// Times of one round of a case that measures the reload (a visit): a switch away and back, and the
/// walks after the return.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Visit {
    /// Time of the hand-off from the other task minus `settled_handoff`, in nanoseconds at the
    /// reference core clock.
    pub(crate) handoff: f64,
    /// Time of a hand-off of the task to itself after the reload, in nanoseconds at the reference
    /// core clock.
    pub(crate) settled_handoff: f64,
    /// Time of each walk minus the time of a settled walk, in nanoseconds. The times are not scaled
    /// to the reference clock, because memory does not follow the core's clock.
    walks: Vec<f64>,
    settled_walk: f64,
}

impl Visit {
    /// Returns the times of a round that measures the reload (a visit); `None` if the batches are
    /// not those of such a round.
    pub(crate) fn new(batches: &[Batch], speed: &Speed) -> Option<Visit> {
        let (first, rest) = batches.split_first()?;
        let is_visit = first.arm == Arm::SwitchTotal
            && rest.iter().all(|batch| batch.arm == Arm::BaselineTotal);
        let reported = batches
            .len()
            .checked_sub(SETTLED)
            .filter(|reported| is_visit && *reported > 0)?;
        let handoff = |batch: &Batch| speed.scaled_ns(batch.handoff_ticks, batch);
        let walk = |batch: &Batch| speed.ns(batch.walk_ticks);
        let settled = |read: &dyn Fn(&Batch) -> f64| {
            batches[reported..].iter().map(read).sum::<f64>() / SETTLED as f64
        };
        let (settled_handoff, settled_walk) = (settled(&handoff), settled(&walk));
        let walks = batches[..reported]
            .iter()
            .map(|batch| walk(batch) - settled_walk)
            .collect();
        Some(Visit {
            handoff: handoff(first) - settled_handoff,
            settled_handoff,
            walks,
            settled_walk,
        })
    }

    /// Returns the additional time of all walks after the switch together, in nanoseconds.
    pub(crate) fn reload(&self) -> f64 {
        self.walks.iter().sum()
    }

    /// Returns the whole cost of losing the CPU once in nanoseconds: the hand-off and the reload.
    pub(crate) fn total(&self) -> f64 {
        self.handoff + self.reload()
    }
}

/// Times of the walks after a switch, one value per repetition.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reloads {
    walks: Vec<Vec<f64>>,
    settled: Vec<f64>,
}

impl Reloads {
    /// Adds the trimmed means over the rounds (visits) of a repetition.
    pub(crate) fn add(&mut self, visits: &[Visit]) {
        let reported = visits
            .iter()
            .map(|visit| visit.walks.len())
            .min()
            .unwrap_or(0);
        self.walks
            .resize_with(self.walks.len().max(reported), Vec::new);
        for (place, values) in self.walks.iter_mut().enumerate().take(reported) {
            values.extend(trimmed_mean(
                visits.iter().map(|visit| visit.walks[place]).collect(),
            ));
        }
        self.settled.extend(trimmed_mean(
            visits.iter().map(|visit| visit.settled_walk).collect(),
        ));
    }

    /// Returns the estimates for each walk and for settled walks; `None` without values, or with
    /// too few for an interval.
    pub(crate) fn finding(&self, confidence: f64) -> Option<Reload> {
        let walks: Option<Vec<_>> = self
            .walks
            .iter()
            .map(|walk| estimate(walk, confidence).ok().map(Estimate::across_runs))
            .collect();
        let settled_ns = estimate(&self.settled, confidence).ok()?.across_runs();
        Some(Reload {
            walks_ns: walks.filter(|walks| !walks.is_empty())?,
            settled_ns,
        })
    }
}

/// Returns the flag that the reload continues beyond the walks that were measured; `None` if it
/// does not.
pub(crate) fn unsettled_flag(reload: &Reload) -> Option<Flag> {
    let last = reload.walks_ns.last()?;
    let sum: f64 = reload
        .walks_ns
        .iter()
        .map(|walk| walk.estimate.max(0.0))
        .sum();
    (last.low > 0.0 && last.estimate > NOT_SETTLED * sum).then(|| Flag {
        name: FlagName::NotSettled,
        detail: format!(
            "walk {} after the switch still takes {:.0} ns more than the later ones ({:.0} % of the sum): a part of the reload \
             comes later, and is not in the sum",
            reload.walks_ns.len(),
            last.estimate,
            last.estimate / sum * 100.0
        ),
    })
}

#[cfg(test)]
mod tests {
    use crate::testing::{assert_near, fake_record, only, pipe};
    use switchcost_record::MeasureRecord;
    use switchcost_units::Bytes;

    fn record(away: u64) -> MeasureRecord {
        let case = pipe().sized_kib(64);
        let case = case.change(|case| case.away = Some(Bytes::kib(away)));
        fake_record(vec![case], 8)
    }

    /// The first walk costs 4 us more, and each later walk half as much as the one before.
    #[test]
    fn each_walk_is_reported_above_a_settled_one() {
        let found = only(&record(256));
        let reload = found.reload.expect("a reload");
        assert_eq!(reload.walks_ns.len(), 5);
        let truths = [4_000.0, 2_000.0, 1_000.0, 500.0, 250.0];
        for (walk, truth) in reload.walks_ns.into_iter().zip(truths) {
            assert_near(&Some(walk), truth, 0.01);
        }
        assert_near(&Some(reload.settled_ns), 10_000.0, 0.01);
        assert_near(&found.indirect_reload_ns, 7_750.0, 0.01);
        assert_near(&found.handoff_ns, 1_700.0, 0.01);
        assert_near(&found.total_ns, 9_450.0, 0.01);
        assert_eq!(found.direct_ns, None);
        assert_eq!(found.cycles.map(|cycles| cycles.n), Some(8 * 10 * 5));
    }

    #[test]
    fn a_last_walk_that_still_costs_is_reported() {
        let is_reported = |record: &MeasureRecord| {
            let mut flags = only(record).flags.into_iter();
            flags.any(|flag| flag.name == crate::FlagName::NotSettled)
        };
        // A thirty-first of the reload comes with the fifth walk, and nothing later.
        assert!(!is_reported(&record(256)));
        let mut late = record(64);
        for window in &mut late.cycles {
            for walk in window.batches.walk_ticks.chunks_mut(8) {
                walk[4] = walk[3];
            }
        }
        assert!(is_reported(&late));
    }
}
