//! Detects time slices that other tasks get on the CPU between two steps of ordinary tasks: a batch
//! with such a time slice takes longer, which is no part of a hand-off's cost.

use switchcost_record::{Arm, Batch, Case, Cycles};

use crate::measurement::speed::Speed;
use crate::statistics::order_statistics::median;

/// Shortest time slice of the scheduler (Linux 6.18: 0.7 ms, longer with each doubling of CPUs); no
/// switch takes this long.
const SHORTEST_NS: f64 = 500_000.0;

/// Factor by which the times of long batches may differ because of memory and interrupts.
const OF_ITSELF: f64 = 1.5;

/// Usual time of a hand-off with its walk in each arm, in nanoseconds.
pub(crate) struct Turns {
    usual: [Option<f64>; 4],
}

impl Turns {
    /// Returns the usual times of a case; `None` with real-time priority, because other tasks then
    /// run only while the tasks wait.
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

    /// Whether another task had a time slice within a cycle.
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
