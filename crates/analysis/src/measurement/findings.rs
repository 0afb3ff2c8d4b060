use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use strum::{Display, IntoStaticStr};
use switchcost_record::{Band, Case, CostName, Plan};
use switchcost_workload::WorkingSet;

use crate::measurement::deciding::{deciding, prices_switches};
use crate::measurement::serialised::{Conditions, conditions};
use crate::statistics::Estimate;

/// Distribution of single hand-off times, in nanoseconds, including system calls and clock reading.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Tail {
    /// Median of single hand-off times, in nanoseconds.
    pub p50: f64,
    /// 99th percentile of single hand-off times, in nanoseconds.
    pub p99: f64,
    /// Longest single hand-off, in nanoseconds.
    pub max: f64,
    /// Number of hand-offs timed.
    pub n: usize,
}

/// Verdict on a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The numbers are valid.
    Measured,
    /// The numbers are suspect, for the reasons in the case's flags.
    Suspect,
    /// The case has no number, for the reason in `why`.
    NotMeasured {
        /// Why there is no number, and what to do, in one sentence.
        why: String,
    },
}

impl Verdict {
    /// Returns the name of the verdict in every format for programs.
    pub fn name(&self) -> &'static str {
        match self {
            Verdict::Measured => "measured",
            Verdict::Suspect => "suspect",
            Verdict::NotMeasured { .. } => "not-measured",
        }
    }

    /// Returns why there is no number; `None` if there is one.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Verdict::NotMeasured { why } => Some(why),
            Verdict::Measured | Verdict::Suspect => None,
        }
    }
}

/// Stable names of notes (flags) on a number.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Display, IntoStaticStr, Serialize,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum FlagName {
    /// The indirect cost exceeds that of reloading everything.
    AboveReloadBound,
    /// The system calls are part of the direct cost.
    BaselineWithoutSystemCalls,
    /// Time slices of other tasks interrupted the hand-offs.
    BesideOthers,
    /// The rate of the clock differs from its calibration.
    ClockDrift,
    /// The simulation covers many designs in one pass, so the record has only sums.
    CountersOnly,
    /// Segments continue after the last recorded interval.
    CutEarly,
    /// The record ends inside a line.
    CutLine,
    /// The record has no end.
    CutOff,
    /// The record's intervals are out of order.
    Disorder,
    /// Too many samples were left out.
    Disturbed,
    /// The costs are those of hand-offs across CPUs, not of switches.
    HandoffAcrossCpus,
    /// The plain mean is far from the cost.
    HeavyTail,
    /// The simulation covers only a part of the trace.
    Incomplete,
    /// A signal ended the run early.
    Interrupted,
    /// Many switches were involuntary.
    InvoluntarySwitches,
    /// The record has too many intervals, so some were added up.
    ManyIntervals,
    /// A confidence interval lies below 0, which is impossible for a cost.
    Negative,
    /// The confidence interval covers 0.
    #[serde(rename = "not-distinguishable-from-0")]
    #[strum(serialize = "not-distinguishable-from-0")]
    NotDistinguishableFrom0,
    /// The last walk after a switch still reloads lines.
    NotSettled,
    /// The confidence interval lies outside the published range.
    OutsideSanityBand,
    /// Some instructions belong to no segment.
    OutsideSegments,
    /// Only a part of a trace was simulated.
    Part,
    /// A partition names no process of the trace.
    PartitionWithoutProcess,
    /// Some samples were left out.
    PartlyDisturbed,
    /// The run was stopped, frozen or suspended for a time.
    Paused,
    /// Each task has a private hierarchy.
    PrivateByTask,
    /// Some repetitions could not be run.
    RefusedRepetitions,
    /// Few cycles ran on an unshared core.
    SharedCore,
    /// The source of the trace omitted something.
    Source,
    /// The kernel did not count the planned number of switches.
    SwitchCount,
    /// The case has too few repetitions for an interval.
    TooFewRepetitions,
    /// The hypervisor says which CPUs share a cache.
    TopologyOfAGuest,
    /// Caches were emptied, or the task slept, before each batch.
    UnusualRounds,
    /// The confidence interval is wider than requested.
    WideInterval,
}

/// A note on a number.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize)]
pub struct Flag {
    /// Stable name in kebab-case: `disturbed`, `switch-count`, `wide-interval`, ...
    #[schemars(with = "&'static str")]
    pub name: FlagName,
    /// Observed fact with its meaning, in one sentence.
    pub detail: String,
}

