//! Two records, or two sets of repeated ones, judged against each other: what became faster or slower, and what else is
//! different.
//!
//! Verdicts are made so that all of them together are wrong in no more than the share that was allowed: with *m* pairs
//! compared, each interval has the confidence 1 - (1 - C) / m (Bonferroni). An interval that leaves out 1 is a difference.

mod candidate;
mod environment;
mod pairs;
mod ratio;

use record::{Case, MeasureRecord};
use serde::Serialize;

use crate::findings::Findings;

/// A record with what was found in it.
pub type Analysed<'a> = (&'a MeasureRecord, &'a Findings);

/// How to judge.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Confidence of all verdicts together, such as 0.9.
    pub confidence: f64,
    /// How much two runs differ by nature, as a standard deviation relative to the cost. It is used where a side has
    /// only one record and cannot show it.
    pub run_spread: f64,
}

impl Default for Options {
    /// 90 %, and 1 %: ten separate runs lay within about that of their median where it was measured
    /// (`docs/method/comparison.md`).
    fn default() -> Self {
        Options { confidence: 0.9, run_spread: 0.01 }
    }
}

/// A fact that is not the same on both sides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// What it is: `kernel`, `governor`, `mitigation of spectre_v2`, ...
    pub what: String,
    /// What the base records say; several values where they do not agree.
    pub base: Vec<String>,
    /// What the new records say.
    pub new: Vec<String>,
}

/// One side of a pair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// In the unit of the quantity; of several records their geometric mean.
    pub value: f64,
    /// Its own interval, of the confidence that all verdicts have together: for the eye. The verdict is the ratio's.
    pub interval: Option<(f64, f64)>,
    /// Records with a number for it.
    pub records: usize,
}

/// What is compared of a subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quantity {
    /// Of a case without a working set.
    Direct,
    /// Of a case with one.
    Total,
    /// Of a case across CPUs.
    HandOff,
}

impl Quantity {
    /// Its name in every format.
    pub fn name(self) -> &'static str {
        match self {
            Quantity::Direct => "direct",
            Quantity::Total => "total",
            Quantity::HandOff => "hand-off",
        }
    }
}

/// New over base.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Ratio {
    /// The centre.
    pub ratio: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

/// What became of a cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// The whole interval lies below 1.
    Faster,
    /// The whole interval lies above 1.
    Slower,
    /// The interval covers 1: no difference was shown, which does not show that there is none.
    NoDifferenceShown,
}

/// What can be said of a pair.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "outcome")]
pub enum Outcome {
    /// The ratio, and what it means.
    Compared {
        /// New over base, with its interval.
        #[serde(flatten)]
        ratio: Ratio,
        /// The verdict.
        verdict: Change,
    },
    /// No ratio: why, in one sentence.
    NotComparable {
        /// The reason.
        why: String,
    },
}

/// The same case on both sides.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// The conditions, as the first record with this case has them.
    pub case: Case,
    /// Which cost.
    pub quantity: Quantity,
    /// The base, where it has a number.
    pub base: Option<Cost>,
    /// The new one, where it has a number.
    pub new: Option<Cost>,
    /// Whether a number behind it is suspect.
    pub is_suspect: bool,
    /// What can be said.
    pub outcome: Outcome,
}

/// Everything that two sides show beside each other.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// What else is different: the usual cause.
    pub environment: Vec<Difference>,
    /// One for each case of either side, in the order of the base and then of the new.
    pub pairs: Vec<Pair>,
    /// Records of the base.
    pub base_records: usize,
    /// Records of the new side.
    pub new_records: usize,
    /// Confidence of all verdicts together.
    pub confidence: f64,
    /// Pairs with a verdict, for which each interval was widened.
    pub compared: usize,
    /// The spread between runs that was assumed, relative to the cost, where a side of any pair has one record.
    pub assumed_run_spread: Option<f64>,
}

impl Comparison {
    /// Pairs with a verdict of slower whose ratio is above 1 plus a share.
    pub fn slower_by_more_than(&self, share: f64) -> impl Iterator<Item = &Pair> {
        self.pairs.iter().filter(move |pair| {
            matches!(&pair.outcome, Outcome::Compared { ratio, verdict: Change::Slower } if ratio.ratio > 1.0 + share)
        })
    }
}

/// Compares the new records with the base.
pub fn compare(base: &[Analysed<'_>], new: &[Analysed<'_>], options: Options) -> Comparison {
    let sides = pairs::matched(base, new);
    let has_single = sides.iter().any(pairs::Matched::has_single_record);
    let candidates = sides.into_iter().map(|pair| pair.candidate(options)).collect();
    let (pairs, compared) = candidate::judge(candidates, options.confidence);
    Comparison {
        environment: environment::differences(base, new),
        pairs,
        base_records: base.len(),
        new_records: new.len(),
        confidence: options.confidence,
        compared,
        assumed_run_spread: has_single.then_some(options.run_spread),
    }
}

#[cfg(test)]
mod tests;
