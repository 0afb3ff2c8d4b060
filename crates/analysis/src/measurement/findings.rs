use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use strum::{Display, IntoStaticStr};
use switchcost_record::{Band, Case, CostName, Plan};
use switchcost_workload::WorkingSet;

use crate::measurement::deciding::{deciding, prices_switches};
use crate::measurement::serialised::{Conditions, conditions};
use crate::statistics::Estimate;

/// Single timed hand-offs, in nanoseconds, system calls and clock reading included.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Tail {
    /// Half of them took at most this, in nanoseconds.
    pub p50: f64,
    /// 99 of 100 took at most this.
    pub p99: f64,
    /// The longest.
    pub max: f64,
    /// How many were timed.
    pub n: usize,
}

/// What became of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Its numbers stand.
    Measured,
    /// Its numbers stand, with the flags beside them.
    Suspect,
    /// No number: why, in one sentence with what to do.
    NotMeasured {
        /// The reason.
        why: String,
    },
}

impl Verdict {
    /// Its name in every format for programs.
    pub fn name(&self) -> &'static str {
        match self {
            Verdict::Measured => "measured",
            Verdict::Suspect => "suspect",
            Verdict::NotMeasured { .. } => "not-measured",
        }
    }

    /// Why there is no number.
    pub fn why(&self) -> Option<&str> {
        match self {
            Verdict::NotMeasured { why } => Some(why),
            Verdict::Measured | Verdict::Suspect => None,
        }
    }
}

/// What there is to know about a number, by a name that is stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Display, IntoStaticStr, Serialize)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum FlagName {
    /// The indirect cost exceeds that of reloading everything.
    AboveReloadBound,
    /// The system calls are part of the direct cost.
    BaselineWithoutSystemCalls,
    /// Other tasks ran between the hand-offs.
    BesideOthers,
    /// The rate of the clock differs from its calibration.
    ClockDrift,
    /// A simulation of many designs at once has sums alone.
    CountersOnly,
    /// Segments run on after the recorded intervals.
    CutEarly,
    /// The record ends inside a line.
    CutLine,
    /// The record has no end.
    CutOff,
    /// Intervals are out of order.
    Disorder,
    /// Too many samples were left out.
    Disturbed,
    /// The costs are those of hand-offs.
    HandoffAcrossCpus,
    /// The plain mean is far from the cost.
    HeavyTail,
    /// Not all of the trace was simulated.
    Incomplete,
    /// A signal ended the run.
    Interrupted,
    /// Many switches were involuntary.
    InvoluntarySwitches,
    /// Intervals were added up.
    ManyIntervals,
    /// An interval lies below 0, which no cost can.
    Negative,
    /// An interval covers 0.
    #[serde(rename = "not-distinguishable-from-0")]
    #[strum(serialize = "not-distinguishable-from-0")]
    NotDistinguishableFrom0,
    /// The last walk still reloads.
    NotSettled,
    /// The interval lies outside the published range.
    OutsideSanityBand,
    /// Instructions belong to no segment.
    OutsideSegments,
    /// A part of a trace was simulated.
    Part,
    /// A partition names no process of the trace.
    PartitionWithoutProcess,
    /// Some samples were left out.
    PartlyDisturbed,
    /// The run was stopped, frozen or suspended.
    Paused,
    /// Each task has a private hierarchy.
    PrivateByTask,
    /// Some repetitions could not be run.
    RefusedRepetitions,
    /// Few cycles are of an unshared core.
    SharedCore,
    /// The source of the trace left something out.
    Source,
    /// The kernel did not count the planned number of switches.
    SwitchCount,
    /// There are too few values for an interval.
    TooFewRepetitions,
    /// The hypervisor says which CPUs share a cache.
    TopologyOfAGuest,
    /// Caches were emptied, or the task slept, before each batch.
    UnusualRounds,
    /// The interval is wider than asked for.
    WideInterval,
}

/// Something to know about a number.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize)]
pub struct Flag {
    /// Its name, stable and kebab-case: `disturbed`, `switch-count`, `wide-interval`, ...
    #[schemars(with = "&'static str")]
    pub name: FlagName,
    /// One sentence: what was seen, what it means.
    pub detail: String,
}

/// Samples left out of the estimates, by reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Excluded {
    /// Windows of cycles left out of the estimates.
    #[serde(rename = "excluded_samples")]
    pub total: usize,
    /// Of how many.
    #[serde(rename = "total_samples")]
    pub of: usize,
    /// By [reason](../method/contamination.md); a sample with two reasons counts under each.
    #[serde(rename = "excluded_by_reason")]
    pub by_reason: BTreeMap<&'static str, usize>,
}

