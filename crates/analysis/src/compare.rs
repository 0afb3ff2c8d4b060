//! Compares two records, or two sets of repeated records: which costs became faster or slower, and
//! what else differs. Both sides are measurements, simulations, observations, or injections.
//!
//! All verdicts together are wrong in no more than the allowed share of cases: with *m* compared
//! pairs, each interval has the confidence 1 - (1 - C) / m (Bonferroni). An interval of a ratio
//! that leaves out 1 is a difference.

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

/// A record with the findings of its analysis.
pub type Analysed<'a> = (&'a MeasureRecord, &'a Findings);

/// The records to compare, and the rules of judgement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Request<'a> {
    /// Names of the base's records.
    pub base: &'a [String],
    /// Names of the new records.
    pub new: &'a [String],
    /// Confidence of all verdicts together, such as 0.9.
    pub confidence: f64,
    /// Standard deviation between runs of a measurement beyond their own intervals; `None` to derive it from the records.
    pub run_spread: Option<f64>,
    /// Share by which a cost may grow; `None` if there is no limit.
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

/// Spread between runs that the intervals of single runs do not contain.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct RunSpread {
    /// Standard deviation of a cost between runs, as a share of the cost.
    pub share: f64,
    /// Source of the spread.
    pub origin: Origin,
}

/// Source of a spread between runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// The compared records themselves, of which at least one side has several.
    Records,
    /// Earlier records of the same machine.
    EarlierRecords,
    /// The user gave the spread with `--run-spread`.
    Given,
    /// The spread is unknown, so it is assumed.
    Assumed,
}

/// A fact of the environment that differs between the sides.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Difference {
    /// Name of the fact: `kernel`, `governor`, `mitigation of spectre_v2`, ...
    pub what: String,
    /// Values in the base records; several if they do not agree.
    pub base: Vec<String>,
    /// Values in the new records; several if they do not agree.
    pub new: Vec<String>,
    /// Whether the fact cannot affect the compared costs, such as the nice value at real-time
    /// priority.
    pub is_without_effect: bool,
}

/// Cost on one side of a pair.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
#[schemars(rename = "Side")]
pub struct Cost {
    /// The cost, in the unit of the quantity; the geometric mean over several records.
    pub value: f64,
    /// Confidence interval of this side alone, for display. The verdict comes from the interval of
    /// the ratio.
    #[serde(flatten, serialize_with = "ends")]
    #[schemars(with = "Ends")]
    pub interval: Option<(f64, f64)>,
    /// Number of records on this side.
    pub records: usize,
}

#[derive(JsonSchema, Serialize)]
struct Ends {
    /// Lower end of the interval of this side alone.
    low: Option<f64>,
    /// Upper end of the interval of this side alone.
    high: Option<f64>,
}

impl Cost {
    /// Returns the plain mean of some values, without an interval; `None` if there are none.
    fn plain_mean(values: &[f64]) -> Option<Cost> {
        (!values.is_empty()).then(|| Cost {
            value: values.iter().sum::<f64>() / values.len() as f64,
            interval: None,
            records: values.len(),
        })
    }
}

fn ends<S: Serializer>(interval: &Option<(f64, f64)>, serializer: S) -> Result<S::Ok, S::Error> {
    let (low, high) = interval.unzip();
    Ends { low, high }.serialize(serializer)
}

/// Ratio of the new cost to the base's.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Ratio {
    /// Centre of the ratio's interval.
    pub ratio: f64,
    /// Lower end of the ratio's interval.
    pub low: f64,
    /// Upper end of the ratio's interval.
    pub high: f64,
}

/// Verdict on a cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// The ratio's whole interval lies below 1.
    Faster,
    /// The ratio's whole interval lies above 1.
    Slower,
    /// The ratio's interval covers 1: no difference was shown, which does not prove that there is
    /// none.
    NoDifferenceShown,
}

/// Result of comparing a pair.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case", tag = "outcome")]
pub enum Outcome {
    /// The pair has a ratio with a verdict.
    Compared {
        /// Ratio of new to base, with its interval.
        #[serde(flatten)]
        ratio: Ratio,
        /// Verdict on the ratio.
        verdict: Change,
    },
    /// The ratio has no interval, so there is no verdict.
    NotJudged {
        /// Ratio of new to base.
        ratio: f64,
        /// Why the ratio has no interval, in one sentence.
        why: String,
    },
    /// The pair has no ratio, for the reason in `why`.
    NotComparable {
        /// Why the pair cannot be compared.
        why: String,
    },
}

