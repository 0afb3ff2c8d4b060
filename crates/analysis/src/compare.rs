//! Two records, or two sets of repeated ones, judged against each other: what became faster or slower, and what else is
//! different. Records of measurements, of simulations, of observations, or of injections.
//!
//! Verdicts are made so that all of them together are wrong in no more than the share that was allowed: with *m* pairs
//! compared, each interval has the confidence 1 - (1 - C) / m (Bonferroni). An interval that leaves out 1 is a difference.

mod across;
mod calls;
mod candidate;
mod environment;
mod history;
mod in_turns;
mod injected;
mod observed;
pub(crate) mod pairs;
mod power;
mod quantity;
mod ratio;
mod simulated;
mod spread;
mod subject;
mod switches;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use switchcost_record::{Case, MeasureRecord};

use crate::measurement::findings::Findings;
pub use crate::measurement::run_spread::{ASSUMED_ACROSS_CPUS, ASSUMED_RUN_SPREAD};

pub use across::{Condition, differing};
pub use calls::CALLS_OF_A_CASE;
pub use environment::changed_facts;
pub(crate) use environment::first_difference;
pub use history::{Dated, History, State, Step, Trend, history};
pub use in_turns::{Arm, Ended, InTurns, Side};
pub use injected::compare_injections;
pub use observed::compare_observations;
pub use quantity::{Quantity, Unit};
pub use subject::{KindAndName, Part, Place, Subject, Who};
pub use switches::ChangedSwitches;

pub use simulated::{Copied, Curve, Simulated, compare_simulations, copied};

/// A record with what was found in it.
pub type Analysed<'a> = (&'a MeasureRecord, &'a Findings);

/// What to compare, and how to judge.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Request<'a> {
    /// Names of the base's records.
    pub base: &'a [String],
    /// Names of the new ones.
    pub new: &'a [String],
    /// Confidence of all verdicts together, such as 0.9.
    pub confidence: f64,
    /// How much runs of a measurement differ beyond their own intervals, if not to be derived from the records.
    pub run_spread: Option<f64>,
    /// The share by which a cost may grow; none if nothing is forbidden.
    pub fail_above: Option<f64>,
    /// Conditions in which cases of a measurement may differ.
    pub across: &'a [Condition],
}

impl Default for Request<'_> {
    fn default() -> Self {
        Request {
            base: &[],
            new: &[],
            confidence: 0.9,
            run_spread: None,
            fail_above: None,
            across: &[],
        }
    }
}

/// How much runs differ beyond what their own intervals say.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct RunSpread {
    /// A standard deviation, relative to the cost.
    pub share: f64,
    /// Where it is from.
    pub origin: Origin,
}

/// Where a spread between runs is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// The records that are compared: a side repeats its run.
    Records,
    /// Earlier records of the same machine.
    EarlierRecords,
    /// It was given with `--run-spread`.
    Given,
    /// Unknown.
    Assumed,
}

/// A fact that is not the same on both sides.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Difference {
    /// What it is: `kernel`, `governor`, `mitigation of spectre_v2`, ...
    pub what: String,
    /// What the base records say; several values where they do not agree.
    pub base: Vec<String>,
    /// What the new records say.
    pub new: Vec<String>,
}

/// One side of a pair.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
#[schemars(rename = "Side")]
pub struct Cost {
    /// The number, in the unit of the quantity; of several records their geometric mean.
    pub value: f64,
    /// Its own interval, of the confidence that all verdicts have together: for the eye. The verdict is the ratio's.
    #[serde(flatten, serialize_with = "ends")]
    #[schemars(with = "Ends")]
    pub interval: Option<(f64, f64)>,
    /// Records behind it.
    pub records: usize,
}

#[derive(JsonSchema, Serialize)]
struct Ends {
    /// Lower end of the interval of this side alone.
    low: Option<f64>,
    /// Upper end.
    high: Option<f64>,
}

fn ends<S: Serializer>(interval: &Option<(f64, f64)>, serializer: S) -> Result<S::Ok, S::Error> {
    let (low, high) = interval.unzip();
    Ends { low, high }.serialize(serializer)
}

/// New over base.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Ratio {
    /// The centre.
    pub ratio: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

/// What became of a cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
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
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
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
    /// A ratio of which it is not known how far it may be by chance.
    NotJudged {
        /// New over base.
        ratio: f64,
        /// Why it has no interval, in one sentence.
        why: String,
    },
    /// No ratio: why, in one sentence.
    NotComparable {
        /// The reason.
        why: String,
    },
}

