//! Compares two records, or two sets of repeated records: which costs have fallen or risen, and
//! what else differs. Both sides are measurements, or both are simulations, observations or
//! injections.
//!
//! The confidence C holds for all verdicts on costs together (Bonferroni). With *m* compared costs
//! of one kind, each interval has the confidence 1 - (1 - C) / m. A ratio shows a difference if its
//! interval does not contain 1.

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
use serde::Serialize;
use switchcost_record::{Case, MeasureRecord};

use crate::measurement::findings::Findings;
pub use crate::measurement::run_spread::{ASSUMED_ACROSS_CPUS, ASSUMED_RUN_SPREAD};
use crate::statistics::{Ends, ends};

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

/// A measurement record with the findings of its analysis.
pub type Analysed<'a> = (&'a MeasureRecord, &'a Findings);

/// Names of the records to compare, and the rules for verdicts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Request<'a> {
    /// Names of the base records, with which the new records are compared.
    pub base: &'a [String],
    /// Names of the new records, which are compared with the base records.
    pub new: &'a [String],
    /// Confidence of all verdicts together, from 0 to 1, such as 0.9.
    pub confidence: f64,
    /// Standard deviation of a measured cost between runs, as a share, beyond what the runs' own
    /// intervals explain; `None` to estimate it from the records.
    pub run_spread: Option<f64>,
    /// Share by which a cost may rise; `None` for no limit.
    pub fail_above: Option<f64>,
    /// Conditions that may differ between the two cases of a pair.
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

/// Spread of costs between runs, beyond what the intervals of single runs explain.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct RunSpread {
    /// Standard deviation of a cost between runs, as a share of the cost: 0.02 is 2 %.
    pub share: f64,
    /// Source of this spread between runs.
    pub origin: Origin,
}

/// Source of the spread between runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// The spread was estimated from the compared records, of which at least one side has several.
    Records,
    /// The spread was estimated from earlier records of the same machine.
    EarlierRecords,
    /// The spread was given by the user (`--run-spread`).
    Given,
    /// The spread is unknown, and a constant was assumed.
    Assumed,
}

/// A fact about the environment that differs between base and new records.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Difference {
    /// Name of the fact, such as `kernel`, `governor` or `mitigation of spectre_v2`.
    pub what: String,
    /// Values in the base records. There are several if these records differ among themselves.
    pub base: Vec<String>,
    /// Values in the new records. There are several if these records differ among themselves.
    pub new: Vec<String>,
    /// Whether the fact cannot affect the compared costs, as the nice value under a real-time
    /// policy.
    pub is_without_effect: bool,
}

/// Cost on the base or the new side of a pair.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
#[schemars(rename = "Side")]
pub struct Cost {
    /// Cost in the unit of the pair's quantity; for several records the geometric mean.
    pub value: f64,
    /// Confidence interval of this side's cost, for display only. The verdict comes from the
    /// interval of the ratio.
    #[serde(flatten, serialize_with = "ends")]
    #[schemars(with = "Ends")]
    pub interval: Option<(f64, f64)>,
    /// Number of records from which the cost was computed.
    pub records: usize,
}

impl Cost {
    /// Returns the arithmetic mean of the values as a cost without an interval; `None` if there are
    /// no values.
    fn plain_mean(values: &[f64]) -> Option<Cost> {
        (!values.is_empty()).then(|| Cost {
            value: values.iter().sum::<f64>() / values.len() as f64,
            interval: None,
            records: values.len(),
        })
    }
}

/// Ratio of the new cost to the base cost, with its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Ratio {
    /// Estimate of the ratio: 1.1 means that the new cost is 10 % higher.
    pub ratio: f64,
    /// Lower end of the confidence interval.
    pub low: f64,
    /// Upper end of the confidence interval.
    pub high: f64,
}

/// Verdict on the ratio of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// The cost has fallen: the ratio's interval is below 1.
    Faster,
    /// The cost has risen: the ratio's interval is above 1.
    Slower,
    /// The ratio's interval contains 1. A difference may exist, but is not shown.
    NoDifferenceShown,
}

