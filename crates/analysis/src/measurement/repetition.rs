//! Values of a repetition: one for each quantity, as `paired` computes them from the repetition's
//! cycles.

use switchcost_record::{Case, CostName};

use crate::measurement::deciding::deciding;
use crate::measurement::reload::Reloads;

/// The values of a case by quantity, one for each repetition that has what the quantity needs, in nanoseconds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Quantities {
    /// Cost of a switch: c1 = t1 - t2 of Li, Ding and Shen 2007, section 2.2, per hand-off, divided
    /// by counted switches. Empty across CPUs.
    pub(crate) direct: Vec<f64>,
    /// Cost of a switch with its working set: c2 = s1 - s2 of Li, Ding and Shen 2007, section 2.3.
    /// Across CPUs, the cost of a hand-off.
    pub(crate) total: Vec<f64>,
    /// Indirect cost: c2 - c1 of the same repetition.
    pub(crate) indirect: Vec<f64>,
    /// Part of the indirect cost by which the hand-off takes longer after a walk.
    pub(crate) indirect_kernel: Vec<f64>,
    /// Part of the indirect cost by which the walk takes longer after a switch.
    pub(crate) indirect_reload: Vec<f64>,
    /// Hand-off time beyond the baseline: t1 - t2, not divided by switches.
    pub(crate) handoff: Vec<f64>,
    /// Time of a round trip: the number of tasks times t1.
    pub(crate) round_trip: Vec<f64>,
    /// Time of the baseline arm, t2.
    pub(crate) baseline: Vec<f64>,
    /// Time of a walk in the baseline arm: the same array without a switch.
    pub(crate) walk: Vec<f64>,
    /// Time of each walk after a switch, if the case measures the reload.
    pub(crate) reloads: Reloads,
}

impl Quantities {
    /// Returns the values that decide whether a case is precise enough.
    pub(crate) fn decisive(&self, case: &Case) -> &[f64] {
        match deciding(case) {
            CostName::Total => &self.total,
            CostName::Direct => &self.direct,
            _ => &self.handoff,
        }
    }
}