impl Outcome {
    fn incomparable(why: impl Into<String>) -> Outcome {
        Outcome::NotComparable { why: why.into() }
    }

    /// Returns the ratio's interval, if there is a verdict.
    fn interval(&self) -> Option<Ratio> {
        match self {
            Outcome::Compared { ratio, .. } => Some(*ratio),
            Outcome::NotJudged { .. } | Outcome::NotComparable { .. } => None,
        }
    }

    /// Whether the verdict is slower, with a ratio above 1 + `share`.
    fn is_slower_by_more_than(&self, share: f64) -> bool {
        matches!(self, Outcome::Compared { ratio, verdict: Change::Slower } if ratio.ratio > 1.0 + share)
    }
}

/// A cost that is compared between the base and the new side. A pair of measurements has the
/// conditions of a case; a pair of simulations has designs, `kind` and `name` instead; a pair of
/// observations has `kind` and `name`.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Pair {
    /// The case, design or tasks that the number belongs to.
    #[serde(flatten)]
    pub subject: Subject,
    /// Conditions of the new records' case, if they may and do differ from the base's.
    #[serde(
        serialize_with = "crate::measurement::serialised::conditions_if_any",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<crate::measurement::serialised::Conditions<'static>>")]
    pub new_case: Option<Case>,
    /// The quantity that is compared.
    #[serde(flatten, serialize_with = "quantity::with_unit")]
    #[schemars(with = "quantity::WithUnit")]
    pub quantity: Quantity,
    /// Whether a number of the pair is suspect in its own record, or was measured while other tasks
    /// ran.
    pub is_suspect: bool,
    /// Records in which the number is suspect.
    pub suspect_records: Vec<String>,
    /// Number of the base; `None` if there is none.
    pub base: Option<Cost>,
    /// Number of the new records; `None` if there is none.
    pub new: Option<Cost>,
    /// Result of the comparison.
    #[serde(flatten)]
    pub outcome: Outcome,
}

impl Pair {
    /// Returns the smallest change in the ratio's interval, as a logarithm: 0 if the interval
    /// covers 1.
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

    /// Returns the ratio of new to base, with or without a verdict.
    pub fn ratio(&self) -> Option<f64> {
        match &self.outcome {
            Outcome::Compared { ratio, .. } => Some(ratio.ratio),
            Outcome::NotJudged { ratio, .. } => Some(*ratio),
            Outcome::NotComparable { .. } => None,
        }
    }

    /// Returns the case, if the pair is from a measurement.
    pub fn case(&self) -> Option<&Case> {
        match &self.subject {
            Subject::Case(case) => Some(case),
            Subject::Simulated(_) | Subject::Observed(_) | Subject::Injected { .. } => None,
        }
    }

    /// Whether the pair is about a kernel function, whose verdicts are separate from those of
    /// costs.
    pub fn is_of_a_function(&self) -> bool {
        self.subject.is_of_a_function()
    }

    /// Whether the pair needs a verdict and has none. A number that has fallen to 0 needs none, because it has not grown.
    pub fn is_open(&self) -> bool {
        let is_gone = matches!(self.subject, Subject::Observed(_))
            && self.new.is_some_and(|new| new.value == 0.0);
        self.is_main()
            && !is_gone
            && !self.quantity.is_cycles_in_all()
            && self.outcome.interval().is_none()
    }

    /// Whether the pair is a main number of the comparison: about a whole design (simulation), or
    /// about all tasks (observation).
    pub fn is_main(&self) -> bool {
        self.subject.is_main()
    }
}

/// Data from which a comparison's intervals are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// Runs of a measurement.
    Runs,
    /// Batches of switches of one trace, which was simulated on both sides.
    SameTrace,
    /// Pairs of simulations: several traces, each simulated on both sides.
    SameTraces,
    /// Each side has several traces, which are not the same on both sides.
    OtherTraces,
    /// Intervals come from batches of one trace's switches: one side has a single trace, and the other
    /// side has different traces.
    SingleTrace,
    /// Observations of live tasks.
    Observations,
    /// Preemptions of a program by `inject`.
    Injections,
}

/// Way in which switches are priced in a comparison of observations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pricing {
    /// All records are of one machine, and the newest calibration prices them all.
    OneCalibration,
    /// The records are of several machines, and each record's own calibration prices it.
    OwnCalibrations,
    /// No record has a calibration, so nothing is priced.
    Nothing,
}

