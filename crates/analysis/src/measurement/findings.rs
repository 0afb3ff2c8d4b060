use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use strum::{Display, IntoStaticStr};
use switchcost_record::{Band, Case, CostName, Plan};
use switchcost_workload::WorkingSet;

use crate::measurement::deciding::{deciding, prices_switches};
use crate::measurement::serialised::{Conditions, conditions};
use crate::statistics::{Estimate, Interval};

/// Distribution of the times of single hand-offs in nanoseconds. Each time includes system calls
/// and a clock reading.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Tail {
    /// Median time of a hand-off in nanoseconds.
    pub p50: f64,
    /// 99th percentile of the time of a hand-off in nanoseconds.
    pub p99: f64,
    /// Longest time of a hand-off in nanoseconds.
    pub max: f64,
    /// Number of hand-offs that were timed one by one.
    pub n: usize,
}

/// Verdict on the costs of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The costs of the case are valid.
    Measured,
    /// The costs are suspect, for the reasons that the case's flags give.
    Suspect,
    /// The case has no costs, because it could not be measured.
    NotMeasured {
        /// Reason why there are no costs, and the remedy, as one sentence.
        why: String,
    },
}

impl Verdict {
    /// Returns the name of the verdict, as in all machine-readable formats.
    pub fn name(&self) -> &'static str {
        match self {
            Verdict::Measured => "measured",
            Verdict::Suspect => "suspect",
            Verdict::NotMeasured { .. } => "not-measured",
        }
    }

    /// Returns the reason why there are no costs; `None` if there are.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Verdict::NotMeasured { why } => Some(why),
            Verdict::Measured | Verdict::Suspect => None,
        }
    }
}

/// Stable names of flags: remarks on the findings of a case, a run or a simulation.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Display, IntoStaticStr, Serialize,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum FlagName {
    /// The reload cost exceeds its upper bound, the cost of reloading every line.
    AboveReloadBound,
    /// The direct cost includes system calls, because the baseline makes none.
    BaselineWithoutSystemCalls,
    /// Other tasks ran on the CPU between the measured hand-offs.
    BesideOthers,
    /// The clock's rate has changed since its calibration.
    ClockDrift,
    /// Many designs were simulated in a single pass, so the record has only sums over segments.
    CountersOnly,
    /// Some segments are longer than the recorded intervals.
    CutEarly,
    /// The record ends with an incomplete line.
    CutLine,
    /// The record has no last line, because the run was killed.
    CutOff,
    /// The intervals of the record are not in order.
    Disorder,
    /// Too many windows were disturbed by other tasks, page faults, migrations or pauses.
    Disturbed,
    /// The costs are those of hand-offs between CPUs, not of switches.
    HandoffAcrossCpus,
    /// The mean over all rounds differs much from the cost, which is a trimmed mean.
    HeavyTail,
    /// Not all of the trace was simulated, for a reason other than a selected part.
    Incomplete,
    /// A signal ended the run before its plan was complete.
    Interrupted,
    /// More switches than usual were involuntary.
    InvoluntarySwitches,
    /// The record has so many intervals that some were summed.
    ManyIntervals,
    /// The confidence interval of the cost is below 0, which is impossible.
    Negative,
    /// The confidence interval of the cost contains 0.
    #[serde(rename = "not-distinguishable-from-0")]
    #[strum(serialize = "not-distinguishable-from-0")]
    NotDistinguishableFrom0,
    /// The reload continues beyond the walks that were measured after a switch.
    NotSettled,
    /// The confidence interval does not overlap the published range.
    OutsideSanityBand,
    /// Some instructions of the trace belong to no segment.
    OutsideSegments,
    /// A part of the trace was selected for simulation.
    Part,
    /// A cache partition has the name of a program that is not in the trace.
    PartitionWithoutProcess,
    /// Some windows were disturbed by other tasks, page faults, migrations or pauses.
    PartlyDisturbed,
    /// The run was stopped, frozen or suspended for some time.
    Paused,
    /// Private hierarchies are per task, not per process.
    PrivateByTask,
    /// Some repetitions could not be run.
    RefusedRepetitions,
    /// The core was shared during most rounds.
    SharedCore,
    /// The source of the trace lacks something.
    Source,
    /// The number of switches differs from the plan.
    SwitchCount,
    /// The case has too few repetitions for an interval.
    TooFewRepetitions,
    /// Which CPUs share a cache is known only from the hypervisor.
    TopologyOfAGuest,
    /// Before each batch, caches were flushed or the task slept.
    UnusualRounds,
    /// The confidence interval is wider than the user requested.
    WideInterval,
}