/// Counters of the switching and the baseline arm, per hand-off.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct CounterFinding {
    /// The counter.
    pub name: String,
    /// Events a hand-off in the baseline arm with the working set (or without, if there is none).
    pub baseline: f64,
    /// Events a hand-off in the switching arm.
    pub switching: f64,
    /// Number of batches behind the two.
    pub n: usize,
    /// Standard error of what they differ by, over batches; none if an arm has fewer than two.
    pub difference_error: Option<f64>,
}

#[derive(JsonSchema, Serialize)]
struct Status<'a> {
    /// `measured`; `suspect`: there are numbers, read them with the flags; `not-measured`: no number.
    status: &'static str,
    /// If `not-measured`: the reason, and what to do.
    why: Option<&'a str>,
}

/// A verdict as two fields that are always there.
fn status<S: Serializer>(verdict: &Verdict, serializer: S) -> Result<S::Ok, S::Error> {
    Status {
        status: verdict.name(),
        why: verdict.why(),
    }
    .serialize(serializer)
}

#[derive(JsonSchema, Serialize)]
struct FlagsByName {
    /// Names of the flags below.
    flags: Vec<&'static str>,
    /// One sentence by name: what was seen, what it means.
    flag_details: BTreeMap<&'static str, String>,
}

/// The sentences of a name that is there twice stand one after the other.
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

/// What was found out about one case.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
#[schemars(rename = "Result")]
pub struct CaseFinding {
    /// The conditions.
    #[serde(flatten, serialize_with = "conditions")]
    #[schemars(with = "Conditions<'static>")]
    pub case: Case,
    /// What became of it.
    #[serde(flatten, serialize_with = "status")]
    #[schemars(with = "Status<'static>")]
    pub verdict: Verdict,
    /// Direct cost of one switch; `None` across CPUs and if nothing was pinned, if no switch can be priced by itself.
    pub direct_ns: Option<Estimate>,
    /// Cost of one switch with the working set (across CPUs: of one hand-off); `None` without a working set.
    pub total_ns: Option<Estimate>,
    /// Total less direct, estimated on the difference within each repetition.
    pub indirect_ns: Option<Estimate>,
    /// Of `indirect_ns`, by how much the hand-off itself is slower: the walks evicted the kernel's lines.
    pub indirect_kernel_ns: Option<Estimate>,
    /// Of `indirect_ns`, by how much the walk is slower: the reload of the task's own lines.
    pub indirect_reload_ns: Option<Estimate>,
    /// `direct_ns` in [core cycles](../method/core-clock.md); `None` if the cycles of a multiplication are not known for this core.
    pub direct_cycles: Option<Estimate>,
    /// If the case is about the [reload](../method/reload.md). `total_ns` is then the cost of having been away once, `handoff_ns` the
    /// switch, `indirect_reload_ns` the sum of the walks.
    pub reload: Option<Reload>,
    /// What the interval of the deciding cost has from differences between runs; `None` if there is no number.
    pub between_runs: Option<BetweenRuns>,
    /// A neighbour on the same core; `None` of the made-up switch, and if there is no number.
    pub shared: Option<Shared>,
    /// Of the [cycles](../method/cycles.md) behind the deciding cost; `None` if there is no number.
    pub cycles: Option<CycleFinding>,
    /// The hand-off latency beyond the baseline: the direct cost times the switches that a hand-off takes.
    pub handoff_ns: Option<Estimate>,
    /// One round trip through all tasks, system calls included, nothing touched: what an application sees.
    pub round_trip_ns: Option<Estimate>,
    /// A task handing the token to itself once, nothing touched.
    pub baseline_ns: Option<Estimate>,
    /// A walk of the working set without a switch (of a `concurrent` case: alone), which the walks of the switching arm are compared with;
    /// `None` without a working set, and for the reload.
    pub walk_ns: Option<Estimate>,
    /// Counted in the switching arm with nothing touched: by the kernel, or by a user-level mechanism.
    pub switches_per_handoff: Option<f64>,
    /// Share of the kernel's switches that were involuntary; `None` in user space.
    pub involuntary_share: Option<f64>,
    /// The deciding cost of each repetition, which its interval is made of: total with a working set, else direct, else (across CPUs) the
    /// hand-off.
    pub repetitions_ns: Vec<f64>,
    /// Single hand-offs, system calls and clock reading included.
    pub tail_ns: Option<Tail>,
    /// Hardware and kernel counters.
    pub counters: Vec<CounterFinding>,
    /// The most that reloading all lost lines could cost ([how](../method/knees-and-bounds.md)), from latencies measured here.
    pub reload_bound_ns: Option<f64>,
    /// Published range.
    pub sanity_band_ns: Option<Band>,
    /// Samples left out.
    #[serde(flatten)]
    pub excluded: Excluded,
    /// What to know about the numbers.
    #[serde(flatten, serialize_with = "flags_by_name")]
    #[schemars(with = "FlagsByName")]
    pub flags: Vec<Flag>,
}

