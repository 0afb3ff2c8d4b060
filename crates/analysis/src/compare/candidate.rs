//! Selects the pairs that get a verdict, and counts them.

use super::ratio::LogRatio;
use super::{Outcome, Pair, Request};

/// Largest ratio of an interval's ends that is still useful to a reader.
const WIDEST: f64 = 100.0;
const NOT_KNOWN: &str = "the records differ so much that the ratio may be anything within a factor of 100 and more; give more \
                         records of each side";

/// A pair that has no verdict yet, because the number of compared pairs is still unknown.
#[derive(Debug)]
pub(super) struct Candidate {
    /// The pair, with the reason if it cannot be compared.
    pub(super) pair: Pair,
    /// Logarithm of the ratio, if there is a ratio.
    pub(super) ratio: Option<LogRatio>,
    /// Records with a suspect number of this pair.
    pub(super) suspects: Suspects,
}

impl Candidate {
    /// Marks the pair as not comparable if there is a reason, unless it already has one.
    pub(super) fn unless(mut self, why: Option<&str>) -> Candidate {
        let has_ratio =
            self.ratio.is_some() || matches!(self.pair.outcome, Outcome::NotJudged { .. });
        if let Some(why) = why.filter(|_| has_ratio) {
            self.ratio = None;
            self.pair.outcome = Outcome::NotComparable {
                why: why.to_owned(),
            };
        }
        self
    }
}

/// Records in which a number is suspect, by their indices on each side.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Suspects {
    pub(super) base: Vec<usize>,
    pub(super) new: Vec<usize>,
}

impl Suspects {
    pub(super) fn among<T>(base: &[T], new: &[T], is_suspect: impl Fn(&T) -> bool) -> Suspects {
        let places = |side: &[T]| {
            (0..side.len())
                .filter(|place| is_suspect(&side[*place]))
                .collect()
        };
        Suspects {
            base: places(base),
            new: places(new),
        }
    }

    fn is_any(&self) -> bool {
        !self.base.is_empty() || !self.new.is_empty()
    }

    /// Returns the names of the records, those of the base first.
    fn names(&self, request: &Request<'_>) -> Vec<String> {
        let of = |names: &[String], places: &[usize]| {
            places
                .iter()
                .filter_map(|place| names.get(*place))
                .cloned()
                .collect()
        };
        let [base, new]: [Vec<String>; 2] =
            [of(request.base, &self.base), of(request.new, &self.new)];
        [base, new].concat()
    }
}

/// Judges the pairs; returns the pairs and the number *m* of verdicts. Each interval has the
/// confidence 1 - (1 - C) / m.
pub(super) fn judge(candidates: Vec<Candidate>, request: Request<'_>) -> (Vec<Pair>, usize) {
    let compared = candidates
        .iter()
        .filter(|candidate| candidate.ratio.is_some())
        .count();
    let of_each = 1.0 - (1.0 - request.confidence) / compared.max(1) as f64;
    let judged = |Candidate {
                      mut pair,
                      ratio,
                      suspects,
                  }: Candidate| {
        (pair.is_suspect, pair.suspect_records) = (suspects.is_any(), suspects.names(&request));
        if let Some((ratio, verdict)) = ratio.and_then(|ratio| ratio.judge(of_each)) {
            pair.outcome = if ratio.high / ratio.low > WIDEST {
                Outcome::NotComparable {
                    why: NOT_KNOWN.to_owned(),
                }
            } else {
                Outcome::Compared { ratio, verdict }
            };
        }
        pair
    };
    (candidates.into_iter().map(judged).collect(), compared)
}