/// Result of the comparison of a pair.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case", tag = "outcome")]
pub enum Outcome {
    /// The pair has a ratio with an interval and a verdict.
    Compared {
        /// Ratio of the new cost to the base cost, with its interval.
        #[serde(flatten)]
        ratio: Ratio,
        /// Verdict from the ratio's interval.
        verdict: Change,
    },
    /// The pair has a ratio, but no interval and so no verdict.
    NotJudged {
        /// Ratio of the new cost to the base cost.
        ratio: f64,
        /// Reason why the ratio has no interval, as one sentence.
        why: String,
    },
    /// The pair has no ratio, because a cost is unknown or not above 0.
    NotComparable {
        /// Reason why the pair has no ratio.
        why: String,
    },
}

impl Outcome {
    fn incomparable(why: impl Into<String>) -> Outcome {
        Outcome::NotComparable { why: why.into() }
    }

    /// Returns the ratio with its interval; `None` without a verdict.
    fn interval(&self) -> Option<Ratio> {
        match self {
            Outcome::Compared { ratio, .. } => Some(*ratio),
            Outcome::NotJudged { .. } | Outcome::NotComparable { .. } => None,
        }
    }

    /// Whether the verdict is that the cost has risen, and the ratio is above 1 + `share`.
    fn is_slower_by_more_than(&self, share: f64) -> bool {
        matches!(self, Outcome::Compared { ratio, verdict: Change::Slower } if ratio.ratio > 1.0 + share)
    }
}

/// A quantity of one subject on the base and the new side, with the result of the comparison. In
/// JSON, a pair of measurements has the conditions of a case. A pair of simulations has designs,
/// `kind` and `name` instead. A pair of observations has `kind` and `name`.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Pair {
    /// Subject of the comparison: a case, a part of a simulation, observed tasks, or a preempted
    /// program.
    #[serde(flatten)]
    pub subject: Subject,
    /// Conditions of the case in the new records, if they differ from those in the base records.
    #[serde(
        serialize_with = "crate::measurement::serialised::conditions_if_any",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<crate::measurement::serialised::Conditions<'static>>")]
    pub new_case: Option<Case>,
    /// Quantity that is compared.
    #[serde(flatten, serialize_with = "quantity::with_unit")]
    #[schemars(with = "quantity::WithUnit")]
    pub quantity: Quantity,
    /// Whether the cost in any record is suspect, or was measured while other tasks ran.
    pub is_suspect: bool,
    /// Names of the records in which the cost is suspect.
    pub suspect_records: Vec<String>,
    /// Cost in the base records; `None` if unknown.
    pub base: Option<Cost>,
    /// Cost in the new records; `None` if unknown.
    pub new: Option<Cost>,
    /// Result of the comparison: a ratio with or without a verdict, or a reason.
    #[serde(flatten)]
    pub outcome: Outcome,
}

impl Pair {
    /// Returns the distance of the ratio's interval from 1, as a difference of logarithms; 0 if the
    /// interval contains 1, or without a verdict.
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

    /// Returns the ratio of the new cost to the base cost; `None` if the pair has none.
    pub fn ratio(&self) -> Option<f64> {
        match &self.outcome {
            Outcome::Compared { ratio, .. } => Some(ratio.ratio),
            Outcome::NotJudged { ratio, .. } => Some(*ratio),
            Outcome::NotComparable { .. } => None,
        }
    }

    /// Returns the case of a pair of measurements; `None` for other pairs.
    pub fn case(&self) -> Option<&Case> {
        match &self.subject {
            Subject::Case(case) => Some(case),
            Subject::Simulated(_) | Subject::Observed(_) | Subject::Injected { .. } => None,
        }
    }

    /// Whether the subject is a kernel function. The verdicts on functions are separate from those
    /// on costs.
    pub fn is_of_a_function(&self) -> bool {
        self.subject.is_of_a_function()
    }

    /// Whether the pair is a main one that needs a verdict and has none. No verdict is needed for
    /// the cycles and the time of a whole trace. Nor is it needed for a cost of observed tasks that
    /// has fallen to 0, or has no value on either side.
    pub fn is_open(&self) -> bool {
        let is_gone = matches!(self.subject, Subject::Observed(_))
            && match (self.base, self.new) {
                (_, Some(new)) => new.value == 0.0,
                (base, None) => base.is_none(),
            };
        self.is_main()
            && !is_gone
            && !self.quantity.is_cycles_in_all()
            && self.outcome.interval().is_none()
    }

