//! Two records, or two sets of repeated ones, judged against each other: what became faster or slower, and what else is
//! different. Records of measurements, or of simulations.
//!
//! Verdicts are made so that all of them together are wrong in no more than the share that was allowed: with *m* pairs
//! compared, each interval has the confidence 1 - (1 - C) / m (Bonferroni). An interval that leaves out 1 is a difference.

mod candidate;
mod environment;
mod pairs;
mod ratio;
mod simulated;

use record::{Case, MeasureRecord};
use serde::Serialize;
use strum::Display;

use crate::findings::Findings;

pub use simulated::{Copied, Curve, Simulated, compare_simulations, copied};

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
    /// Excess cycles of a simulated switch up to the cut-off.
    AverageCost,
    /// Average cost times switches over all cycles.
    Overhead,
    /// Excess cycles of a simulated switch of one program, to the end of each segment.
    ExcessPerSwitch,
    /// Of one level of the simulated caches.
    MissesPerInstruction,
}

/// What the numbers of a quantity are in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Unit {
    /// Nanoseconds.
    Ns,
    /// Simulated cycles.
    Cycles,
    /// A share of all cycles.
    Share,
    /// Misses an instruction.
    PerInstruction,
}

impl Quantity {
    /// Its name in every format.
    pub fn name(self) -> &'static str {
        match self {
            Quantity::Direct => "direct",
            Quantity::Total => "total",
            Quantity::HandOff => "hand-off",
            Quantity::AverageCost => "average-cost",
            Quantity::Overhead => "overhead",
            Quantity::ExcessPerSwitch => "excess-per-switch",
            Quantity::MissesPerInstruction => "misses-per-instruction",
        }
    }

    /// The unit of its numbers.
    pub fn unit(self) -> Unit {
        match self {
            Quantity::Direct | Quantity::Total | Quantity::HandOff => Unit::Ns,
            Quantity::AverageCost | Quantity::ExcessPerSwitch => Unit::Cycles,
            Quantity::Overhead => Unit::Share,
            Quantity::MissesPerInstruction => Unit::PerInstruction,
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

/// Whose number is compared.
#[derive(Clone, Debug, PartialEq)]
pub enum Subject {
    /// A case of a measurement: the conditions, as the first record with this case has them.
    Case(Case),
    /// A part of a simulated machine.
    Simulated(Place),
}

/// A part of what was simulated.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// The base's design, where it has one.
    pub base_design: Option<String>,
    /// The new side's design, where it has one.
    pub new_design: Option<String>,
    /// The part.
    pub part: Part,
}

/// Which switches, or which level.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind", content = "name")]
pub enum Part {
    /// All switches.
    All,
    /// Those of one class of Mogul and Borg.
    Class(String),
    /// Those of one cause.
    Cause(String),
    /// Those of processes of one name; hostile data.
    Program(String),
    /// All references to one level of the caches or TLBs.
    Level(String),
}

/// The same subject on both sides.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// Whose number it is.
    pub subject: Subject,
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

impl Pair {
    /// The case, where it was measured.
    pub fn case(&self) -> Option<&Case> {
        match &self.subject {
            Subject::Case(case) => Some(case),
            Subject::Simulated(_) => None,
        }
    }

    /// Whether it is one of the numbers that the comparison is made for, and not one of its parts: of a simulation, average
    /// cost and overhead of a design.
    pub fn is_main(&self) -> bool {
        match &self.subject {
            Subject::Case(_) => true,
            Subject::Simulated(place) => place.part == Part::All,
        }
    }
}

/// What the intervals of a comparison stand on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// Runs of a measurement.
    Runs,
    /// One trace, simulated on both sides: batches of its switches, paired.
    SameTrace,
    /// Several traces, each simulated on both sides: the traces, paired.
    SameTraces,
    /// Several traces a side, not the same ones.
    OtherTraces,
    /// A side has but one trace, and the other has others: batches of its switches.
    SingleTrace,
}

/// Everything that two sides show beside each other.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// What else is different: the usual cause.
    pub environment: Vec<Difference>,
    /// One for each case or part of either side, in the order of the base and then of the new.
    pub pairs: Vec<Pair>,
    /// Records of the base.
    pub base_records: usize,
    /// Records of the new side.
    pub new_records: usize,
    /// Confidence of all verdicts together.
    pub confidence: f64,
    /// Pairs with a verdict, for which each interval was widened.
    pub compared: usize,
    /// What the intervals stand on.
    pub basis: Basis,
    /// The spread between runs that was assumed, relative to the cost, where a side of any pair has one record.
    pub assumed_run_spread: Option<f64>,
    /// Excess cycles since the switch, of each pair of simulated designs.
    pub curves: Vec<Curve>,
}

impl Comparison {
    /// Pairs with a verdict of slower whose ratio is above 1 plus a share.
    pub fn slower_by_more_than(&self, share: f64) -> impl Iterator<Item = &Pair> {
        self.pairs.iter().filter(move |pair| {
            matches!(&pair.outcome, Outcome::Compared { ratio, verdict: Change::Slower } if ratio.ratio > 1.0 + share)
        })
    }
}

/// Compares the new records of a measurement with those of the base.
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
        basis: Basis::Runs,
        curves: Vec::new(),
        assumed_run_spread: has_single.then_some(options.run_spread),
    }
}

#[cfg(test)]
mod tests;
