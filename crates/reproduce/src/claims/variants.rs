//! Computes numbers over all open parameters of a paper. The interval of a number is widened by the
//! effect of each parameter on one trace.

use super::{Found, Quantity, Term};
use crate::Records;

/// Beginning of an error message for a position that no trial reaches.
pub(crate) const NONE_REACHES: &str = "no trial of";

/// Returns a quantity over the trials of `records`, with intervals widened by the effect of each
/// variant.
pub(super) fn over_variants(
    quantity: Quantity,
    records: &Records,
    variants: &Result<Vec<Records>, String>,
) -> Result<Found, String> {
    let usual = quantity(records)?;
    if usual.terms.iter().any(Term::is_exact) {
        return Err("one trial has no spread: run another".to_owned());
    }
    let variants = variants.as_ref().map_err(Clone::clone)?;
    let (base, rest) = variants.split_first().ok_or("no trace was kept")?;
    let base =
        quantity(base).map_err(|why| format!("in the traces of the open parameters, {why}"))?;
    let mut others = Vec::new();
    for variant in rest {
        match quantity(variant) {
            Ok(found) => others.push(found),
            // If the time slices of a variant end before a claim's position in a curve, the variant
            // has no number for that position.
            Err(why) if why.starts_with(NONE_REACHES) => (),
            Err(why) => return Err(format!("at another parameter value: {why}")),
        }
    }
    let widened = |(place, term): (usize, &Term)| {
        let at = |found: &Found| {
            let same = found
                .terms
                .get(place)
                .filter(|other| other.name == term.name);
            same.map(|other| other.value)
                .ok_or_else(|| format!("a setting has no {}", term.name))
        };
        let base = at(&base)?;
        let moved = others
            .iter()
            .map(|found| Ok(moved(term, base, at(found)?)))
            .collect::<Result<Vec<Term>, String>>()?;
        let (low, high) = moved
            .iter()
            .fold((term.low, term.high), |(low, high), one| {
                (low.min(one.low), high.max(one.high))
            });
        Ok(Term {
            low,
            high,
            ..term.clone()
        })
    };
    let terms = usual
        .terms
        .iter()
        .enumerate()
        .map(widened)
        .collect::<Result<Vec<Term>, String>>()?;
    let free = format!("over {} settings of open parameters", others.len() + 1);
    let notes = [usual.note, free]
        .into_iter()
        .filter(|note| !note.is_empty());
    Ok(Found::new(terms, notes.collect::<Vec<_>>().join("; ")))
}

/// Shifts a number and its interval by the effect of a free parameter, from `base` to `varied`. The
/// shift is a factor if all values are above 0, otherwise a difference.
fn moved(term: &Term, base: f64, varied: f64) -> Term {
    let (factor, more) = if term.low > 0.0 && base > 0.0 && varied > 0.0 {
        (varied / base, 0.0)
    } else {
        (1.0, varied - base)
    };
    Term::new(&term.name, term.interval().map(|one| one * factor + more))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interval::Interval;

    #[test]
    fn an_interval_moves_as_the_number_of_its_trace_does() {
        let term = Term::new("ratio", Interval::new(2.0, 1.5, 2.5));
        let ends = |term: Term| (term.value, term.low, term.high);
        assert_eq!(ends(moved(&term, 4.0, 2.0)), (1.0, 0.75, 1.25));
        let difference = Term::new("difference", Interval::new(0.1, -0.1, 0.3));
        assert_eq!(ends(moved(&difference, 1.0, 1.5)), (0.6, 0.4, 0.8));
    }

    /// Returns a number; an error if `records` lacks the measurement `a`.
    fn sum_of_trials(records: &Records) -> Result<Found, String> {
        records.measured("a")?;
        Ok(Found::new(
            vec![Term::new("ratio", Interval::new(2.0, 1.5, 2.5))],
            "",
        ))
    }

    #[test]
    fn a_number_that_the_traces_of_the_open_parameters_lack_is_missing_there() {
        let (record, findings) = crate::testing::measured();
        let mut trials = Records::default();
        trials.add_measured("a", record, findings);
        let why = over_variants(sum_of_trials, &trials, &Ok(vec![Records::default()]))
            .expect_err("the traces have no measurement");
        assert!(
            why.starts_with("in the traces of the open parameters, "),
            "{why}"
        );
    }
}
