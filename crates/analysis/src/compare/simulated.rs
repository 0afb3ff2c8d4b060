//! Compares simulations: designs of the same name, or the only design of each side.
//!
//! If both sides have the same traces, their records are paired by trace. If this is only one
//! trace, its batches of switches are paired. Records of different traces count as independent,
//! like runs of a measurement.

mod copies;
mod designs;
mod functions;
mod numbers;
mod traces;

use switchcost_design::result::Simulation;

use super::candidate::{Candidate, judge};
use super::environment::different;
use super::{Basis, Comparison, Outcome, Part, Quantity, Request};
use crate::simulation::Findings;

pub use copies::{Copied, copied};
use designs::Matched;
use traces::Relation;

/// The head of a simulation record, with the findings of its analysis.
pub type Simulated<'a> = (&'a Simulation, &'a Findings);

/// Excess cycles against instructions since the switch, over all switches and up to the cut-off,
/// for two compared designs.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// Name of the design in the base records.
    pub base_design: String,
    /// Name of the design in the new records.
    pub new_design: String,
    /// For each base record, pairs of instructions since the switch and excess cycles up to there.
    pub base: Vec<Vec<(u64, f64)>>,
    /// For each new record, pairs of instructions since the switch and excess cycles up to there.
    pub new: Vec<Vec<(u64, f64)>>,
}

/// Compares new records of simulations with base records.
pub fn compare_simulations(
    base: &[Simulated<'_>],
    new: &[Simulated<'_>],
    request: Request<'_>,
) -> Comparison {
    let matched = designs::matched([base, new]);
    let mut environment: Vec<_> = matched.iter().flat_map(Matched::first_touches).collect();
    environment.extend(different([base, new], |(head, _)| designs::facts(head)));
    let candidates: Vec<Candidate> = matched
        .iter()
        .flat_map(|pair| candidates(pair, request))
        .collect();
    // Verdicts on functions have a separate joint confidence, so that many functions do not widen
    // the intervals of the costs.
    let (functions, others) = candidates
        .into_iter()
        .partition(|candidate| candidate.subject.is_of_a_function());
    let (mut pairs, compared) = judge(others, request);
    pairs.extend(judge(functions, request).0);
    let basis = matched
        .iter()
        .find_map(Matched::relation)
        .map_or(Basis::OtherTraces, Relation::basis);
    Comparison {
        environment,
        designs: matched.iter().flat_map(Matched::differences).collect(),
        curves: matched.iter().filter_map(Matched::curve).collect(),
        ..Comparison::new(basis, (pairs, compared), None, request)
    }
}

/// Returns all numbers of a pair of designs without verdicts, or a single number with the reason
/// why the designs cannot be compared.
fn candidates(matched: &Matched<'_>, request: Request<'_>) -> Vec<Candidate> {
    match matched.relation() {
        Some(relation) => numbers::candidates(matched, &relation, request),
        None => vec![Candidate {
            subject: matched.subject(Part::All),
            new_case: None,
            quantity: Quantity::AverageCost,
            costs: [None, None],
            ratio: Err(Outcome::incomparable(matched.unavailable_because())),
            suspects: Default::default(),
        }],
    }
}

#[cfg(test)]
mod tests;