/// A remark on the findings of a case, a run or a simulation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize)]
pub struct Flag {
    /// Stable name of the flag in kebab-case, such as `disturbed` or `wide-interval`.
    #[schemars(with = "&'static str")]
    pub name: FlagName,
    /// Text with the fact and its meaning.
    pub detail: String,
}

/// Number of windows that were left out of the estimates, by reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Excluded {
    /// Number of windows that were left out.
    #[serde(rename = "excluded_samples")]
    pub total: usize,
    /// Number of all windows of the case.
    #[serde(rename = "total_samples")]
    pub of: usize,
    /// Number of windows that were left out, by [reason](../method/contamination.md). A window with
    /// two reasons counts under each.
    #[serde(rename = "excluded_by_reason")]
    pub by_reason: BTreeMap<&'static str, usize>,
}

/// Mean number of events of one counter per hand-off, in both arms.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct CounterFinding {
    /// Name of the counter, as in perf.
    pub name: String,
    /// Mean number of events per hand-off in the baseline arm, with the working set if the case has
    /// one.
    pub baseline: f64,
    /// Mean number of events per hand-off in the switching arm, with the working set if the case
    /// has one.
    pub switching: f64,
    /// Number of batches of both arms over which the means were taken.
    pub n: usize,
    /// Standard error of the difference between the arms, in events per hand-off; `None` if an arm
    /// has fewer than two batches.
    pub difference_error: Option<f64>,
}

#[derive(JsonSchema, Serialize)]
struct Status<'a> {
    /// Verdict on the costs: `measured`; `suspect`, if a flag gives a reason; or `not-measured`.
    status: &'static str,
    /// Reason why there are no costs, and the remedy, if the status is `not-measured`.
    why: Option<&'a str>,
}

/// Serializes a verdict as two fields, which are always present.
fn status<S: Serializer>(verdict: &Verdict, serializer: S) -> Result<S::Ok, S::Error> {
    Status {
        status: verdict.name(),
        why: verdict.reason(),
    }
    .serialize(serializer)
}

#[derive(JsonSchema, Serialize)]
struct FlagsByName {
    /// Names of the flags, each once.
    flags: Vec<&'static str>,
    /// Text of each flag by name: the fact and its meaning.
    flag_details: BTreeMap<&'static str, String>,
}

/// Serializes flags by name. The texts of flags with the same name are joined.
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

