//! Computes the verdicts of a comparison together, because the confidence of each depends on the
//! number of verdicts.

use switchcost_record::Case;

use super::ratio::LogRatio;
use super::{Cost, Outcome, Pair, Quantity, Request, Subject};

/// Names of the two sides of a comparison in error texts.
pub(super) const SIDES: [&str; 2] = ["base", "new"];

/// Returns the values of both sides, or the reasons why a side has none.
pub(super) fn require_both<T>(sides: [Result<T, String>; 2]) -> Result<[T; 2], String> {
    match sides {
        [Ok(base), Ok(new)] => Ok([base, new]),
        sides => {
            let reasons: Vec<String> = sides.into_iter().filter_map(Result::err).collect();
            Err(reasons.join("; "))
        }
    }
}

/// A pair of costs before its verdict is computed.
#[derive(Debug)]
pub(super) struct Candidate {
    pub(super) subject: Subject,
    /// Case of the new records, if it differs from that of the base records.
    pub(super) new_case: Option<Case>,
    pub(super) quantity: Quantity,
    /// Costs on the base and on the new side; `None` if unknown.
    pub(super) costs: [Option<Cost>; 2],
    /// Logarithm of the ratio of new to base; the outcome if there can be no verdict.
    pub(super) ratio: Result<LogRatio, Outcome>,
    /// Indices of the records with a suspect number, for each side.
    pub(super) suspects: [Vec<usize>; 2],
}

impl Candidate {
    /// Sets the outcome to not comparable for the reason `why`, unless there is another reason
    /// already.
    pub(super) fn unless(mut self, why: Option<&str>) -> Candidate {
        let has_reason = matches!(self.ratio, Err(Outcome::NotComparable { .. }));
        if let Some(why) = why.filter(|_| !has_reason) {
            self.ratio = Err(Outcome::incomparable(why));
        }
        self
    }

    /// Returns the pair with the verdict from an interval of this confidence.
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

/// Returns the indices of the records for which `is_suspect` is true, for each side.
pub(super) fn suspects<T>(sides: [&[T]; 2], is_suspect: impl Fn(&T) -> bool) -> [Vec<usize>; 2] {
    sides.map(|side| {
        (0..side.len())
            .filter(|place| is_suspect(&side[*place]))
            .collect()
    })
}

/// Returns the pairs with verdicts, and the number *m* of pairs with an interval. Each interval has
/// the confidence 1 - (1 - C) / m.
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