/// Samples left out of the estimates, by reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Excluded {
    /// Windows of cycles left out of the estimates.
    #[serde(rename = "excluded_samples")]
    pub total: usize,
    /// Number of all windows of cycles, left out or not.
    #[serde(rename = "total_samples")]
    pub of: usize,
    /// Windows left out, by [reason](../method/contamination.md); a window with two reasons counts
    /// under each.
    #[serde(rename = "excluded_by_reason")]
    pub by_reason: BTreeMap<&'static str, usize>,
}

/// Events of one counter per hand-off, in the switching and the baseline arm.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct CounterFinding {
    /// Name of the counter.
    pub name: String,
    /// Events per hand-off in the baseline arm with the working set (or without, if there is none).
    pub baseline: f64,
    /// Events per hand-off in the switching arm.
    pub switching: f64,
    /// Number of batches over which the two means are taken.
    pub n: usize,
    /// Standard error of the difference of the arms, over batches; `None` if an arm has fewer than two.
    pub difference_error: Option<f64>,
}

#[derive(JsonSchema, Serialize)]
struct Status<'a> {
    /// Status of the case: `measured`; `suspect` (the flags say why); or `not-measured` (no
    /// number).
    status: &'static str,
    /// Why there is no number, and what to do, if `not-measured`.
    why: Option<&'a str>,
}

/// Serialises a verdict as two fields that are always present.
fn status<S: Serializer>(verdict: &Verdict, serializer: S) -> Result<S::Ok, S::Error> {
    Status {
        status: verdict.name(),
        why: verdict.reason(),
    }
    .serialize(serializer)
}

#[derive(JsonSchema, Serialize)]
struct FlagsByName {
    /// Names of the flags.
    flags: Vec<&'static str>,
    /// Sentence for each flag, with the observed fact and its meaning.
    flag_details: BTreeMap<&'static str, String>,
}

/// Joins the sentences of flags that have the same name.
fn flags_by_name<S: Serializer>(flags: &[Flag], serializer: S) -> Result<S::Ok, S::Error> {
    let mut flag_details: BTreeMap<&str, String> = BTreeMap::new();
    for flag in flags {
        let detail = flag_details.entry(flag.name.into()).or_default();
        if !detail.is_empty() {
            detail.push(' ');
        }
        detail.push_str(&flag.detail);
    }
    FlagsByName {
        flags: flags.iter().map(|flag| flag.name.into()).collect(),
        flag_details,
    }
    .serialize(serializer)
}

/// Findings of one case.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
#[schemars(rename = "Result")]
pub struct CaseFinding {
    /// Conditions of the case.
    #[serde(flatten, serialize_with = "conditions")]
    #[schemars(with = "Conditions<'static>")]
    pub case: Case,
    /// Verdict on the case.
    #[serde(flatten, serialize_with = "status")]
    #[schemars(with = "Status<'static>")]
    pub verdict: Verdict,
    /// Direct cost of one switch; `None` across CPUs and unpinned, where a switch cannot be priced by itself.
    pub direct_ns: Option<Estimate>,
    /// Cost of one switch with the working set (across CPUs: of one hand-off); `None` without a working set.
    pub total_ns: Option<Estimate>,
    /// Total minus direct cost, estimated on the difference within each repetition.
    pub indirect_ns: Option<Estimate>,
    /// Part of `indirect_ns` by which the hand-off itself is slower, because the walks evicted the kernel's lines.
    pub indirect_kernel_ns: Option<Estimate>,
    /// Part of `indirect_ns` by which the walk is slower: the reload of the task's own lines.
    pub indirect_reload_ns: Option<Estimate>,
    /// `direct_ns` in [core cycles](../method/core-clock.md); `None` if the cycles of a multiplication are not known for this core.
    pub direct_cycles: Option<Estimate>,
    /// [Reload](../method/reload.md), if the case measures it. Then `total_ns` is the cost of one
    /// absence, `handoff_ns` that of the switch, and `indirect_reload_ns` the sum of the walks.
    pub reload: Option<Reload>,
    /// Contribution of differences between runs to the interval of the deciding cost; `None` if there is no number.
    pub between_runs: Option<BetweenRuns>,
    /// Effect of a shared core; `None` for the synthetic switch, and if there is no number.
    pub shared: Option<Shared>,
    /// Statistics of the [rounds](../method/cycles.md) that give the deciding cost; `None` if there is no number.
    pub cycles: Option<CycleFinding>,
    /// Hand-off time beyond the baseline: the direct cost times the switches that a hand-off takes.
    pub handoff_ns: Option<Estimate>,
    /// Time of one round trip through all tasks, including system calls, without a walk: what an
    /// application sees.
    pub round_trip_ns: Option<Estimate>,
    /// Time for a task to hand the token to itself once, without a walk.
    pub baseline_ns: Option<Estimate>,
    /// Time of a walk of the working set without a switch (in a `concurrent` case: alone), the
    /// baseline for the walks of the switching arm; `None` without a working set, and for the
    /// reload.
    pub walk_ns: Option<Estimate>,
    /// Switches per hand-off in the switching arm without a walk, counted by the kernel or by a
    /// user-level mechanism.
    pub switches_per_handoff: Option<f64>,
    /// Share of the kernel's switches that were involuntary; `None` for user-level mechanisms.
    pub involuntary_share: Option<f64>,
    /// The deciding cost of each repetition, from which its interval is computed: the total with a
    /// working set, else the direct cost, else (across CPUs) that of a hand-off.
    pub repetitions_ns: Vec<f64>,
    /// Distribution of single hand-off times, including system calls and clock reading.
    pub tail_ns: Option<Tail>,
    /// Hardware and kernel counters.
    pub counters: Vec<CounterFinding>,
    /// Upper bound on the cost of reloading all lost lines ([how](../method/knees-and-bounds.md)),
    /// from latencies measured in this run.
    pub reload_bound_ns: Option<f64>,
    /// Published range of the cost.
    pub sanity_band_ns: Option<Band>,
    /// Samples left out of the estimates.
    #[serde(flatten)]
    pub excluded: Excluded,
    /// Notes on the numbers.
    #[serde(flatten, serialize_with = "flags_by_name")]
    #[schemars(with = "FlagsByName")]
    pub flags: Vec<Flag>,
}