/// A cost of both sides. A pair of measurements has the conditions of a case. A pair of simulations has designs, `kind` and `name`
/// instead, one of observations `kind` and `name`.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Pair {
    /// Whose number it is.
    #[serde(flatten)]
    pub subject: Subject,
    /// Of a measurement: the conditions of the new records, if they were allowed to differ and do.
    #[serde(
        serialize_with = "crate::measurement::serialised::conditions_if_any",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<crate::measurement::serialised::Conditions<'static>>")]
    pub new_case: Option<Case>,
    /// Which cost.
    #[serde(flatten, serialize_with = "quantity::with_unit")]
    #[schemars(with = "quantity::WithUnit")]
    pub quantity: Quantity,
    /// Whether a number behind it is suspect in its own record, or was measured beside other tasks.
    pub is_suspect: bool,
    /// Those records.
    pub suspect_records: Vec<String>,
    /// The base; `None` if it has no such number.
    pub base: Option<Cost>,
    /// The new records; `None` if they have no such number.
    pub new: Option<Cost>,
    /// What can be said.
    #[serde(flatten)]
    pub outcome: Outcome,
}

impl Pair {
    /// Without a verdict so far.
    fn unjudged(
        subject: Subject,
        quantity: Quantity,
        [base, new]: [Option<Cost>; 2],
        outcome: Outcome,
    ) -> Pair {
        Pair {
            subject,
            new_case: None,
            quantity,
            is_suspect: false,
            suspect_records: Vec::new(),
            base,
            new,
            outcome,
        }
    }

    /// By how much it must grow for that to be shown, as a share; `None` if nothing could be.
    fn least_shown_growth(&self) -> Option<f64> {
        match &self.outcome {
            Outcome::Compared { ratio, .. } => Some(ratio.ratio / ratio.low - 1.0),
            Outcome::NotJudged { .. } | Outcome::NotComparable { .. } => None,
        }
    }

    /// How far the number moved for sure, as the logarithm of a ratio: 0 if the interval covers 1.
    pub fn least_change(&self) -> f64 {
        match &self.outcome {
            Outcome::Compared {
                ratio,
                verdict: Change::Slower,
            } => ratio.low.ln(),
            Outcome::Compared {
                ratio,
                verdict: Change::Faster,
            } => -ratio.high.ln(),
            _ => 0.0,
        }
    }

    /// New over base, judged or not.
    pub fn ratio(&self) -> Option<f64> {
        match &self.outcome {
            Outcome::Compared { ratio, .. } => Some(ratio.ratio),
            Outcome::NotJudged { ratio, .. } => Some(*ratio),
            Outcome::NotComparable { .. } => None,
        }
    }

    /// The case, if it was measured.
    pub fn case(&self) -> Option<&Case> {
        match &self.subject {
            Subject::Case(case) => Some(case),
            Subject::Simulated(_) | Subject::Observed(_) | Subject::Injected { .. } => None,
        }
    }

    /// Whether it is one of the kernel's functions, whose verdicts are apart from those of costs.
    pub fn is_of_a_function(&self) -> bool {
        matches!(&self.subject, Subject::Simulated(place) if place.part.is_of_a_function())
    }

    /// Whether it was asked for and has no verdict. What is 0 now needs none: it has not grown.
    pub fn is_open(&self) -> bool {
        let is_gone = matches!(self.subject, Subject::Observed(_))
            && self.new.is_some_and(|new| new.value == 0.0);
        self.is_main()
            && !is_gone
            && !self.quantity.is_cycles_in_all()
            && !matches!(self.outcome, Outcome::Compared { .. })
    }

    /// Whether it is one of the numbers that the comparison is made for, and not one of its parts: of a simulation, those of a
    /// design as a whole; of an observation, the numbers of all tasks together.
    pub fn is_main(&self) -> bool {
        match &self.subject {
            Subject::Case(_) | Subject::Injected { .. } => true,
            Subject::Simulated(place) => place.part == Part::All,
            Subject::Observed(who) => *who == Who::All,
        }
    }
}

/// What the intervals of a comparison stand on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
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
    /// Observations of live tasks.
    Observations,
    /// Preemptions of a program.
    Injections,
}

/// What the switches of observations are priced with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pricing {
    /// The newest calibration of them all: they are of one machine.
    OneCalibration,
    /// Each with its own: they are of several machines.
    OwnCalibrations,
    /// None of them has any.
    Nothing,
}