/// Findings for one case of a measurement.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
#[schemars(rename = "Result")]
pub struct CaseFinding {
    /// The measured case: mechanism, tasks, working set, scheduling policy and CPUs.
    #[serde(flatten, serialize_with = "conditions")]
    #[schemars(with = "Conditions<'static>")]
    pub case: Case,
    /// Verdict on the costs of the case.
    #[serde(flatten, serialize_with = "status")]
    #[schemars(with = "Status<'static>")]
    pub verdict: Verdict,
    /// Direct cost of one switch in nanoseconds; `None` if only the cost of a hand-off is known:
    /// across CPUs, for language runtimes, and for tasks that are not pinned.
    pub direct_ns: Option<Estimate>,
    /// Cost of one switch with the working set in nanoseconds (across CPUs, of one hand-off);
    /// `None` without a working set.
    pub total_ns: Option<Estimate>,
    /// Total cost minus direct cost in nanoseconds, estimated from the differences within
    /// repetitions.
    pub indirect_ns: Option<Estimate>,
    /// Part of `indirect_ns` by which the hand-off itself is longer, because the walks over working
    /// sets evict lines of the kernel.
    pub indirect_kernel_ns: Option<Estimate>,
    /// Part of `indirect_ns` by which the walk over the working set is longer: the reload of the
    /// task's own lines.
    pub indirect_reload_ns: Option<Estimate>,
    /// `direct_ns` in [core cycles](../method/core-clock.md); `None` if the number of cycles of a
    /// multiplication on this core is unknown.
    pub direct_cycles: Option<Estimate>,
    /// Times of the [reload](../method/reload.md), if the case measures them. Then `total_ns` is
    /// the cost of losing the CPU once, `handoff_ns` that of the switch, and `indirect_reload_ns`
    /// the sum over the walks.
    pub reload: Option<Reload>,
    /// Effect of differences between runs on the interval of the deciding cost; `None` if there are
    /// no costs.
    pub between_runs: Option<BetweenRuns>,
    /// Effect of core sharing; `None` for the synthetic switch, and if there are no costs.
    pub shared: Option<Shared>,
    /// Statistics of the [rounds](../method/cycles.md) from which the deciding cost was computed;
    /// `None` if there are no costs.
    pub cycles: Option<CycleFinding>,
    /// Time of a hand-off minus the baseline, in nanoseconds: the direct cost times the switches
    /// per hand-off.
    pub handoff_ns: Option<Estimate>,
    /// Time of one round trip through all tasks without working set, including system calls, in
    /// nanoseconds.
    pub round_trip_ns: Option<Estimate>,
    /// Time in which a task hands the token to itself once without working set, in nanoseconds.
    pub baseline_ns: Option<Estimate>,
    /// Time of a walk over the working set without a switch (in a `concurrent` case: alone), in
    /// nanoseconds. This is the baseline of the switching arm's walks. `None` without a working
    /// set, and for cases that measure the reload.
    pub walk_ns: Option<Estimate>,
    /// Number of switches per hand-off in the switching arm without walks, as counted by the kernel
    /// or by a user-level mechanism.
    pub switches_per_handoff: Option<f64>,
    /// Number of involuntary switches as a share of the kernel's switches; `None` for user-level
    /// mechanisms.
    pub involuntary_share: Option<f64>,
    /// Deciding cost of each repetition in nanoseconds, from which the interval is computed: the
    /// total with a working set, else the direct cost, else (across CPUs) the cost of a hand-off.
    pub repetitions_ns: Vec<f64>,
    /// Distribution of the times of single hand-offs in nanoseconds, including system calls and
    /// clock readings; `None` if not measured.
    pub tail_ns: Option<Tail>,
    /// Readings of hardware and kernel counters; empty if not requested.
    pub counters: Vec<CounterFinding>,
    /// Upper bound of the cost of reloading all lost lines in nanoseconds
    /// ([computation](../method/knees-and-bounds.md)), from load latencies of this run.
    pub reload_bound_ns: Option<f64>,
    /// Published range of the cost in nanoseconds; `None` if nothing is published.
    pub sanity_band_ns: Option<Band>,
    /// Number of windows that were left out of the estimates, by reason.
    #[serde(flatten)]
    pub excluded: Excluded,
    /// Remarks on the costs of the case.
    #[serde(flatten, serialize_with = "flags_by_name")]
    #[schemars(with = "FlagsByName")]
    pub flags: Vec<Flag>,
}

impl CaseFinding {
    /// Returns a finding for the case without any costs.
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

    /// Returns the deciding cost: the total with a working set; otherwise the cost of a switch, or
    /// of a hand-off if the cost of a switch cannot be determined.
    pub fn deciding(&self) -> Option<&Estimate> {
        self.cost(deciding(&self.case))
    }

    /// Whether the costs include rounds on a shared core, because too few rounds were on an
    /// unshared one.
    pub(crate) fn is_of_shared_core(&self) -> bool {
        self.shared
            .as_ref()
            .is_some_and(|shared| !shared.is_left_out)
    }

    /// Returns the cost with this name; `None` if not measured.
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

    /// Returns the cost of a hand-off as lmbench defines it, in nanoseconds: the cost of a switch
    /// times the switches per hand-off. Returns the deciding cost itself if the cost of a switch
    /// cannot be determined, or if the case measures the reload.
    pub fn handoff_cost(&self) -> Option<Estimate> {
        let switches = self
            .switches_per_handoff
            .filter(|_| prices_switches(&self.case) && self.reload.is_none());
        Some(self.deciding()?.scaled(switches.unwrap_or(1.0)))
    }

