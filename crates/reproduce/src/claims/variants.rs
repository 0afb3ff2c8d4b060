//! Computes numbers at all settings of a paper's open parameters. A number and its interval over the
//! trials are shifted by the effect of each setting on one trace.

use super::{Found, Quantity, Setting, Term};
use crate::{Outcome, Records};

/// Records of each setting of the open parameters by name, the usual setting first.
pub(crate) type Variants = Vec<(&'static str, Records)>;

/// Returns a quantity over the trials of `records`, at the setting of each variant.
pub(super) fn over_variants(
    quantity: Quantity,
    records: &Records,
    variants: &Outcome<Variants>,
) -> Outcome {
    let usual = quantity(records)?;
    if usual.terms.iter().any(Term::is_exact) {
        return Err("one trial has no spread: run another".to_owned());
    }
    let variants = variants.as_ref().map_err(Clone::clone)?;
    let (_, base) = variants.first().ok_or("no trace was kept")?;
    let base =
        quantity(base).map_err(|why| format!("in the traces of the open parameters, {why}"))?;
    let setting = |(name, variant): &(&str, Records)| {
        let found =
            quantity(variant).map_err(|why| format!("at another parameter value: {why}"))?;
        let numbers = usual.terms.iter().zip(&base.terms).zip(&found.terms);
        let terms: Vec<Term> = numbers
            .map(|((term, base), varied)| moved(term, base.value, varied.value))
            .collect();
        if terms.len() < usual.terms.len() {
            return Err(format!("{name} lacks a number"));
        }
        Ok(Setting {
            name: (*name).to_owned(),
            terms,
        })
    };
    let settings = variants
        .iter()
        .map(setting)
        .collect::<Outcome<Vec<Setting>>>()?;
    let free = format!("over {} settings of open parameters", settings.len());
    let notes = [usual.note.clone(), free];
    let notes: Vec<String> = notes.into_iter().filter(|note| !note.is_empty()).collect();
    Ok(Found::over(settings, notes.join("; ")))
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
    fn sum_of_trials(records: &Records) -> Outcome {
        records.measured("a")?;
        Ok(Found::number(
            Term::new("ratio", Interval::new(2.0, 1.5, 2.5)),
            "",
        ))
    }

    #[test]
    fn a_number_that_the_traces_of_the_open_parameters_lack_is_missing_there() {
        let (record, findings) = crate::testing::measured();
        let mut trials = Records::default();
        trials.add_measured("a", record, findings);
        let why = over_variants(
            sum_of_trials,
            &trials,
            &Ok(vec![("usual", Records::default())]),
        )
        .expect_err("the traces have no measurement");
        assert!(
            why.starts_with("in the traces of the open parameters, "),
            "{why}"
        );
    }
}