/// Result of a comparison.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Comparison {
    /// Basis of the intervals.
    pub basis: Basis,
    /// Files of the base records.
    pub base_records: Vec<String>,
    /// Files of the new records.
    pub new_records: Vec<String>,
    /// Confidence of all verdicts together.
    pub confidence: f64,
    /// Number of pairs with a verdict: each interval is widened for this number.
    pub compared: usize,
    /// Assumed spread between runs, as a share; `None` if the spread is known.
    pub assumed_run_spread: Option<f64>,
    /// Spread between runs of a measurement beyond their own intervals, in cases on one CPU, if there are any.
    pub run_spread: Option<RunSpread>,
    /// Spread between runs of hand-offs across CPUs; `None` if no such case is compared.
    pub run_spread_across_cpus: Option<RunSpread>,
    /// Core cycles per second to which measured costs are scaled, so that runs at different core
    /// clocks can be compared; `None` if costs are compared as measured.
    pub hertz: Option<f64>,
    /// Price of switches, in a comparison of observations.
    pub pricing: Option<Pricing>,
    /// Limit on growth, as a share (0.05 is 5 %).
    pub fail_above: Option<f64>,
    /// Number of pairs that are slower by more than the limit.
    pub slower_than_allowed: Option<usize>,
    /// Environment facts that differ between the sides, which usually explain a difference in cost.
    pub environment: Vec<Difference>,
    /// Fields in which the compared designs of simulations differ.
    pub designs: Vec<Difference>,
    /// Smallest growth, as a share, that would have been shown in every compared number.
    pub could_have_shown: Option<f64>,
    /// Measured cases whose number of switches per hand-off changed.
    pub switches: Vec<ChangedSwitches>,
    /// System calls of measured hand-offs without a working set, and the hand-offs including these
    /// calls. Both arms make the calls, so no cost includes them. Their verdicts together use a
    /// tenth of the error that is allowed for the costs.
    pub calls: Vec<Pair>,
    /// One pair for each case of either side, in the order of the base and then of the new records; for simulations, one for each
    /// number of a pair of designs.
    pub pairs: Vec<Pair>,
    /// Curves of excess cycles after the switch, one for each pair of simulated designs.
    #[serde(skip)]
    pub curves: Vec<Curve>,
}

/// Smallest growths that a comparison can show, as shares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShownGrowths {
    /// Growth that can be shown in the most precise of the compared numbers.
    pub least: f64,
    /// Growth that can be shown in the least precise of the compared numbers; infinite if none can.
    pub most: f64,
    /// Number of costs that are compared.
    pub numbers: usize,
    /// Number of compared costs in which growth by the limit cannot be shown.
    pub beyond_limit: usize,
}

