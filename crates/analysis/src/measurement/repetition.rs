//! Values of a case per repetition, one list for each quantity.

use switchcost_record::{Case, CostName};

use crate::measurement::deciding::deciding;
use crate::measurement::reload::Reloads;

/// Values of a case in nanoseconds: for each quantity, one value for each repetition that has the
/// necessary rounds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Quantities {
    /// Cost of a switch without working set: the difference t1 - t2 of two hand-off times (c1 of
    /// Li, Ding and Shen 2007, section 2.2), divided by the number of switches per hand-off. Empty
    /// if [`prices_switches`](super::deciding::prices_switches) is false, if the case measures the
    /// reload, or if it has no hand-offs.
    pub(crate) direct: Vec<f64>,
    /// Cost of a switch with working set: c2 = s1 - s2 of Li, Ding and Shen 2007, section 2.3. If
    /// the cost of a switch cannot be determined, the cost of a hand-off.
    pub(crate) total: Vec<f64>,
    /// Indirect cost: c2 - c1 within the same repetition.
    pub(crate) indirect: Vec<f64>,
    /// Part of the indirect cost by which the hand-off is longer after a walk over the working set.
    pub(crate) indirect_kernel: Vec<f64>,
    /// Part of the indirect cost by which the walk over the working set is longer after a switch.
    pub(crate) indirect_reload: Vec<f64>,
    /// Time of a hand-off in the switching arm minus that in the baseline: t1 - t2, not divided by
    /// switches.
    pub(crate) handoff: Vec<f64>,
    /// Time of a round trip: the number of tasks times t1, the time of a hand-off in the switching
    /// arm.
    pub(crate) round_trip: Vec<f64>,
    /// Time of a hand-off of a task to itself in the baseline arm: t2.
    pub(crate) baseline: Vec<f64>,
    /// Time of a walk over the working set in the baseline arm, without a switch.
    pub(crate) walk: Vec<f64>,
    /// Times of the walks after a switch, if the case measures the reload.
    pub(crate) reloads: Reloads,
}

impl Quantities {
    /// Returns the values of the deciding cost. A case is done when their interval is narrow
    /// enough.
    pub(crate) fn decisive(&self, case: &Case) -> &[f64] {
        match deciding(case) {
            CostName::Total => &self.total,
            CostName::Direct => &self.direct,
            _ => &self.handoff,
        }
    }
}
