//! Selects the deciding cost of a case. A run ends when the deciding costs are precise enough.

use switchcost_record::{Between, Case, CostName};

/// Whether the cost of a switch can be determined for this case, because its tasks share one CPU or
/// one OS thread. Otherwise, and for language runtimes, only the cost of a hand-off can.
pub(crate) fn prices_switches(case: &Case) -> bool {
    case.runtime.is_none() && (case.placement.is_one_cpu() || case.between == Between::User)
}

/// Whether the case's hand-offs are between CPUs. A hand-off between CPUs includes an idle exit and
/// an inter-processor interrupt, and its cost depends on the load of the host.
pub(crate) fn hands_over_across_cpus(case: &Case) -> bool {
    case.mechanism.hands_over() && !prices_switches(case) && !case.placement.is_one_cpu()
}

/// Returns the deciding cost of a case: the total with a working set; otherwise the cost of a
/// switch, or of a hand-off if the cost of a switch cannot be determined.
pub(crate) fn deciding(case: &Case) -> CostName {
    match (case.working_set.is_empty(), prices_switches(case)) {
        (false, _) => CostName::Total,
        (true, true) => CostName::Direct,
        (true, false) => CostName::Handoff,
    }
}
