//! Chooses the deciding cost of a case: the one on whose precision a run stops.

use switchcost_record::{Between, Case, CostName};

/// Whether a switch of this case can be priced, because its tasks share one CPU or one OS thread.
/// Otherwise, and for a runtime, only a hand-off has a price.
pub(crate) fn prices_switches(case: &Case) -> bool {
    case.runtime.is_none() && (case.placement.is_one_cpu() || case.between == Between::User)
}

/// Whether a case hands over from CPU to CPU: each hand-off includes idle exit and inter-processor
/// interrupt, and its cost depends on the host's load.
pub(crate) fn hands_over_across_cpus(case: &Case) -> bool {
    case.mechanism.hands_over() && !prices_switches(case) && !case.placement.is_one_cpu()
}

/// Returns the deciding cost of a case: the total with a working set; without one the cost of a
/// switch, or of a hand-off if a switch has no price.
pub(crate) fn deciding(case: &Case) -> CostName {
    match (case.working_set.is_empty(), prices_switches(case)) {
        (false, _) => CostName::Total,
        (true, true) => CostName::Direct,
        (true, false) => CostName::Handoff,
    }
}
