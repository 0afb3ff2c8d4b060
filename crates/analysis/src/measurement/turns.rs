//! Detects time slices of other tasks during batches of ordinary tasks. A batch with such a time
//! slice takes longer, although hand-offs do not.

use switchcost_record::{Arm, Batch, Case, Cycles};

use crate::measurement::speed::Speed;
use crate::statistics::order_statistics::median;

/// Least additional time of a batch that indicates a time slice of another task, in nanoseconds. No
/// switch takes this long, and the scheduler's time slices are longer (Linux 6.18: 0.7 ms, more
/// with each doubling of CPUs).
const SHORTEST_NS: f64 = 500_000.0;

/// Factor by which the times of long batches may vary because of memory and interrupts.
const OF_ITSELF: f64 = 1.5;

/// Median time of a hand-off with its walk over the working set, for each arm, in nanoseconds.
pub(crate) struct Turns {
    usual: [Option<f64>; 4],
}

impl Turns {
    /// Returns the median times of a case; `None` with real-time priority, under which other tasks
    /// run only while all measured tasks wait.
    pub(crate) fn new(case: &Case, windows: &[&Cycles], speed: &Speed) -> Option<Turns> {
        if case.policy.is_real_time() {
            return None;
        }
        let of_arm = |arm: Arm| {
            let batches = windows.iter().flat_map(|window| window.batches.iter());
            let of_one = batches
                .filter(|batch| batch.arm == arm)
                .map(|batch| ns(&batch, speed) / handoffs(&batch));
            median(&mut of_one.collect::<Vec<_>>())
        };
        let arms = [
            Arm::BaselineDirect,
            Arm::SwitchDirect,
            Arm::BaselineTotal,
            Arm::SwitchTotal,
        ];
        Some(Turns {
            usual: arms.map(of_arm),
        })
    }

    /// Whether another task had a time slice during these batches of a round.
    pub(crate) fn are_within(&self, batches: &[Batch], speed: &Speed) -> bool {
        batches.iter().any(|batch| {
            let usual = self.usual[batch.arm as usize].unwrap_or(f64::INFINITY) * handoffs(batch);
            ns(batch, speed) > OF_ITSELF * usual + SHORTEST_NS
        })
    }
}

fn ns(batch: &Batch, speed: &Speed) -> f64 {
    speed.ns(batch.handoff_ticks) + speed.ns(batch.walk_ticks)
}

fn handoffs(batch: &Batch) -> f64 {
    f64::from(batch.handoffs.max(1))
}
