//! Compares the time of a hand-off's system calls. Both arms make these calls, so a change that
//! slows the calls (a filter, an audit, a mitigation of each entry) cancels in the cost of a
//! switch. The calls, and the hand-off including them, are therefore compared separately.

use switchcost_record::{Case, Family};

use super::pairs::Matched;
use super::{Quantity, Request};

/// Share of the allowed error for the verdicts on calls, in addition to that of the costs: these verdicts should not widen the costs'
/// intervals, and should seldom be wrong.
const SHARE_OF_ERROR: f64 = 0.1;

/// Quantities of a case's calls that are compared.
const OF_CALLS: [Quantity; 2] = [Quantity::Calls, Quantity::HandOffWithCalls];

/// Number of consecutive pairs that belong to one case: one for each quantity of its calls.
pub const CALLS_OF_A_CASE: usize = OF_CALLS.len();

/// Returns the call quantities of all cases that have calls to report.
pub(super) fn numbers<'a, 'b>(cases: &'b [Matched<'a>]) -> Vec<(&'b Matched<'a>, Quantity)> {
    let cases = cases
        .iter()
        .filter(|case| case.sides_cases().into_iter().all(has_calls));
    cases
        .flat_map(|case| OF_CALLS.map(|quantity| (case, quantity)))
        .collect()
}

/// Returns the request for the verdicts on calls, with their joint confidence.
pub(super) fn request(of_costs: Request<'_>) -> Request<'_> {
    Request {
        confidence: 1.0 - SHARE_OF_ERROR * (1.0 - of_costs.confidence),
        ..of_costs
    }
}

/// Whether both arms make the same calls and do nothing else: a walk between calls is no part of a
/// hand-off.
fn has_calls(case: &Case) -> bool {
    let mechanism = case.mechanism.traits();
    mechanism.family == Family::Ring
        && mechanism.has_same_system_calls
        && case.working_set.is_empty()
        && case.away.is_none()
}