/// What comparing records comes to.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Comparison {
    /// What the intervals are based on.
    pub basis: Basis,
    /// The files of the base.
    pub base_records: Vec<String>,
    /// The files that are compared with them.
    pub new_records: Vec<String>,
    /// Of all verdicts together.
    pub confidence: f64,
    /// Pairs with a verdict, for which each interval was widened.
    pub compared: usize,
    /// The share of `run_spread`, if it was assumed.
    pub assumed_run_spread: Option<f64>,
    /// How much runs of a measurement differ beyond their own intervals: in cases on one CPU, if there are any.
    pub run_spread: Option<RunSpread>,
    /// How much they differ in hand-offs across CPUs; `None` if nothing of that kind is compared.
    pub run_spread_across_cpus: Option<RunSpread>,
    /// Core cycles a second at which the costs of a measurement are given, so that runs at different speeds of the core can be compared;
    /// `None` if they are given as measured.
    pub hertz: Option<f64>,
    /// Of observations: what their costs are from.
    pub pricing: Option<Pricing>,
    /// The share asked for: 0.05 is 5 %.
    pub fail_above: Option<f64>,
    /// Pairs that are slower by more.
    pub slower_than_allowed: Option<usize>,
    /// Facts that differ between the sides: the usual cause.
    pub environment: Vec<Difference>,
    /// Fields in which simulated designs that are compared differ.
    pub designs: Vec<Difference>,
    /// A growth by this share would have been shown in each number that was compared.
    pub could_have_shown: Option<f64>,
    /// Measured cases whose hand-offs take another number of switches.
    pub switches: Vec<ChangedSwitches>,
    /// Of measured hand-offs without a working set: their system calls, which both arms make and no cost has, and the hand-offs with them.
    /// Their verdicts hold together by themselves, with a tenth of the error that is allowed for the costs.
    pub calls: Vec<Pair>,
    /// One for each case of either side, in the order of the base and then of the new; of simulations, for each number of a pair of
    /// designs.
    pub pairs: Vec<Pair>,
    /// Excess cycles since the switch, of each pair of simulated designs.
    #[serde(skip)]
    pub curves: Vec<Curve>,
}

/// By how much the compared numbers must have grown for that to be shown, as shares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShownGrowths {
    /// Of the number of which the smallest growth is shown.
    pub least: f64,
    /// Of the one of which the largest is needed; infinite if none of it is shown, however large.
    pub most: f64,
    /// Numbers that were compared.
    pub numbers: usize,
    /// Numbers of which a growth by the limit is not shown.
    pub beyond_limit: usize,
}

impl Comparison {
    /// Of pairs, so many of which have a verdict; with nothing that records of some kinds alone have.
    pub fn of(
        basis: Basis,
        (pairs, compared): (Vec<Pair>, usize),
        run_spread: Option<RunSpread>,
        request: Request<'_>,
    ) -> Comparison {
        let assumed = run_spread.filter(|spread| spread.origin == Origin::Assumed);
        let mut comparison = Comparison {
            basis,
            base_records: request.base.to_vec(),
            new_records: request.new.to_vec(),
            confidence: request.confidence,
            compared,
            assumed_run_spread: assumed.map(|spread| spread.share),
            run_spread,
            run_spread_across_cpus: None,
            hertz: None,
            pricing: None,
            fail_above: request.fail_above,
            slower_than_allowed: None,
            environment: Vec::new(),
            designs: Vec::new(),
            could_have_shown: None,
            switches: Vec::new(),
            calls: Vec::new(),
            pairs,
            curves: Vec::new(),
        };
        comparison.slower_than_allowed = request
            .fail_above
            .map(|share| comparison.slower_by_more_than(share).count());
        comparison.could_have_shown = comparison.shown_growths(0.0).map(|shown| shown.most);
        comparison
    }

    /// What a gate with this limit could have shown; `None` if nothing was compared.
    pub fn shown_growths(&self, limit: f64) -> Option<ShownGrowths> {
        let costs = self.pairs.iter().filter(|pair| !pair.is_of_a_function());
        let growths: Vec<f64> = costs.filter_map(Pair::least_shown_growth).collect();
        let least = growths.iter().copied().reduce(f64::min)?;
        let most = growths.iter().copied().reduce(f64::max)?;
        let beyond_limit = growths.iter().filter(|growth| **growth > limit).count();
        Some(ShownGrowths {
            least,
            most,
            numbers: growths.len(),
            beyond_limit,
        })
    }

    /// Pairs with a verdict of slower whose ratio is above 1 plus a share.
    pub fn slower_by_more_than(&self, share: f64) -> impl Iterator<Item = &Pair> {
        let costs = self.pairs.iter().filter(|pair| !pair.is_of_a_function());
        costs.filter(move |pair| {
            matches!(&pair.outcome, Outcome::Compared { ratio, verdict: Change::Slower } if ratio.ratio > 1.0 + share)
        })
    }
}

