//! Pairs by what became of them.

use switchcost_analysis::compare::{Change, Comparison, Outcome, Pair, Subject};

use super::words::design;

pub(super) fn count(comparison: &Comparison, change: Change) -> usize {
    let is = |pair: &&Pair| matches!(pair.outcome, Outcome::Compared { verdict, .. } if verdict == change);
    comparison
        .pairs
        .iter()
        .filter(|pair| !pair.is_of_a_function())
        .filter(is)
        .count()
}

/// The first reason; the others stand with the numbers.
pub(super) fn nothing(comparison: &Comparison) -> String {
    match reasons(&comparison.pairs).first() {
        Some((why, _)) => format!("Nothing could be compared: {why}."),
        None => "Nothing could be compared: neither side has a number.".to_owned(),
    }
}

/// The pairs that have no verdict, by reason.
pub(super) fn reasons(pairs: &[Pair]) -> Vec<(&str, Vec<&Pair>)> {
    let mut reasons: Vec<(&str, Vec<&Pair>)> = Vec::new();
    for pair in pairs.iter().filter(|pair| !pair.is_of_a_function()) {
        let (Outcome::NotJudged { why, .. } | Outcome::NotComparable { why }) = &pair.outcome
        else {
            continue;
        };
        match reasons.iter_mut().find(|(other, _)| other == why) {
            Some((_, pairs)) => pairs.push(pair),
            None => reasons.push((why, vec![pair])),
        }
    }
    reasons
}

/// Whether a name of a design distinguishes pairs.
pub(super) fn has_several_designs<'a>(pairs: impl IntoIterator<Item = &'a Pair>) -> bool {
    let designs = pairs.into_iter().filter_map(|pair| match &pair.subject {
        Subject::Simulated(place) => Some(design(place)),
        Subject::Case(_) | Subject::Observed(_) | Subject::Injected { .. } => None,
    });
    let mut designs: Vec<String> = designs.collect();
    designs.dedup();
    designs.len() > 1
}
