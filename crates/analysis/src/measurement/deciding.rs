//! The deciding cost of a case.

use switchcost_record::{Between, Case, CostName};

/// Whether a switch of this case can be priced, because its tasks share one CPU or one OS thread. Otherwise, and for a runtime,
/// only a hand-off has a price.
pub(crate) fn prices_switches(case: &Case) -> bool {
    case.runtime.is_none() && (case.placement.is_one_cpu() || case.between == Between::User)
}

/// Whether a case hands over from CPU to CPU: idle exit and inter-processor interrupt are in each hand-off, and go with the host's load.
pub(crate) fn hands_over_across_cpus(case: &Case) -> bool {
    case.mechanism.hands_over() && !prices_switches(case) && !case.placement.is_one_cpu()
}

/// The deciding cost of a case: total with a working set; without one that of a switch, or of a hand-off if a switch has no price.
pub(crate) fn deciding(case: &Case) -> CostName {
    match (case.working_set.is_empty(), prices_switches(case)) {
        (false, _) => CostName::Total,
        (true, true) => CostName::Direct,
        (true, false) => CostName::Handoff,
    }
}