/// Compares the new records of a measurement with those of the base. `earlier` are further records of the machine, which show how much its
/// runs differ if neither side does; they may be none.
pub fn compare(
    base: &[Analysed<'_>],
    new: &[Analysed<'_>],
    earlier: &[Analysed<'_>],
    request: Request<'_>,
) -> Comparison {
    let hertz = common_hertz(base.iter().chain(new).map(|(_, findings)| *findings));
    compare_at(hertz, base, new, earlier, request)
}

/// The same at this clock of the core.
fn compare_at(
    hertz: Option<f64>,
    base: &[Analysed<'_>],
    new: &[Analysed<'_>],
    earlier: &[Analysed<'_>],
    request: Request<'_>,
) -> Comparison {
    let cases = across::join(pairs::matched(base, new, earlier, hertz), request.across);
    let costs: Vec<Number<'_, '_>> = cases.iter().map(|case| (case, case.quantity())).collect();
    let (judged, spreads) = judge_numbers(&costs, request);
    let ((calls, _), _) = judge_numbers(&calls::numbers(&cases), calls::request(request));
    Comparison {
        environment: environment::differences(base, new),
        switches: cases
            .iter()
            .filter_map(pairs::Matched::changed_switches)
            .collect(),
        calls,
        hertz,
        run_spread_across_cpus: spreads.across_cpus,
        ..Comparison::of(
            Basis::Runs,
            judged,
            spreads.on_one_cpu.or(spreads.across_cpus),
            request,
        )
    }
}

/// A number of a case.
type Number<'a, 'b> = (&'b pairs::Matched<'a>, Quantity);

/// How much runs differ, by what is assumed of the cases: hand-offs across CPUs say nothing of the others, nor they of them. `None` if
/// there are none of a kind.
#[derive(Clone, Copy, Debug)]
struct RunSpreads {
    on_one_cpu: Option<RunSpread>,
    across_cpus: Option<RunSpread>,
}

impl RunSpreads {
    fn new(numbers: &[Number<'_, '_>], request: Request<'_>) -> RunSpreads {
        let (across, others): (Vec<_>, Vec<_>) = numbers.iter().copied().partition(is_across_cpus);
        let spread = |numbers: &[Number<'_, '_>], assumed| run_spread(numbers, assumed, request);
        // Of nothing at all, what is usual.
        let is_any = !others.is_empty() || across.is_empty();
        RunSpreads {
            on_one_cpu: is_any.then(|| spread(&others, ASSUMED_RUN_SPREAD)),
            across_cpus: (!across.is_empty()).then(|| spread(&across, ASSUMED_ACROSS_CPUS)),
        }
    }

    fn of_number(&self, number: &Number<'_, '_>) -> RunSpread {
        let assumed = RunSpread {
            share: number.0.assumed_spread(number.1),
            origin: Origin::Assumed,
        };
        let spread = if is_across_cpus(number) {
            self.across_cpus
        } else {
            self.on_one_cpu
        };
        spread.unwrap_or(assumed)
    }
}

fn is_across_cpus((case, quantity): &Number<'_, '_>) -> bool {
    case.assumed_spread(*quantity) > ASSUMED_RUN_SPREAD
}

/// How much runs differ in numbers of one kind.
fn run_spread(numbers: &[Number<'_, '_>], assumed: f64, request: Request<'_>) -> RunSpread {
    let sides: Vec<_> = numbers
        .iter()
        .flat_map(|(case, quantity)| case.sides(*quantity))
        .collect();
    let history: Vec<_> = numbers
        .iter()
        .map(|(case, quantity)| case.earlier(*quantity))
        .collect();
    let learned = || {
        spread::learned(&sides, Origin::Records, assumed)
            .or_else(|| spread::learned(&history, Origin::EarlierRecords, assumed))
    };
    let given = request.run_spread.map(|share| RunSpread {
        share,
        origin: Origin::Given,
    });
    given.or_else(learned).unwrap_or(RunSpread {
        share: assumed,
        origin: Origin::Assumed,
    })
}

/// Numbers with the verdicts that hold together, and how much runs differ in them.
fn judge_numbers(
    numbers: &[Number<'_, '_>],
    request: Request<'_>,
) -> ((Vec<Pair>, usize), RunSpreads) {
    let spreads = RunSpreads::new(numbers, request);
    let candidate = |number: &Number<'_, '_>| {
        number
            .0
            .candidate(number.1, request.confidence, spreads.of_number(number))
    };
    (
        candidate::judge(numbers.iter().map(candidate).collect(), request),
        spreads,
    )
}

/// The geometric mean of the core's clocks; `None` if one is not known.
fn common_hertz<'a>(findings: impl Iterator<Item = &'a Findings>) -> Option<f64> {
    let logs: Option<Vec<f64>> = findings
        .map(|found| Some(found.core?.hertz?.ln()))
        .collect();
    let logs = logs.filter(|logs| !logs.is_empty())?;
    Some((logs.iter().sum::<f64>() / logs.len() as f64).exp())
}

#[cfg(test)]
mod tests;