impl Comparison {
    /// Creates a comparison of `pairs`, of which `compared` have a verdict, without the parts that
    /// only some kinds of records have.
    pub fn new(
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

    /// Returns the growths that a gate with this limit could have shown; `None` if nothing was
    /// compared.
    pub fn shown_growths(&self, limit: f64) -> Option<ShownGrowths> {
        // The smallest growth that would be shown in each cost, as a share.
        let growths: Vec<f64> = self
            .costs()
            .filter_map(|pair| pair.outcome.interval())
            .map(|ratio| ratio.ratio / ratio.low - 1.0)
            .collect();
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

    /// Whether the comparison has a limit on growth but could not have detected such a growth: in
    /// no compared number is a growth by the limit either shown or excluded.
    pub fn is_blind_to_limit(&self) -> bool {
        let Some(limit) = self.fail_above.filter(|limit| *limit > 0.0) else {
            return false;
        };
        let mut intervals = self.pairs.iter().filter_map(|pair| pair.outcome.interval());
        let shown = self.shown_growths(limit);
        shown.is_some_and(|shown| shown.beyond_limit == shown.numbers)
            && !intervals.any(|ratio| ratio.high <= 1.0 + limit)
    }

    /// Returns the condition in which a base-only case differs from a new-only case, if it is the
    /// only one.
    pub fn joining_condition(&self) -> Option<Condition> {
        let alone = |has: fn(&Pair) -> bool| {
            let pairs = self.pairs.iter().filter(move |pair| has(pair));
            pairs.filter_map(Pair::case).collect::<Vec<&Case>>()
        };
        let base = alone(|pair| pair.base.is_some() && pair.new.is_none());
        let new = alone(|pair| pair.base.is_none() && pair.new.is_some());
        across::joining_condition(&base, &new)
    }

    /// Returns the pairs with the verdict slower and a ratio above 1 + `share`.
    pub fn slower_by_more_than(&self, share: f64) -> impl Iterator<Item = &Pair> {
        self.costs()
            .filter(move |pair| pair.outcome.is_slower_by_more_than(share))
    }

    fn costs(&self) -> impl Iterator<Item = &Pair> {
        self.pairs.iter().filter(|pair| !pair.is_of_a_function())
    }
}

/// Compares new records of a measurement with base records. `earlier` are further records of the
/// machine, possibly none; they show how much its runs differ if neither side repeats its run.
pub fn compare(
    base: &[Analysed<'_>],
    new: &[Analysed<'_>],
    earlier: &[Analysed<'_>],
    request: Request<'_>,
) -> Comparison {
    let hertz = common_hertz(base.iter().chain(new).map(|(_, findings)| *findings));
    compare_at(hertz, base, new, earlier, request)
}

/// Compares the records with costs scaled to this core clock, in cycles per second; `None` compares
/// costs as measured.
fn compare_at(
    hertz: Option<f64>,
    base: &[Analysed<'_>],
    new: &[Analysed<'_>],
    earlier: &[Analysed<'_>],
    request: Request<'_>,
) -> Comparison {
    let cases = across::join(pairs::matched([base, new], earlier, hertz), request.across);
    let costs: Vec<Number<'_, '_>> = cases.iter().map(|case| (case, case.quantity())).collect();
    let (judged, spreads) = judge_numbers(&costs, request);
    let ((calls, _), _) = judge_numbers(&calls::numbers(&cases), calls::request(request));
    Comparison {
        environment: environment::differences([base, new]),
        switches: cases
            .iter()
            .filter_map(pairs::Matched::changed_switches)
            .collect(),
        calls,
        hertz,
        run_spread_across_cpus: spreads.across_cpus,
        ..Comparison::new(
            Basis::Runs,
            judged,
            spreads.on_one_cpu.or(spreads.across_cpus),
            request,
        )
    }
}

/// A matched case with one of its quantities.
type Number<'a, 'b> = (&'b pairs::Matched<'a>, Quantity);

/// Spread between runs, separately for cases on one CPU and for hand-offs across CPUs, because they
/// are unrelated. `None` if there are no cases of that kind.
#[derive(Clone, Copy, Debug)]
struct RunSpreads {
    on_one_cpu: Option<RunSpread>,
    across_cpus: Option<RunSpread>,
}

impl RunSpreads {
    fn new(numbers: &[Number<'_, '_>], request: Request<'_>) -> RunSpreads {
        let (across, others): (Vec<_>, Vec<_>) = numbers.iter().copied().partition(is_across_cpus);
        let spread = |numbers: &[Number<'_, '_>], assumed| run_spread(numbers, assumed, request);
        // Without any numbers, the assumed spread is that of cases on one CPU.
        let is_any = !others.is_empty() || across.is_empty();
        RunSpreads {
            on_one_cpu: is_any.then(|| spread(&others, ASSUMED_RUN_SPREAD)),
            across_cpus: (!across.is_empty()).then(|| spread(&across, ASSUMED_ACROSS_CPUS)),
        }
    }

    fn number_spread(&self, number: &Number<'_, '_>) -> RunSpread {
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

/// Estimates the spread between runs from numbers of one kind.
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

/// Judges numbers together; returns their pairs with verdicts, and the spread between runs.
fn judge_numbers(
    numbers: &[Number<'_, '_>],
    request: Request<'_>,
) -> ((Vec<Pair>, usize), RunSpreads) {
    let spreads = RunSpreads::new(numbers, request);
    let candidate = |number: &Number<'_, '_>| {
        number
            .0
            .candidate(number.1, request.confidence, spreads.number_spread(number))
    };
    (
        candidate::judge(numbers.iter().map(candidate).collect(), request),
        spreads,
    )
}

/// Returns the geometric mean of the core's clocks; `None` if one of them is unknown.
fn common_hertz<'a>(findings: impl Iterator<Item = &'a Findings>) -> Option<f64> {
    let logs: Option<Vec<f64>> = findings
        .map(|found| Some(found.core?.hertz?.ln()))
        .collect();
    let logs = logs.filter(|logs| !logs.is_empty())?;
    Some((logs.iter().sum::<f64>() / logs.len() as f64).exp())
}

#[cfg(test)]
mod tests;
