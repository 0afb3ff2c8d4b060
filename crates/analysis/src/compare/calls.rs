//! What the system calls of a hand-off take. Both arms make them, so that what changes them (a filter, an audit, a mitigation of each entry)
//! cancels in the cost of a switch: it is distinguished, with the hand-off that has them.

use switchcost_record::{Case, Family};

use super::pairs::Matched;
use super::{Quantity, Request};

/// Of the error that is allowed for the costs, so much is for these: they are no reason to widen those, and called seldom by chance.
const SHARE_OF_ERROR: f64 = 0.1;

/// What is compared of each case's calls.
const OF_CALLS: [Quantity; 2] = [Quantity::Calls, Quantity::HandOffWithCalls];

/// Number of consecutive pairs that belong to one case.
pub const CALLS_OF_A_CASE: usize = OF_CALLS.len();

/// The numbers of the cases that have calls to be reported.
pub(super) fn numbers<'a, 'b>(cases: &'b [Matched<'a>]) -> Vec<(&'b Matched<'a>, Quantity)> {
    let cases = cases
        .iter()
        .filter(|case| case.sides_cases().into_iter().all(has_calls));
    cases
        .flat_map(|case| OF_CALLS.map(|quantity| (case, quantity)))
        .collect()
}

/// The same request with the confidence that these have together.
pub(super) fn request(of_costs: Request<'_>) -> Request<'_> {
    Request {
        confidence: 1.0 - SHARE_OF_ERROR * (1.0 - of_costs.confidence),
        ..of_costs
    }
}

/// Whether both arms make the same calls, and nothing but them: a walk between them is no part of a hand-off.
fn has_calls(case: &Case) -> bool {
    let mechanism = case.mechanism.traits();
    mechanism.family == Family::Ring
        && mechanism.has_same_system_calls
        && case.working_set.is_empty()
        && case.away.is_none()
}