    /// Whether the pair is a main one: its subject is a case, a whole design, all observed tasks,
    /// or a preempted program.
    pub fn is_main(&self) -> bool {
        self.subject.is_main()
    }
}

/// Kind of data from which the intervals of a comparison are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// Costs of repeated runs of a measurement.
    Runs,
    /// Batches of switches of one trace that was simulated on both sides.
    SameTrace,
    /// Several traces, each of which was simulated on both sides.
    SameTraces,
    /// Several traces on each side, which are not the same on both sides.
    OtherTraces,
    /// Batches of switches of one trace, because one side has a single trace and the other side has
    /// different traces.
    SingleTrace,
    /// Observations of running tasks.
    Observations,
    /// Runs of `inject`, which preempts a program.
    Injections,
}

/// Which calibration gives the cost of a switch in a comparison of observations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pricing {
    /// The newest calibration is used for all records, because all are of one machine.
    OneCalibration,
    /// Each record's own calibration is used, because the records are of several machines.
    OwnCalibrations,
    /// No record has a calibration, so the cost of a switch is unknown.
    Nothing,
}

/// Result of a comparison of base and new records.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Comparison {
    /// Kind of data from which the intervals are computed.
    pub basis: Basis,
    /// Paths of the base records, with which the new records were compared.
    pub base_records: Vec<String>,
    /// Paths of the new records, which were compared with the base records.
    pub new_records: Vec<String>,
    /// Confidence of all verdicts together, from 0 to 1.
    pub confidence: f64,
    /// Number of pairs with a verdict. The intervals are widened for this number (Bonferroni).
    pub compared: usize,
    /// Assumed spread between runs, as a share; `None` if the spread was not assumed.
    pub assumed_run_spread: Option<f64>,
    /// Spread between runs that widens the intervals, beyond the runs' own intervals. For
    /// measurements: the spread in cases on one CPU, or across CPUs if there are no others. `None`
    /// for simulations, and if the spread of each number was estimated separately.
    pub run_spread: Option<RunSpread>,
    /// Spread between runs of hand-offs across CPUs; `None` without such cases.
    pub run_spread_across_cpus: Option<RunSpread>,
    /// Core clock in hertz to which measured costs are scaled, so that runs at different clocks can
    /// be compared; `None` if costs are not scaled.
    pub hertz: Option<f64>,
    /// Which calibration gives the cost of a switch; `None` unless observations are compared.
    pub pricing: Option<Pricing>,
    /// Largest allowed growth of a cost, as a share (0.05 is 5 %); `None` for no limit.
    pub fail_above: Option<f64>,
    /// Number of costs that have risen by more than the limit; `None` without a limit.
    pub slower_than_allowed: Option<usize>,
    /// Facts about the environment that differ between base and new records. Such a difference
    /// often explains a difference in costs.
    pub environment: Vec<Difference>,
    /// Fields in which the compared cache models of simulations differ.
    pub designs: Vec<Difference>,
    /// Smallest growth, as a share, that would have been shown in every cost with an interval;
    /// `None` if no cost has an interval.
    pub could_have_shown: Option<f64>,
    /// Measured cases whose number of switches per hand-off differs between the sides.
    pub switches: Vec<ChangedSwitches>,
    /// Times of the system calls of hand-offs without working set, and of hand-offs including these
    /// calls. A cost does not include the calls, because both arms make them. The verdicts on these
    /// pairs together use an additional tenth of the error that is allowed for the costs.
    pub calls: Vec<Pair>,
    /// One pair per case of either side, first the cases of the base records. For simulations, one
    /// pair per number of two designs.
    pub pairs: Vec<Pair>,
    /// Excess cycles against time since the switch, one curve per pair of simulated designs.
    #[serde(skip)]
    pub curves: Vec<Curve>,
}

/// Smallest growths of costs that a comparison would have shown, as shares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShownGrowths {
    /// Smallest growth that this comparison would have shown in its most precise cost.
    pub least: f64,
    /// Smallest growth that this comparison would have shown in its least precise cost.
    pub most: f64,
    /// Number of costs with an interval.
    pub numbers: usize,
    /// Number of costs in which a growth by the limit would not have been shown.
    pub beyond_limit: usize,
}

impl Comparison {
    /// Returns a comparison of `pairs`, of which `compared` have a verdict. Fields that only some
    /// kinds of records have are empty.
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

