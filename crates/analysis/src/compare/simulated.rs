//! Simulations judged against each other: designs of the same name, or the one design of each side.
//!
//! Records of the same traces on both sides are paired, trace by trace; with one trace, batch by batch of its switches.
//! Others are as independent as runs of a measurement.

mod copies;
mod designs;
mod numbers;
mod traces;

use switchcost_simulation_result::Simulation;

use super::candidate::{Candidate, judge};
use super::{Basis, Comparison, Options, Outcome, Pair, Part, Place, Quantity, Subject, Suspects};
use crate::simulation::Findings;

pub use copies::{Copied, copied};
use designs::Matched;
use traces::Relation;

/// A record without its tuples, with what was found in it.
pub type Simulated<'a> = (&'a Simulation, &'a Findings);

/// Excess cycles since the switch, of all switches, up to the cut-off: a line for each record.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// The base's design.
    pub base_design: String,
    /// The new side's.
    pub new_design: String,
    /// Instructions since the switch, and the excess cycles up to there, by record.
    pub base: Vec<Vec<(u64, f64)>>,
    /// The same of the new side.
    pub new: Vec<Vec<(u64, f64)>>,
}

/// Compares the new records of simulations with those of the base.
pub fn compare_simulations(base: &[Simulated<'_>], new: &[Simulated<'_>], options: Options) -> Comparison {
    let matched = designs::matched(base, new);
    let mut environment: Vec<_> = matched.iter().flat_map(Matched::differences).collect();
    environment.extend(designs::facts(base, new));
    let candidates = matched.iter().flat_map(|pair| candidates(pair, options)).collect();
    let (pairs, compared) = judge(candidates, options.confidence);
    Comparison {
        environment,
        pairs,
        base_records: base.len(),
        new_records: new.len(),
        confidence: options.confidence,
        compared,
        basis: matched.iter().find_map(Matched::relation).map_or(Basis::OtherTraces, Relation::basis),
        pricing: None,
        run_spread: None,
        hertz: None,
        curves: matched.iter().filter_map(Matched::curve).collect(),
        switches: Vec::new(),
    }
}

/// Every number of a pair of designs; one without a verdict where they cannot be paired at all.
fn candidates(matched: &Matched<'_>, options: Options) -> Vec<Candidate> {
    match matched.relation() {
        Some(relation) => numbers::candidates(matched, relation, options),
        None => vec![without_verdict(matched, Part::All, Quantity::AverageCost, matched.why_not())],
    }
}

fn without_verdict(matched: &Matched<'_>, part: Part, quantity: Quantity, why: String) -> Candidate {
    let pair = Pair {
        subject: Subject::Simulated(Place {
            base_design: matched.base_name.map(str::to_owned),
            new_design: matched.new_name.map(str::to_owned),
            part,
        }),
        quantity,
        base: None,
        new: None,
        suspects: Suspects::default(),
        outcome: Outcome::NotComparable { why },
    };
    Candidate { pair, ratio: None }
}

#[cfg(test)]
mod tests;