impl CaseFinding {
    /// Creates a finding without numbers.
    pub fn bare(case: Case) -> CaseFinding {
        CaseFinding {
            case,
            verdict: Verdict::Measured,
            direct_ns: None,
            total_ns: None,
            indirect_ns: None,
            indirect_kernel_ns: None,
            indirect_reload_ns: None,
            reload: None,
            direct_cycles: None,
            between_runs: None,
            shared: None,
            cycles: None,
            handoff_ns: None,
            round_trip_ns: None,
            baseline_ns: None,
            walk_ns: None,
            switches_per_handoff: None,
            involuntary_share: None,
            repetitions_ns: Vec::new(),
            tail_ns: None,
            counters: Vec::new(),
            reload_bound_ns: None,
            sanity_band_ns: None,
            excluded: Excluded::default(),
            flags: Vec::new(),
        }
    }

    /// Returns the deciding cost: the total with a working set; without one the cost of a switch,
    /// or across CPUs of a hand-off.
    pub fn deciding(&self) -> Option<&Estimate> {
        self.cost(deciding(&self.case))
    }

    /// Whether the costs include cycles on a shared core, because there were too few others.
    pub(crate) fn is_of_shared_core(&self) -> bool {
        self.shared
            .as_ref()
            .is_some_and(|shared| !shared.is_left_out)
    }

    /// Returns a cost of the case by its name.
    pub(crate) fn cost(&self, name: CostName) -> Option<&Estimate> {
        match name {
            CostName::Direct => self.direct_ns.as_ref(),
            CostName::Total => self.total_ns.as_ref(),
            CostName::Indirect => self.indirect_ns.as_ref(),
            CostName::IndirectKernel => self.indirect_kernel_ns.as_ref(),
            CostName::IndirectReload => self.indirect_reload_ns.as_ref(),
            CostName::Handoff => self.handoff_ns.as_ref(),
            CostName::RoundTrip => self.round_trip_ns.as_ref(),
            CostName::Baseline => self.baseline_ns.as_ref(),
            CostName::Walk => self.walk_ns.as_ref(),
        }
    }

    /// Returns the cost of a hand-off as lmbench defines it: the cost of a switch times the
    /// switches per hand-off.
    pub fn handoff_cost(&self) -> Option<Estimate> {
        let switches = self
            .switches_per_handoff
            .filter(|_| prices_switches(&self.case) && self.reload.is_none());
        Some(self.deciding()?.scaled(switches.unwrap_or(1.0)))
    }

    /// Returns the larger part of the indirect cost; `None` if the intervals of the parts leave it
    /// open.
    pub fn larger_part(&self) -> Option<Part> {
        let (kernel, reload) = (
            self.indirect_kernel_ns.as_ref()?,
            self.indirect_reload_ns.as_ref()?,
        );
        match (kernel.low > reload.high, reload.low > kernel.high) {
            (true, _) => Some(Part::ColdSwitch),
            (_, true) => Some(Part::Reload),
            _ => None,
        }
    }