    /// Returns the larger part of the indirect cost; `None` if a part is unknown, or if the
    /// intervals of the two parts overlap.
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

    /// Returns direct, kernel and reload cost as shares of their sum. A part below 0, which is due
    /// to noise, counts as 0. `None` if a part is unknown, or if the interval of the total contains
    /// 0, because the shares would be noise.
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

/// Differences of a case's deciding cost between runs, as shares of the cost.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct BetweenRuns {
    /// Source of the spread between runs.
    pub source: Source,
    /// Number of earlier runs that count for the case. With too few, the source is not
    /// `earlier-records`.
    pub earlier_runs: u32,
    /// Start of the first of these earlier runs (RFC 3339, UTC); `None` without earlier runs.
    pub since: Option<String>,
    /// Start of the last of these earlier runs (RFC 3339, UTC); `None` without earlier runs.
    pub until: Option<String>,
    /// Standard deviation of the cost between runs, as a share of the cost.
    pub share: f64,
    /// Half-width of the interval that remains however long a run is, as a share of the cost.
    pub least_half_width: f64,
}

/// Source of the spread of a cost between runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// Earlier records of this machine, which were named with `--history`.
    EarlierRecords,
    /// A constant that was calibrated on other machines.
    Assumed,
}

/// Times of successive walks over a working set after a switch.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Reload {
    /// Time of the first, second, ... walk after a switch minus the time of a settled walk, in
    /// nanoseconds.
    pub walks_ns: Vec<Estimate>,
    /// Time of a settled walk in nanoseconds: the mean of the last three walks after each switch.
    pub settled_ns: Estimate,
}

/// One point of a curve of cost against size.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct CurvePoint {
    /// Size of one task's array in bytes.
    pub size_bytes: u64,
    /// Index of the case in [`Findings::results`].
    pub result: usize,
    /// Total cost of one switch in nanoseconds.
    pub total_ns: f64,
}

/// A size of the arrays at which a cost curve changes its slope.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Knee {
    /// Measured size immediately below the knee, in bytes.
    pub after_bytes: u64,
    /// Measured size immediately above the knee, in bytes.
    pub before_bytes: u64,
    /// Share of bootstrap resamples whose knee is at the same place or at an adjacent size.
    pub confidence: f64,
    /// Phrase for the cache or TLB of about that size, such as `L2: one array fits, two do not`;
    /// `None` if none is near.
    pub cause: Option<String>,
}

/// Range of array sizes between two knees of a curve.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Region {
    /// Smallest measured size in the region, in bytes.
    pub from_bytes: u64,
    /// Largest measured size in the region, in bytes.
    pub to_bytes: u64,
    /// Smallest total cost of a switch in the region, in nanoseconds.
    pub low_ns: f64,
    /// Largest total cost of a switch in the region, in nanoseconds.
    pub high_ns: f64,
    /// Name of the cache that holds the arrays: `L1d`, `L2`, `L3`, or `memory`.
    pub name: String,
}

/// Curve of total cost against array size, for cases that differ only in size.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Curve {
    /// Conditions that all points share: `pipe, process, 2 tasks, stride 8 B, rmw`.
    pub title: String,
    /// Points of the curve by ascending size.
    pub points: Vec<CurvePoint>,
    /// Knees of the curve by ascending size.
    pub knees: Vec<Knee>,
    /// Regions of the curve by ascending size.
    pub regions: Vec<Region>,
}

/// Statistics of a case's rounds, in addition to the trimmed means that give the cost.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct CycleFinding {
    /// Number of rounds from which the cost was computed.
    pub n: usize,
    /// Untrimmed mean, in nanoseconds, of the total cost, or of the direct cost if there is no
    /// working set.
    pub mean_ns: f64,
    /// Correlation of the deciding cost of each round with that of the round before, from -1 to 1.
    /// A correlation far from 0 shows that rounds are not independent; therefore the cost's
    /// interval is computed from repetitions. `None` if the cost does not vary.
    pub autocorrelation: Option<f64>,
}

