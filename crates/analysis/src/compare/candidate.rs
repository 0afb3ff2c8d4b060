//! Judges numbers of both sides together: the confidence of each verdict depends on their number.

use switchcost_record::Case;

use super::ratio::LogRatio;
use super::{Cost, Outcome, Pair, Quantity, Request, Subject};

/// Names of the two sides, for reasons.
pub(super) const SIDES: [&str; 2] = ["base", "new"];

/// Returns what both sides have, or why a side lacks it.
pub(super) fn require_both<T>(sides: [Result<T, String>; 2]) -> Result<[T; 2], String> {
    match sides {
        [Ok(base), Ok(new)] => Ok([base, new]),
        sides => {
            let reasons: Vec<String> = sides.into_iter().filter_map(Result::err).collect();
            Err(reasons.join("; "))
        }
    }
}

/// A number of both sides that has no verdict yet.
#[derive(Debug)]
pub(super) struct Candidate {
    pub(super) subject: Subject,
    /// Case of the new side, if it differs from the base's.
    pub(super) new_case: Option<Case>,
    pub(super) quantity: Quantity,
    /// Costs of the base and of the new side.
    pub(super) costs: [Option<Cost>; 2],
    /// Logarithm of the ratio, or the outcome if there is no verdict.
    pub(super) ratio: Result<LogRatio, Outcome>,
    /// Records with a suspect number, by their indices on each side.
    pub(super) suspects: [Vec<usize>; 2],
}

impl Candidate {
    /// Marks the number as not comparable if there is a reason, unless it already has one.
    pub(super) fn unless(mut self, why: Option<&str>) -> Candidate {
        let has_reason = matches!(self.ratio, Err(Outcome::NotComparable { .. }));
        if let Some(why) = why.filter(|_| !has_reason) {
            self.ratio = Err(Outcome::incomparable(why));
        }
        self
    }

    /// Returns the pair, with the verdict of an interval of this confidence.
    fn judge(self, confidence: f64, request: &Request<'_>) -> Pair {
        let names = [request.base, request.new].into_iter().zip(&self.suspects);
        let suspects = names.flat_map(|(names, places)| {
            let names = places.iter().filter_map(move |place| names.get(*place));
            names.cloned()
        });
        let [base, new] = self.costs;
        Pair {
            subject: self.subject,
            new_case: self.new_case,
            quantity: self.quantity,
            is_suspect: self.suspects.iter().any(|places| !places.is_empty()),
            suspect_records: suspects.collect(),
            base,
            new,
            outcome: self
                .ratio
                .map_or_else(|outcome| outcome, |ratio| ratio.judge(confidence)),
        }
    }
}

/// Returns the indices of the suspect records on each side.
pub(super) fn suspects<T>(sides: [&[T]; 2], is_suspect: impl Fn(&T) -> bool) -> [Vec<usize>; 2] {
    sides.map(|side| {
        (0..side.len())
            .filter(|place| is_suspect(&side[*place]))
            .collect()
    })
}

/// Judges the numbers; returns the pairs and the number *m* of verdicts. Each interval has the
/// confidence 1 - (1 - C) / m.
pub(super) fn judge(candidates: Vec<Candidate>, request: Request<'_>) -> (Vec<Pair>, usize) {
    let compared = candidates
        .iter()
        .filter(|candidate| candidate.ratio.is_ok())
        .count();
    let of_each = 1.0 - (1.0 - request.confidence) / compared.max(1) as f64;
    let judged = candidates
        .into_iter()
        .map(|candidate| candidate.judge(of_each, &request));
    (judged.collect(), compared)
}