    /// Returns the shares of direct, kernel and reload cost in their sum; a part that noise has put
    /// below 0 counts as 0. `None` if the parts are not known, or if the total may be 0, because
    /// the shares would then be noise.
    pub fn shares_of_parts(&self) -> Option<[f64; 3]> {
        self.total_ns.as_ref().filter(|total| total.low > 0.0)?;
        let parts = [
            self.direct_ns.as_ref()?,
            self.indirect_kernel_ns.as_ref()?,
            self.indirect_reload_ns.as_ref()?,
        ];
        let parts = parts.map(|part| part.estimate.max(0.0));
        let sum: f64 = parts.iter().sum();
        (sum > 0.0).then(|| parts.map(|part| part / sum))
    }
}

/// Differences between runs in a case's deciding cost, relative to it.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct BetweenRuns {
    /// Source of the spread.
    pub source: Source,
    /// Number of earlier runs that count for the case; with too few of them the source is not
    /// `earlier-records`.
    pub earlier_runs: u32,
    /// Start of the first of the earlier runs (RFC 3339, UTC).
    pub since: Option<String>,
    /// Start of the last of the earlier runs (RFC 3339, UTC).
    pub until: Option<String>,
    /// Standard deviation between runs, relative to the cost.
    pub share: f64,
    /// Smallest half-width of the interval that even a very long run can reach.
    pub least_half_width: f64,
}

/// Source of the spread between runs of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// Earlier records of this machine, named with `--history`.
    EarlierRecords,
    /// A constant calibrated on other machines.
    Assumed,
}

/// Times of the walks of a working set after a switch.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Reload {
    /// Time of the 1st, 2nd, ... walk minus that of a settled walk, in nanoseconds.
    pub walks_ns: Vec<Estimate>,
    /// Time of a settled walk: the mean of the last three after each switch.
    pub settled_ns: Estimate,
}

/// A point of a curve of cost over size: the cost at one size of the arrays.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct CurvePoint {
    /// Size of one task's array in bytes.
    pub size_bytes: u64,
    /// Index of the case among the findings' results.
    pub result: usize,
    /// Total cost in nanoseconds.
    pub total_ns: f64,
}

/// A size at which the cost curve changes its slope.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Knee {
    /// The measured size before the knee.
    pub after_bytes: u64,
    /// The measured size after the knee.
    pub before_bytes: u64,
    /// Share of bootstrap resamples that put a knee at the same place or one grid step beside it.
    pub confidence: f64,
    /// Cache or TLB of about that size, such as `L2: one array fits, two do not`; `None` if none is near.
    pub cause: Option<String>,
}

/// Range of sizes of a curve between two knees.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Region {
    /// First size of the region.
    pub from_bytes: u64,
    /// Last size of the region.
    pub to_bytes: u64,
    /// Smallest total cost in the region, in nanoseconds.
    pub low_ns: f64,
    /// Largest total cost in the region, in nanoseconds.
    pub high_ns: f64,
    /// Cache that holds the arrays of this region: `L1d`, `L2`, `L3`, or `memory`.
    pub name: String,
}

/// Cost over size under otherwise equal conditions.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Curve {
    /// Conditions that the points have in common: `pipe, process, 2 tasks, stride 8 B, rmw`.
    pub title: String,
    /// Points by ascending size.
    pub points: Vec<CurvePoint>,
    /// Knees between the regions.
    pub knees: Vec<Knee>,
    /// Regions by ascending size.
    pub regions: Vec<Region>,
}

/// Statistics of a case's cycles, in addition to the trimmed means that give its cost.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct CycleFinding {
    /// Number of cycles that enter the cost.
    pub n: usize,
    /// Plain mean of the deciding cost, which includes the tail that the trimmed mean leaves out.
    pub mean_ns: f64,
    /// Correlation of each cycle with the one before, from -1 to 1. If it is far from 0, cycles are
    /// not independent; the independent values are therefore the repetitions. `None` if nothing
    /// varies.
    pub autocorrelation: Option<f64>,
}

/// Share of cycles on a shared core, and the cost on it.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Shared {
    /// Share of the cycles in which the core was shared.
    pub share: f64,
    /// Whether the case's costs are from cycles on an unshared core only, because there were enough
    /// such cycles.
    pub is_left_out: bool,
    /// Deciding cost of the case on a shared core, in nanoseconds at the same clock; `None` if there were too few such cycles.
    pub cost_ns: Option<Estimate>,
}