impl CaseFinding {
    /// Without numbers.
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

    /// The cost that the case is about: with its working set; without one that of a switch, or across CPUs of a hand-off.
    pub fn deciding(&self) -> Option<&Estimate> {
        self.cost(deciding(&self.case))
    }

    /// One of its costs by name.
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

    /// A hand-off with all that the case is about, as lmbench has it: the cost of a switch times the switches that a hand-off takes.
    pub fn handoff_cost(&self) -> Option<Estimate> {
        let switches = self
            .switches_per_handoff
            .filter(|_| prices_switches(&self.case) && self.reload.is_none());
        Some(self.deciding()?.scaled(switches.unwrap_or(1.0)))
    }

    /// The switch itself with a working set, in nanoseconds: without data, and what it takes longer for having run cold.
    pub fn switch_part_ns(&self) -> Option<f64> {
        Some(self.direct_ns.as_ref()?.estimate + self.indirect_kernel_ns.as_ref()?.estimate)
    }

    /// Which part of the indirect cost is the larger one; `None` if their intervals do not distinguish them.
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

    /// What the total cost is made of: direct, kernel and reload, as shares of their sum; a part that noise has put below 0 counts as
    /// 0. `None` if the parts are not known, or the total may be nothing: shares of that are shares of noise.
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

/// How much runs differ in the cost that a case is about, relative to it.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct BetweenRuns {
    /// Where it is from.
    pub source: Source,
    /// Earlier runs of the case that count; too few do not make it `earlier-records`.
    pub earlier_runs: u32,
    /// When the first of them was begun (RFC 3339, UTC).
    pub since: Option<String>,
    /// When the last of them was begun.
    pub until: Option<String>,
    /// Standard deviation.
    pub share: f64,
    /// Half an interval of the confidence that is reached, however long a run is.
    pub least_half_width: f64,
}

/// If it is known from how much runs differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// Earlier records of the machine, named with `--history`.
    EarlierRecords,
    /// Calibrated on other machines.
    Assumed,
}

/// The walks of a working set after a switch.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Reload {
    /// What the 1st, 2nd, ... walk takes above a settled one, in nanoseconds.
    pub walks_ns: Vec<Estimate>,
    /// A settled walk: the mean of the last three after each switch.
    pub settled_ns: Estimate,
}

/// One size of a curve.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct CurvePoint {
    /// Size of one task's array in bytes.
    pub size_bytes: u64,
    /// Index of the case among the findings' results.
    pub result: usize,
    /// Total cost in nanoseconds.
    pub total_ns: f64,
}

/// A size at which the curve changes its course.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Knee {
    /// Between this size ...
    pub after_bytes: u64,
    /// ... and this one.
    pub before_bytes: u64,
    /// Share of bootstrap resamples that put a knee at the same place or one grid step beside it.
    pub confidence: f64,
    /// The cache or TLB that it sits at, such as `L2: one array fits, two do not`; `None` if none is near.
    pub cause: Option<String>,
}

/// A stretch of the curve of one character.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Region {
    /// First size in it.
    pub from_bytes: u64,
    /// Last size in it.
    pub to_bytes: u64,
    /// Smallest total cost in it, in nanoseconds.
    pub low_ns: f64,
    /// Largest total cost in it.
    pub high_ns: f64,
    /// Where the arrays of this region live: `L1d`, `L2`, `L3`, `memory`, as the machine's caches say.
    pub name: String,
}

/// Cost over size under otherwise equal conditions.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Curve {
    /// What the points have in common: `pipe, process, 2 tasks, stride 8 B, rmw`.
    pub title: String,
    /// By size.
    pub points: Vec<CurvePoint>,
    /// Between the regions.
    pub knees: Vec<Knee>,
    /// In order.
    pub regions: Vec<Region>,
}

