//! Values of a repetition: one of each quantity, as `paired` computes them from its cycles.

use switchcost_record::{Case, CostName};

use crate::measurement::deciding::deciding;
use crate::measurement::reload::Reloads;

/// The values of a case by quantity, one for each repetition that has what the quantity needs, in nanoseconds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Quantities {
    /// A switch: c1 = t1 - t2 of Li, Ding and Shen 2007, section 2.2, each per hand-off, over counted switches.
    /// Empty across CPUs.
    pub(crate) direct: Vec<f64>,
    /// Cost of a switch with its working set: c2 = s1 - s2, section 2.3. Across CPUs, of a hand-off.
    pub(crate) total: Vec<f64>,
    /// Indirect cost: c2 - c1 of the same repetition.
    pub(crate) indirect: Vec<f64>,
    /// Part of the indirect cost by which the hand-off takes longer after a walk.
    pub(crate) indirect_kernel: Vec<f64>,
    /// Part of the indirect cost by which the walk takes longer after a switch.
    pub(crate) indirect_reload: Vec<f64>,
    /// t1 - t2, not divided.
    pub(crate) handoff: Vec<f64>,
    /// tasks x t1.
    pub(crate) round_trip: Vec<f64>,
    /// Baseline time t2.
    pub(crate) baseline: Vec<f64>,
    /// Time of a walk in the baseline arm: the same array without a switch.
    pub(crate) walk: Vec<f64>,
    /// Walk by walk after a switch, if a case is about that.
    pub(crate) reloads: Reloads,
}

impl Quantities {
    /// The values that say whether a case is precise enough.
    pub(crate) fn decisive(&self, case: &Case) -> &[f64] {
        match deciding(case) {
            CostName::Total => &self.total,
            CostName::Direct => &self.direct,
            _ => &self.handoff,
        }
    }
}
