//! Detects results that are impossible for a preemption, because the two copies did not do the same
//! work.

use schemars::JsonSchema;
use serde::Serialize;
use switchcost_record::injection::Injection;

use super::{Findings, FootprintFinding};
use crate::statistics::Estimate;
use switchcost_record::SAME_CPU;

/// The least possible cost of a preemption, in nanoseconds: two kernel switches of the least published cost.
pub const LEAST_NS: f64 = 2.0 * SAME_CPU.low;

/// A result that is impossible except by chance (5 % of intervals are wrong on one side).
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case", tag = "what")]
pub enum Doubt {
    /// Without touched memory, the cost is below that of any two switches.
    BelowSwitches {
        /// Cost of a preemption that touches no memory.
        cost_ns: Estimate,
        /// Least possible cost of a preemption, in nanoseconds.
        least_ns: f64,
    },
    /// With touched memory, the cost is lower than without.
    ColdCachesBelowZero {
        /// Apparent cost of cold caches.
        reload_ns: Estimate,
    },
}

/// Looks for an impossible result. Returns `None` if there is none, for a service (whose work is
/// counted), and if no copy was preempted.
pub fn doubt(record: &Injection, findings: &Findings) -> Option<Doubt> {
    if record.header.service.is_some() || record.header.plan.preempts_nobody {
        return None;
    }
    let further = findings
        .periods
        .iter()
        .skip(1)
        .flat_map(|period| &period.footprints);
    findings
        .footprints
        .iter()
        .chain(further)
        .find_map(find_doubt)
}

fn find_doubt(found: &FootprintFinding) -> Option<Doubt> {
    if found.footprint_bytes.0 == 0 {
        let cost = found.cost_ns.as_ref().filter(|cost| cost.high < LEAST_NS)?;
        return Some(Doubt::BelowSwitches {
            cost_ns: cost.clone(),
            least_ns: LEAST_NS,
        });
    }
    let reload = found.reload().filter(|reload| reload.high < 0.0)?;
    Some(Doubt::ColdCachesBelowZero {
        reload_ns: reload.clone(),
    })
}