/// A part of the indirect cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The switch itself, which is slower because the walks evicted its cache lines.
    ColdSwitch,
    /// The task's own data, which must be loaded again.
    Reload,
}

/// The core's clock over a run.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct CoreFinding {
    /// Core cycles per second at which all costs are given: the median over the run, the core's
    /// usual speed. `None` if the cycles of a multiplication are not known for this core.
    pub hertz: Option<f64>,
    /// Core cycles per second at the fastest steady speed seen.
    pub fastest_hertz: Option<f64>,
}

/// Precision that the run was asked to reach.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
#[schemars(rename = "Plan")]
pub struct Wanted {
    /// Wanted relative half-width: 0.01 is 1 %.
    pub precision: f64,
    /// Wanted confidence: 0.9 is 90 %.
    pub confidence: f64,
    /// Name of the preset, a list of cases.
    pub preset: String,
}

impl From<&Plan> for Wanted {
    fn from(plan: &Plan) -> Self {
        let [precision, confidence] = [plan.precision_per_mille, plan.confidence_per_mille]
            .map(|per_mille| f64::from(per_mille) / 1000.0);
        Wanted {
            precision,
            confidence,
            preset: plan.preset.clone(),
        }
    }
}

/// The way of sharing a cache that loses more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LosesMore {
    /// Time-sharing on one CPU.
    InTurn,
    /// Concurrent use from two CPUs.
    AtOnce,
    /// Undecided, because the confidence intervals allow both.
    #[serde(rename = "not-told")]
    Undecided,
}

/// A difference of two costs with its interval.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Difference {
    /// Centre of the difference.
    pub estimate: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

impl Difference {
    /// Returns the difference, with an interval that holds for any values of both within their
    /// intervals.
    pub(crate) fn new(a: &Estimate, b: &Estimate) -> Difference {
        Difference {
            estimate: a.estimate - b.estimate,
            low: a.low - b.high,
            high: a.high - b.low,
        }
    }

    pub(crate) fn verdict(self) -> LosesMore {
        match (self.low > 0.0, self.high < 0.0) {
            (true, _) => LosesMore::InTurn,
            (_, true) => LosesMore::AtOnce,
            _ => LosesMore::Undecided,
        }
    }
}

/// A cache that two tasks share, time-shared and concurrently, at one size; times are in
/// nanoseconds per walk.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct SharedCache {
    /// Memory that each task walks over.
    pub working_set: WorkingSet,
    /// Index of the time-sharing case among the results; `None` if there is none.
    #[serde(skip)]
    pub in_turn: Option<usize>,
    /// Index of the concurrent case among the results.
    #[serde(skip)]
    pub at_once: usize,
    /// Time of a walk of one task alone.
    pub alone_ns: Option<Estimate>,
    /// Additional time of a walk after a switch, with time-sharing.
    pub in_turn_ns: Option<Estimate>,
    /// Additional time of a walk during the other task's walk, with concurrent use.
    pub at_once_ns: Option<Estimate>,
    /// Loss by time-sharing minus loss by concurrent use; `None` if withheld.
    pub in_turn_less_at_once_ns: Option<Difference>,
    /// The way of sharing that loses more.
    pub loses_more: LosesMore,
    /// Why the two ways of sharing are not compared; null if they are.
    pub why: Option<String>,
}

/// Load latency at one size of memory.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
#[schemars(rename = "Latency")]
pub struct LoadLatency {
    /// Size of the memory, in bytes.
    pub size_bytes: u64,
    /// Time of a load, in nanoseconds.
    pub load_ns: f64,
}

/// All findings of a record.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Findings {
    /// Requirements of the run.
    pub plan: Wanted,
    /// One finding for each case of the plan, in order.
    pub results: Vec<CaseFinding>,
    /// One curve for each set of results that differ only in size and have at least four sizes.
    pub curves: Vec<Curve>,
    /// One entry for each size at which two tasks walked [concurrently](../method/shared-cache.md);
    /// empty without `--concurrent`.
    pub shared_cache: Vec<SharedCache>,
    /// Load latency by size, measured in this run.
    pub latencies_ns: Vec<LoadLatency>,
    /// The core's clock; `None` if it was not sampled.
    pub core: Option<CoreFinding>,
    /// Notes on the whole run, such as: cut off, interrupted, clock drifted.
    pub flags: Vec<Flag>,
}