/// Share of rounds on a shared core, and the cost in these rounds.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Shared {
    /// Number of rounds in which the core was shared, as a share of all rounds.
    pub share: f64,
    /// Whether the case's costs were computed without the rounds on a shared core, because there
    /// were enough rounds on an unshared one.
    pub is_left_out: bool,
    /// Deciding cost of the case in rounds on a shared core, in nanoseconds at the same core clock;
    /// `None` if there were too few.
    pub cost_ns: Option<Estimate>,
}

/// One of the two parts of the indirect cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The additional time of the switch itself, whose cache lines the walks have evicted.
    ColdSwitch,
    /// The additional time of reloading the task's own data.
    Reload,
}

/// Clock of the measured core over a run.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct CoreFinding {
    /// Core clock in hertz at which all costs are given: the median over the run. `None` if the
    /// number of cycles of a multiplication on this core is unknown.
    pub hertz: Option<f64>,
    /// Fastest steady core clock in the run, in hertz; `None` if unknown.
    pub fastest_hertz: Option<f64>,
}

/// Precision that the user requested for a run.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
#[schemars(rename = "Plan")]
pub struct Wanted {
    /// Requested half-width of intervals, as a share of the estimate: 0.01 is 1 %.
    pub precision: f64,
    /// Requested confidence of intervals: 0.9 is 90 %.
    pub confidence: f64,
    /// Name of the preset from which the cases come.
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

/// Which way of sharing a cache makes a walk slower.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LosesMore {
    /// Time-sharing on one CPU makes the walk slower.
    InTurn,
    /// Concurrent use from two CPUs makes the walk slower.
    AtOnce,
    /// The confidence intervals of the two slowdowns do not show which is larger.
    Inconclusive,
}

/// Comparison of two ways in which two tasks share a cache, at one array size: time-shared and
/// concurrently. Times are in nanoseconds per walk.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct SharedCache {
    /// Memory that each task walks over.
    pub working_set: WorkingSet,
    /// Index of the time-sharing case in [`Findings::results`]; `None` if there is none.
    #[serde(skip)]
    pub in_turn: Option<usize>,
    /// Index of the concurrent case in [`Findings::results`].
    #[serde(skip)]
    pub at_once: usize,
    /// Time of a walk of one task alone, in nanoseconds; `None` if not measured.
    pub alone_ns: Option<Estimate>,
    /// Additional time of a walk after a switch with time-sharing, in nanoseconds; `None` if not
    /// measured.
    pub in_turn_ns: Option<Estimate>,
    /// Additional time of a walk during the other task's walks, in nanoseconds; `None` if not
    /// measured.
    pub at_once_ns: Option<Estimate>,
    /// `in_turn_ns` minus `at_once_ns`; `None` if the two are not compared.
    pub in_turn_less_at_once_ns: Option<Interval>,
    /// Which way of sharing makes a walk slower.
    pub loses_more: LosesMore,
    /// Reason why the two ways of sharing are not compared; null if they are.
    pub why: Option<String>,
}

/// Load latency at one memory size.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
#[schemars(rename = "Latency")]
pub struct LoadLatency {
    /// Size of the memory in bytes.
    pub size_bytes: u64,
    /// Time of one load in nanoseconds.
    pub load_ns: f64,
}

/// Findings from the record of a measurement.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Findings {
    /// Precision and confidence that the user requested.
    pub plan: Wanted,
    /// One finding for each case of the plan, in the plan's order.
    pub results: Vec<CaseFinding>,
    /// Curves of cost against size, one for each group of cases that differ only in size and have
    /// at least four sizes.
    pub curves: Vec<Curve>,
    /// One entry for each size at which two tasks used a cache
    /// [concurrently](../method/shared-cache.md). Empty without `--concurrent`.
    pub shared_cache: Vec<SharedCache>,
    /// Load latencies measured in this run, by ascending memory size.
    pub latencies_ns: Vec<LoadLatency>,
    /// Core clock in the run; `None` if the clock was not probed.
    pub core: Option<CoreFinding>,
    /// Remarks on the whole run, such as that a signal ended the run.
    pub flags: Vec<Flag>,
}
