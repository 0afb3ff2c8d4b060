//! Compares the times of a hand-off's system calls. Both arms make these calls. So a change that
//! makes calls slower (a seccomp filter, auditing, a mitigation) does not change the cost of a
//! switch. Therefore the calls, and the hand-off including its calls, are compared separately.

use switchcost_record::{Case, Family};

use super::pairs::Matched;
use super::{Quantity, Request};

/// Allowed error for all verdicts on calls together, as a share of the error that is allowed for
/// the costs. The share is small and additional, so that these verdicts do not widen the intervals
/// of the costs.
const SHARE_OF_ERROR: f64 = 0.1;

/// Quantities that are compared for a case's system calls.
const OF_CALLS: [Quantity; 2] = [Quantity::Calls, Quantity::HandOffWithCalls];

/// Number of consecutive pairs for each case in [`Comparison::calls`](super::Comparison::calls),
/// one per quantity.
pub const CALLS_OF_A_CASE: usize = OF_CALLS.len();

/// Returns the quantities of system calls for all cases that have such calls.
pub(super) fn numbers<'a, 'b>(cases: &'b [Matched<'a>]) -> Vec<(&'b Matched<'a>, Quantity)> {
    let cases = cases
        .iter()
        .filter(|case| case.sides_cases().into_iter().all(has_calls));
    cases
        .flat_map(|case| OF_CALLS.map(|quantity| (case, quantity)))
        .collect()
}

/// Returns a request with the joint confidence for the verdicts on calls.
pub(super) fn request(of_costs: Request<'_>) -> Request<'_> {
    Request {
        confidence: 1.0 - SHARE_OF_ERROR * (1.0 - of_costs.confidence),
        ..of_costs
    }
}

/// Whether both arms of the case make the same system calls, and the case has no working set.
fn has_calls(case: &Case) -> bool {
    let mechanism = case.mechanism.traits();
    mechanism.family == Family::Ring
        && mechanism.has_same_system_calls
        && case.working_set.is_empty()
        && case.away.is_none()
}