    /// Returns the smallest growths that would have been shown, given the limit on growth; `None`
    /// if no cost has an interval.
    pub fn shown_growths(&self, limit: f64) -> Option<ShownGrowths> {
        // For each cost, the smallest growth that would have been shown, as a share.
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

    /// Whether the limit on growth is too small for this comparison: no cost is known precisely
    /// enough to show or to exclude a growth by the limit.
    pub fn is_blind_to_limit(&self) -> bool {
        let Some(limit) = self.fail_above.filter(|limit| *limit > 0.0) else {
            return false;
        };
        let mut intervals = self.pairs.iter().filter_map(|pair| pair.outcome.interval());
        let shown = self.shown_growths(limit);
        shown.is_some_and(|shown| shown.beyond_limit == shown.numbers)
            && !intervals.any(|ratio| ratio.high <= 1.0 + limit)
    }

    /// Returns a condition in which alone a case that only the base records have differs from a
    /// case that only the new records have; `None` if there is none.
    pub fn joining_condition(&self) -> Option<Condition> {
        let alone = |has: fn(&Pair) -> bool| {
            let pairs = self.pairs.iter().filter(move |pair| has(pair));
            pairs.filter_map(Pair::case).collect::<Vec<&Case>>()
        };
        let base = alone(|pair| pair.base.is_some() && pair.new.is_none());
        let new = alone(|pair| pair.base.is_none() && pair.new.is_some());
        across::joining_condition(&base, &new)
    }

    /// Returns the pairs whose verdict is that the cost has risen, with a ratio above 1 + `share`.
    pub fn slower_by_more_than(&self, share: f64) -> impl Iterator<Item = &Pair> {
        self.costs()
            .filter(move |pair| pair.outcome.is_slower_by_more_than(share))
    }

    fn costs(&self) -> impl Iterator<Item = &Pair> {
        self.pairs.iter().filter(|pair| !pair.is_of_a_function())
    }
}

/// Compares new measurement records with base records. `earlier` has further records of the same
/// machine, possibly none. The earlier records show the spread between runs if neither side has
/// repeated runs.
pub fn compare(
    base: &[Analysed<'_>],
    new: &[Analysed<'_>],
    earlier: &[Analysed<'_>],
    request: Request<'_>,
) -> Comparison {
    let hertz = common_hertz(base.iter().chain(new).map(|(_, findings)| *findings));
    compare_at(hertz, base, new, earlier, request)
}

/// Compares measurement records, with costs scaled to the core clock `hertz`, or unscaled if
/// `None`.
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

/// A matched case, and one of its quantities.
type Number<'a, 'b> = (&'b pairs::Matched<'a>, Quantity);

/// Spread between runs, estimated separately for cases on one CPU and for hand-offs across CPUs. A
/// spread is `None` if there are no cases of its kind; without any cases, `on_one_cpu` is set.
#[derive(Clone, Copy, Debug)]
struct RunSpreads {
    on_one_cpu: Option<RunSpread>,
    across_cpus: Option<RunSpread>,
}

impl RunSpreads {
    fn new(numbers: &[Number<'_, '_>], request: Request<'_>) -> RunSpreads {
        let (across, others): (Vec<_>, Vec<_>) = numbers.iter().copied().partition(is_across_cpus);
        let spread = |numbers: &[Number<'_, '_>], assumed| run_spread(numbers, assumed, request);
        // Without any numbers, the result has the assumed spread of cases on one CPU.
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

/// Returns the spread between runs for numbers of one kind: as given by the user, else estimated
/// from the compared records, else from earlier records, else `assumed`.
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

/// Computes the verdicts on numbers of matched cases. Returns the pairs with verdicts, the number
/// of verdicts, and the spread between runs.
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

/// Returns the geometric mean of the records' core clocks in hertz; `None` if one is unknown.
fn common_hertz<'a>(findings: impl Iterator<Item = &'a Findings>) -> Option<f64> {
    let logs: Option<Vec<f64>> = findings
        .map(|found| Some(found.core?.hertz?.ln()))
        .collect();
    let logs = logs.filter(|logs| !logs.is_empty())?;
    Some((logs.iter().sum::<f64>() / logs.len() as f64).exp())
}

#[cfg(test)]
mod tests;
