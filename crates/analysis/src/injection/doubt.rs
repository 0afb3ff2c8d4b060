//! Detects results that a preemption cannot have, which show that the two copies did not do the
//! same work.

use schemars::JsonSchema;
use serde::Serialize;
use switchcost_record::injection::Injection;

use super::{Findings, FootprintFinding};
use crate::statistics::Estimate;
use switchcost_record::SAME_CPU;

/// Least possible cost of a preemption in nanoseconds: two kernel switches, each of the least
/// published cost.
pub const LEAST_NS: f64 = 2.0 * SAME_CPU.low;

/// An impossible result. Chance alone gives one with a probability of 5 %.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case", tag = "what")]
pub enum Doubt {
    /// The cost of a preemption that touches no memory is below that of two switches.
    BelowSwitches {
        /// Measured cost of a preemption that touches no memory, in nanoseconds.
        cost_ns: Estimate,
        /// Least possible cost of a preemption in nanoseconds.
        least_ns: f64,
    },
    /// The cost of a preemption that touches memory is below that of one that touches none.
    ColdCachesBelowZero {
        /// Measured cost of cold caches in nanoseconds, which is below 0.
        reload_ns: Estimate,
    },
}

/// Returns the first impossible result; `None` if there is none, if no copy was preempted, or for a
/// service, whose work is counted.
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