/// What the cycles of a case look like, beyond the trimmed means that its cost is made of.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct CycleFinding {
    /// How many there are, of those that the cost is made of.
    pub n: usize,
    /// The plain mean of the deciding cost: a tail that is cut off elsewhere is in it.
    pub mean_ns: f64,
    /// How much a cycle is like the one before it, from -1 to 1; far from 0 they are no independent values, which is why the
    /// repetitions are taken for these. `None` if nothing varies.
    pub autocorrelation: Option<f64>,
}

/// How often another hardware thread shared the core while a case was measured, and what a switch cost then.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Shared {
    /// Share of the cycles in which the core was shared.
    pub share: f64,
    /// Whether the costs of the case are those on a core of its own: enough cycles were.
    pub is_left_out: bool,
    /// The deciding cost of the case on a shared core, in nanoseconds at the same clock; `None` if too few cycles were.
    pub cost_ns: Option<Estimate>,
}

impl Shared {
    /// Whether cycles on a shared core are among those that the costs are of: too few others were there.
    pub fn is_in_costs(&self) -> bool {
        !self.is_left_out
    }
}

/// A part of the indirect cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The switch itself, whose lines the walks evicted.
    ColdSwitch,
    /// The task's own data, which have to be loaded again.
    Reload,
}

/// The core's clock over a run.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct CoreFinding {
    /// Core cycles a second at which all costs are given: the median of all moments, the speed that the core mostly had. `None` if the
    /// cycles of a multiplication are not known of this core.
    pub hertz: Option<f64>,
    /// The same at the fastest steady speed seen.
    pub fastest_hertz: Option<f64>,
}

/// What was asked for.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
#[schemars(rename = "Plan")]
pub struct Wanted {
    /// The relative half-width asked for: 0.01 is 1 %.
    pub precision: f64,
    /// Asked for: 0.9 is 90 %.
    pub confidence: f64,
    /// Name of the ready-made list of cases.
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

/// Which way of sharing loses more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LosesMore {
    /// Taking turns on one CPU.
    InTurn,
    /// Running at once on two.
    AtOnce,
    /// The intervals allow both.
    #[serde(rename = "not-told")]
    Undecided,
}

/// A difference with its interval.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Difference {
    /// The difference.
    pub estimate: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Difference {
    /// Whatever the two are within their intervals, the difference is within its own.
    pub(crate) fn of(a: &Estimate, b: &Estimate) -> Difference {
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

/// One size, shared both ways; in nanoseconds a walk.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct SharedCache {
    /// What each task walks over.
    pub working_set: WorkingSet,
    /// Place of the case that takes turns among the results; `None` if there is none.
    #[serde(skip)]
    pub in_turn: Option<usize>,
    /// Place of the case that runs at once.
    #[serde(skip)]
    pub at_once: usize,
    /// A walk of one task alone.
    pub alone_ns: Option<Estimate>,
    /// By how much a walk after a switch is slower.
    pub in_turn_ns: Option<Estimate>,
    /// By how much a walk beside the other task's is slower.
    pub at_once_ns: Option<Estimate>,
    /// The former less the latter; `None` if it is withheld.
    pub in_turn_less_at_once_ns: Option<Difference>,
    /// Which loses more.
    pub loses_more: LosesMore,
    /// Why the two are not compared.
    pub why: Option<String>,
}

/// Load latency at one size.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
#[schemars(rename = "Latency")]
pub struct LoadLatency {
    /// Size of the memory.
    pub size_bytes: u64,
    /// A load, in nanoseconds.
    pub load_ns: f64,
}

/// Everything found in a record.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Findings {
    /// What was asked for.
    pub plan: Wanted,
    /// One for each case of the plan, in its order.
    pub results: Vec<CaseFinding>,
    /// One for each set of results that differ in size alone and have four sizes or more.
    pub curves: Vec<Curve>,
    /// One for each size at which two tasks walked [at once](../method/shared-cache.md); empty without `--concurrent`.
    pub shared_cache: Vec<SharedCache>,
    /// Load latency by size, measured in this run.
    pub latencies_ns: Vec<LoadLatency>,
    /// The core's clock; `None` if nothing was sampled.
    pub core: Option<CoreFinding>,
    /// Notes on the run as a whole: cut off, interrupted, clock drifted.
    pub flags: Vec<Flag>,
}
