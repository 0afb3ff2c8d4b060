//! How a working set comes back behind a switch: what each of the first walks costs above settled ones.

use record::{Arm, Batch};

use crate::estimate::estimate;
use crate::findings::{Flag, Reload};
use crate::order_statistics::trimmed_mean;
use crate::speed::Speed;

/// The last walks of a visit, which are taken for settled.
const SETTLED: usize = 3;

/// A last walk that still costs so much of the sum means that more of it came after.
const NOT_SETTLED: f64 = 0.05;

/// One switch away and back, and the walks behind it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Visit {
    /// The hand-off from the other task, above settled ones to oneself, in nanoseconds at the speed of reference.
    pub(crate) handoff: f64,
    /// A settled hand-off to oneself.
    pub(crate) settled_handoff: f64,
    /// Each walk but the settled ones, above those, in nanoseconds as they were: memory does not follow the core's clock.
    walks: Vec<f64>,
    settled_walk: f64,
}

impl Visit {
    /// `None` where the batches are not those of a visit.
    pub(crate) fn of(batches: &[Batch], speed: &Speed) -> Option<Visit> {
        let (first, rest) = batches.split_first()?;
        let is_visit = first.arm == Arm::SwitchTotal && rest.iter().all(|batch| batch.arm == Arm::BaselineTotal);
        let told = batches.len().checked_sub(SETTLED).filter(|told| is_visit && *told > 0)?;
        let handoff = |batch: &Batch| speed.scaled_ns(batch.handoff_ticks, batch);
        let walk = |batch: &Batch| speed.ns(batch.walk_ticks);
        let settled = |read: &dyn Fn(&Batch) -> f64| batches[told..].iter().map(read).sum::<f64>() / SETTLED as f64;
        let (settled_handoff, settled_walk) = (settled(&handoff), settled(&walk));
        let walks = batches[..told].iter().map(|batch| walk(batch) - settled_walk).collect();
        Some(Visit { handoff: handoff(first) - settled_handoff, settled_handoff, walks, settled_walk })
    }

    /// What the walks cost above settled ones, together.
    pub(crate) fn reload(&self) -> f64 {
        self.walks.iter().sum()
    }

    /// The whole cost of having been away.
    pub(crate) fn total(&self) -> f64 {
        self.handoff + self.reload()
    }
}

/// The values of a case by repetition.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reloads {
    walks: Vec<Vec<f64>>,
    settled: Vec<f64>,
}

impl Reloads {
    /// Adds a repetition.
    pub(crate) fn add(&mut self, visits: &[Visit]) {
        let told = visits.iter().map(|visit| visit.walks.len()).min().unwrap_or(0);
        self.walks.resize_with(self.walks.len().max(told), Vec::new);
        for (place, values) in self.walks.iter_mut().enumerate().take(told) {
            values.extend(trimmed_mean(visits.iter().map(|visit| visit.walks[place]).collect()));
        }
        self.settled.extend(trimmed_mean(visits.iter().map(|visit| visit.settled_walk).collect()));
    }

    /// `None` where there are none, or too few.
    pub(crate) fn finding(&self, confidence: f64) -> Option<Reload> {
        let walks: Option<Vec<_>> = self.walks.iter().map(|walk| estimate(walk, confidence).ok()).collect();
        let settled_ns = estimate(&self.settled, confidence).ok()?;
        Some(Reload { walks_ns: walks.filter(|walks| !walks.is_empty())?, settled_ns })
    }
}

/// Says where the working set had not come back by the last walk but the settled ones.
pub(crate) fn not_settled(reload: &Reload) -> Option<Flag> {
    let last = reload.walks_ns.last()?;
    let sum: f64 = reload.walks_ns.iter().map(|walk| walk.estimate.max(0.0)).sum();
    (last.low > 0.0 && last.estimate > NOT_SETTLED * sum).then(|| Flag {
        name: "not-settled",
        detail: format!(
            "the {}th walk behind the switch still takes {:.0} ns more than those after it ({:.0} % of the sum): some of the reload \
             comes later, and is not in the sum",
            reload.walks_ns.len(),
            last.estimate,
            last.estimate / sum * 100.0
        ),
    })
}
