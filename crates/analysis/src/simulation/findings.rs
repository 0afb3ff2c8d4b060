use itertools::Itertools;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use switchcost_design::is_host;
use switchcost_design::result::{
    ByView, DetailLevel, HierarchyCounts, LostCycles, PhysicalPages, PrivateBy, SwitchCause,
};

use super::rows;
use super::time_lost::TimeLost;
use crate::Flag;
use crate::statistics::{Ends, Interval, ends};

/// Findings from the record of a simulation.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Findings {
    /// Length of an interval in instructions.
    pub interval_instructions: u64,
    /// Owner of a private hierarchy: process or task. If the owner is a task, all findings about
    /// processes are about tasks.
    pub private_by: PrivateBy,
    /// Share of segments that are longer than the cut-off, at which curves end.
    pub cut_share: f64,
    /// Distributions of segment lengths, by group of segments.
    pub lengths: Vec<LengthDistribution>,
    /// Number of threads that ran, except the first thread of each process. Threads of a process
    /// count as one process in all findings. 0 if the record has only sums, which do not name the
    /// threads.
    #[serde(skip)]
    pub threads: u64,
    /// Findings for the designs, in the order of the record.
    pub designs: Vec<DesignFinding>,
    /// Flags of the simulation: `private-by-task`, `source` (what the source of the trace lacks or
    /// assumes), `incomplete`, `part` (which part of the trace was simulated, and the effect of its
    /// warm-up), `many-intervals`.
    pub flags: Vec<Flag>,
}

/// An estimate with its confidence interval, or the reason why either is missing.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize)]
pub struct Cost {
    /// Estimated value; `None` if unknown.
    pub estimate: Option<f64>,
    /// Both ends of the confidence interval; `None` without an interval.
    #[serde(flatten, serialize_with = "ends")]
    #[schemars(with = "Ends")]
    pub interval: Option<(f64, f64)>,
    /// Confidence of the interval, such as 0.9; `None` without an interval.
    pub confidence: Option<f64>,
    /// Number of batches or trials from which the interval was computed.
    pub n: Option<usize>,
    /// Name of the method by which the interval was computed.
    pub method: Option<&'static str>,
    /// Reason why the estimate or the interval is missing; `None` if neither is.
    pub why: Option<String>,
    /// Values that result if each batch of consecutive segments is left out once. Empty if the
    /// interval was computed otherwise. A comparison of records of the same trace pairs these
    /// values.
    #[serde(skip)]
    pub without_one: Vec<f64>,
}

impl Cost {
    /// Returns a missing estimate with the reason `why`.
    pub(crate) fn none(why: impl Into<String>) -> Self {
        Cost {
            why: Some(why.into()),
            ..Cost::default()
        }
    }

    /// Returns an estimate without an interval, with the reason `why`.
    pub(crate) fn estimate_only(estimate: f64, why: impl Into<String>) -> Self {
        Cost {
            estimate: Some(estimate),
            ..Cost::none(why)
        }
    }

    /// Returns an estimate with an interval of this confidence, which was computed from `n` values.
    pub(crate) fn new(number: Interval, confidence: f64, n: usize, method: &'static str) -> Self {
        Cost {
            estimate: Some(number.estimate),
            interval: Some((number.low, number.high)),
            confidence: Some(confidence),
            n: Some(n),
            method: Some(method),
            ..Cost::default()
        }
    }

    /// Whether there is an interval that does not contain 0.
    pub fn is_distinguishable_from_zero(&self) -> bool {
        self.interval
            .is_some_and(|(low, high)| low > 0.0 || high < 0.0)
    }

    /// Whether there is an interval that contains 0.
    pub fn is_covering_zero(&self) -> bool {
        self.interval.is_some() && !self.is_distinguishable_from_zero()
    }

    /// Returns the cost with the opposite sign, which is a gain.
    #[must_use]
    pub fn as_gain(&self) -> Self {
        let gain = self.times(-1.0);
        Cost {
            interval: gain.interval.map(|(high, low)| (low, high)),
            ..gain
        }
    }

    /// Returns the estimate and its interval multiplied by `factor`.
    #[must_use]
    pub fn times(&self, factor: f64) -> Self {
        let scaled = |number: f64| number * factor;
        Cost {
            estimate: self.estimate.map(scaled),
            interval: self.interval.map(|(low, high)| (scaled(low), scaled(high))),
            without_one: self
                .without_one
                .iter()
                .map(|value| value * factor)
                .collect(),
            ..self.clone()
        }
    }
}

/// Work of the kernel in the shared hierarchy, with intervals from batches of consecutive switches.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct KernelFinding {
    /// Number of kernel instructions per switch, including system calls, faults and interrupts.
    pub instructions_per_switch: Cost,
    /// Cycles lost to other processes per switch.
    pub lost_to_processes_cycles: Cost,
    /// Cycles lost to the kernel per switch.
    pub lost_to_kernel_cycles: Cost,
    /// Number of instructions per system call that keeps the CPU.
    pub instructions_per_call: Cost,
    /// Number of cycles per system call that keeps the CPU.
    pub cycles_per_call: Cost,
    /// Lines that the kernel fills per switch, for each cache and then each TLB.
    pub fills_per_switch: Vec<KernelFills>,
    /// Kernel functions that execute most instructions, most first. Empty for records of earlier
    /// versions.
    pub functions: Vec<FunctionFinding>,
}

/// Work of one kernel function in the shared hierarchy per switch, including system calls, faults
/// and interrupts.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
#[schemars(rename = "KernelFunction")]
pub struct FunctionFinding {
    /// Name of the kernel function; untrusted text that must be escaped before it is shown. For
    /// code without a name, the address of its page.
    pub function: String,
    /// Number of the function's instructions per switch.
    pub instructions_per_switch: f64,
    /// Number of fills on demand by the function's fetches, loads and stores per switch, for each
    /// cache and then each TLB.
    pub misses_per_switch: Vec<FunctionMisses>,
}

/// Misses of one kernel function in one cache or TLB.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct FunctionMisses {
    /// Name of the cache or TLB.
    pub level: String,
    /// Number of misses per switch.
    pub misses: f64,
}

/// Lines that the kernel fills in one cache or TLB.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct KernelFills {
    /// Name of the cache or TLB.
    pub level: String,
    /// Number of lines (or TLB entries) filled on demand for the kernel's addresses, per switch.
    pub fills: Cost,
}

/// A group of segments for which costs are computed together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// All segments of the trace.
    All,
    /// Segments after switches of one class of Mogul and Borg: `system call`, `page fault`,
    /// `involuntary`, or `other` (births, exits).
    Class(&'static str),
    /// Segments after switches with one cause: voluntary or not, and the kernel entry.
    Cause(String),
    /// Segments that end with a switch of one class, in the classes of `Class`.
    EndClass(&'static str),
    /// Segments of one kind of task in a guest: `programs` or `kernel threads`. A kernel thread is
    /// recognized because it never enters the kernel from user mode.
    Tasks(&'static str),
}

/// Names of the kinds of tasks in a guest: ordinary processes, and kernel threads.
pub const TASKS: [&str; 2] = ["programs", "kernel threads"];

impl Group {
    /// Returns the kind of the group, as in all machine-readable formats.
    pub fn kind(&self) -> &'static str {
        match self {
            Group::All => "all",
            Group::Class(_) => "class",
            Group::Cause(_) => "cause",
            Group::EndClass(_) => "end-class",
            Group::Tasks(_) => "tasks",
        }
    }

    /// Returns the name of the class, cause or kind of tasks; `all` for all segments.
    pub fn name(&self) -> &str {
        match self {
            Group::All => "all",
            Group::Class(name) | Group::EndClass(name) | Group::Tasks(name) => name,
            Group::Cause(name) => name,
        }
    }
}

#[derive(JsonSchema, Serialize)]
struct KindAndName<'a> {
    /// Kind of the group: `all`, `class`, `cause`, `end-class` (by the reason why segments end), or
    /// `tasks` (a guest's `programs` or `kernel threads`).
    kind: &'static str,
    /// Name of the class (`system call`, `page fault`, `involuntary`, `other`) or of the cause,
    /// such as `voluntary syscall read`.
    name: &'a str,
}

fn group<S: Serializer>(group: &Group, serializer: S) -> Result<S::Ok, S::Error> {
    KindAndName {
        kind: group.kind(),
        name: group.name(),
    }
    .serialize(serializer)
}

/// Distribution of the segment lengths in one group.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
#[schemars(rename = "Lengths")]
pub struct LengthDistribution {
    /// Group to which the segments belong.
    #[serde(flatten, serialize_with = "group")]
    #[schemars(with = "KindAndName<'static>")]
    pub group: Group,
    /// Number of segments from which the distribution was computed.
    pub segments: u64,
    /// Median segment length in instructions.
    pub median_instructions: u64,
    /// Mean segment length in instructions.
    pub mean_instructions: f64,
    /// Longest segment length in instructions.
    pub max_instructions: u64,
    /// Points of the cumulative distribution, by ascending length.
    pub points: Vec<LengthPoint>,
}

/// Point of the cumulative distribution of segment lengths.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct LengthPoint {
    /// Segment length in instructions.
    pub instructions: u64,
    /// Number of segments of at most this length, as a share of the group's segments.
    pub share: f64,
}

/// CPI (or excess CPI) in one interval after the switch: mean, standard deviation and largest value
/// over the segments.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize)]
pub struct Spread {
    /// Cycles of all segments together divided by their instructions.
    pub mean: f64,
    /// Standard deviation over segments; `None` with a single segment, or in a record with sums
    /// over segments.
    pub sd: Option<f64>,
    /// Largest value of any segment that ran at least half of the interval; `None` without such a
    /// segment, or in a record with sums over segments.
    pub max: Option<f64>,
}

/// Point of a curve: the values in one interval after the switch.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Point {
    /// Number of the interval after the switch, from 0.
    pub interval: u32,
    /// Number of instructions from the switch to the beginning of the interval.
    pub since_switch_instructions: u64,
    /// Number of segments that reach the interval.
    pub segments: u64,
    /// Number of segments that reach the interval, as a share of the group's segments.
    pub survivors: f64,
    /// Cycles per instruction in the shared hierarchy, in the interval.
    pub shared_cpi: Spread,
    /// Cycles per instruction in the private hierarchies, in the interval.
    pub private_cpi: Spread,
    /// Cycles per instruction in the shared hierarchy minus those in the private ones, in the
    /// interval.
    pub excess_cpi: Spread,
    /// Cycles per instruction in the hierarchy that every switch empties, in the interval.
    pub flushed_cpi: f64,
    /// Excess cycles per switch, from the switch to the end of the interval.
    pub cumulative_excess_cycles: f64,
}

/// Cut-off: the end of the integration of a curve.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Cut {
    /// Number of instructions from the switch to the cut-off.
    pub instructions: u64,
    /// Whether only the wanted share of segments is longer than the cut-off. If not, the recorded
    /// intervals end earlier.
    pub is_reached: bool,
    /// Whether the cut-off is known only to the nearest interval.
    pub is_rounded: bool,
}

/// Curve and costs for one group of segments in one design.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
#[schemars(rename = "Curve")]
pub struct GroupFinding {
    /// Group to which the segments belong.
    #[serde(flatten, serialize_with = "group")]
    #[schemars(with = "KindAndName<'static>")]
    pub group: Group,
    /// Number of segments in the group.
    pub segments: u64,
    /// Median segment length in instructions; `None` in a record with sums over segments.
    pub median_instructions: Option<u64>,
    /// Net cost of a switch in cycles up to the cut-off, without first touches: lost minus gained
    /// plus state.
    pub cost_cycles: Cost,
    /// Part of the cost due to lines that other processes evicted, in cycles per switch.
    pub lost_cycles: Cost,
    /// Part of the cost that was saved by lines that other processes brought in, in cycles per
    /// switch.
    pub gained_cycles: Cost,
    /// Part of the cost due to the state of replacement, prefetchers, buffers and buses, in cycles
    /// per switch. This part has either sign, and no other process caused it.
    pub state_cycles: Cost,
    /// Cut-off of the curve and of the costs.
    pub cut: Cut,
    /// Number of excess cycles over the whole segments of the group, without a cut-off.
    pub excess_cycles: f64,
    /// Points of the curve, one for each interval that a segment reaches.
    #[serde(rename = "points")]
    pub curve: Vec<Point>,
}

/// Findings for all processes of one name.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct ProcessFinding {
    /// Name of the processes; untrusted text that must be escaped before it is shown.
    pub name: String,
    /// Number of processes with this name.
    pub processes: u64,
    /// Number of segments of the processes. A segment begins with a switch, or with an exec within
    /// another segment.
    pub segments: u64,
    /// Number of instructions in the segments of the processes.
    pub instructions: u64,
    /// Cycles per instruction of the processes in the shared hierarchy.
    pub shared_cpi: f64,
    /// Cycles per instruction of the processes in the private hierarchies.
    pub private_cpi: f64,
    /// Excess cycles per segment, up to the end of the segment.
    pub excess_cycles_per_switch: f64,
    /// Excess cycles per segment, up to the end of the segment, with a confidence interval.
    #[serde(skip)]
    pub excess: Cost,
    /// Mean excess CPI in each interval, which is the first step of the aggregation in Mogul and
    /// Borg 1990 (section 3.3). `None` for an interval without instructions.
    pub excess_cpi: Vec<Option<f64>>,
    /// Misses of the processes, for each cache and then each TLB. Empty for records of earlier
    /// versions.
    pub levels: Vec<ProcessLevel>,
}

/// Misses of all processes of one name in one cache or TLB.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct ProcessLevel {
    /// Name of the cache or TLB.
    pub level: String,
    /// Number of references of the processes that missed.
    pub misses: ByView<u64>,
    /// Number of references that missed, per thousand instructions of the processes.
    pub mpki: ByView<f64>,
}

/// Survivor bias of one group: the effect of segments that end before the cut-off on the curve.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct SurvivorBias {
    /// Group to which the segments belong.
    #[serde(flatten, serialize_with = "group")]
    #[schemars(with = "KindAndName<'static>")]
    pub group: Group,
    /// Number of segments in the group.
    pub segments: u64,
    /// Number of surviving segments, which reach the last interval before the cut-off.
    pub survivors: u64,
    /// Private CPI of all segments in the first tenth of the curve.
    pub early_private_cpi: f64,
    /// Private CPI of the surviving segments in the first tenth of the curve.
    pub early_private_cpi_of_survivors: f64,
    /// Cost of a switch in cycles, computed from the surviving segments only.
    pub cost_of_survivors_cycles: f64,
    /// Whether the two private CPIs differ by more than 5 %.
    pub bites: bool,
    /// Program whose share of the segments grows most towards the cut-off; `None` if no share
    /// grows.
    pub grows: Option<Growth>,
}

/// Program whose share of the segments grows towards the cut-off.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Growth {
    /// Name of the program; untrusted text that must be escaped before it is shown.
    pub program: String,
    /// Segments of the program as a share of all segments.
    pub share_at_start: f64,
    /// Segments of the program as a share of the segments that reach the cut-off.
    pub share_at_cut: f64,
}

/// Part of the memory system in which excess cycles arise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// Misses of instruction fetches in caches.
    Instructions,
    /// Misses of loads and stores in caches.
    Data,
    /// Misses in TLBs.
    Tlb,
    /// Cycles in which stores wait for a write buffer.
    WriteStalls,
}

/// Excess cycles of one part of the memory system. The parts add up to all excess cycles.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct ExcessPart {
    /// Part of the memory system in which the cycles arise.
    pub part: Part,
    /// Number of excess cycles that arise in this part of the memory system.
    pub cycles: f64,
    /// Excess cycles of the part as a share of all excess cycles; `None` if there is no excess.
    pub share: Option<f64>,
}

/// Misses of one cache or TLB, and the effect of switches on them.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
#[schemars(rename = "LevelRates")]
pub struct LevelFinding {
    /// Name of the cache or TLB.
    pub level: String,
    /// Number of misses per thousand instructions; `None` without instructions.
    pub mpki: Option<ByView<f64>>,
    /// Number of lookups per switch that missed in the shared hierarchy and hit in the private one;
    /// `None` if lookups were not compared.
    pub lost_per_switch: Option<f64>,
    /// Number of lookups per switch that missed in the private hierarchy and hit in the shared one,
    /// without first touches; `None` if lookups were not compared.
    pub gained_per_switch: Option<f64>,
    /// Capacity in lines of the cache, or entries of the TLB.
    pub lines: u64,
    /// Largest number of lines that the shared hierarchy held at any time, or an upper bound of
    /// that number. If fewer than `lines` were held, no line was evicted for lack of room in the
    /// whole level. Then the trace may be too short to show the cost of switches in this level.
    pub most_held: u64,
    /// Whether at least three quarters of the level were filled. If not, the level's numbers say
    /// nothing about switches.
    pub was_full: bool,
    /// Number of instructions after which three quarters of the level would be filled, extrapolated
    /// from the last part of the trace. `None` if the level was full, or if the growth cannot be
    /// extrapolated.
    pub full_at_instructions: Option<f64>,
    /// Whether not even a much longer trace would fill the level, because the number of its lines
    /// hardly grows.
    pub is_never_full: bool,
}

/// Share of a level's lines from which the level counts as full. Some sets are hardly used, however
/// long the trace is.
pub const FULL_FROM: f64 = 0.75;

/// Returns the largest number of lines held as a share of the capacity of `lines` lines.
pub(crate) fn filled(most_held: u64, lines: u64) -> f64 {
    most_held as f64 / lines as f64
}

impl LevelFinding {
    /// Returns the share of the level that the trace filled, from 0 to 1.
    pub fn filled(&self) -> f64 {
        filled(self.most_held, self.lines)
    }
}

/// Traffic of one cache of the shared hierarchy with the next level.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
#[schemars(rename = "Traffic")]
pub struct TrafficFinding {
    /// Name of the cache.
    pub level: String,
    /// Bytes filled per thousand instructions, on demand and by prefetchers.
    pub filled_bytes: f64,
    /// Bytes of modified lines that were written back, per thousand instructions.
    pub written_back_bytes: f64,
    /// Bytes of unmodified lines that moved to an exclusive next level, per thousand instructions.
    pub moved_bytes: f64,
    /// Cycles in which the bus to the next level was busy, as a share of all cycles; `None` for a
    /// bus without contention.
    pub bus_share: Option<f64>,
    /// Number of lines per thousand instructions that were evicted because a later, inclusive level
    /// evicted them.
    pub back_invalidations: f64,
    /// Accuracy and coverage of prefetching; `None` if no line was prefetched.
    pub prefetching: Option<PrefetchFinding>,
}

/// Accuracy and coverage of prefetching in one cache.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
#[schemars(rename = "Prefetching")]
pub struct PrefetchFinding {
    /// Number of prefetched lines that were requested later, as a share of prefetched lines.
    pub accuracy: f64,
    /// Number of requested lines that had been prefetched, as a share of the lines that would have
    /// been absent otherwise; `None` if there are none.
    pub coverage: Option<f64>,
    /// Number of lines found in stream buffers that had not arrived yet, as a share of the lines
    /// found there; `None` if there are none.
    pub late: Option<f64>,
}

/// Average effect of switches on the lines in one cache.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct LossFinding {
    /// Name of the cache.
    pub level: String,
    /// Number of returns to the CPU over which the averages are taken.
    pub returns: u64,
    /// Mean number of lines that a process has in the cache when it leaves the CPU.
    pub resident: f64,
    /// Mean number of lines that the process had in the cache when it left the CPU, and that other
    /// processes evicted before its return.
    pub lost: f64,
    /// Mean number of lost lines that the process brings in again before it next leaves the CPU.
    pub restored: f64,
}

/// Numbers of misses of one cache or TLB by origin.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct OriginFinding {
    /// Name of the cache or TLB.
    pub level: String,
    /// Number of all misses of the shared hierarchy in this level.
    pub misses: u64,
    /// Number of misses that the private hierarchy has as well.
    pub intrinsic: u64,
    /// Number of misses on lines that other processes evicted.
    pub evicted_by_others: u64,
    /// Number of misses on lines that the kernel evicted while other processes ran.
    pub evicted_by_kernel: u64,
    /// Number of misses on lines that the process itself evicted, because other processes had made
    /// them older or occupied their ways.
    pub aged_by_others: u64,
    /// Number of misses on lines that were lost when a switch emptied the level.
    pub flushed: u64,
    /// Number of misses on lines that the process itself evicted because of the level's replacement
    /// state, which no other process need have caused.
    pub state: u64,
}

/// Matrix of evictions in one cache or TLB, by program of the evictor and of the victim.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct EvictionTable {
    /// Name of the cache or TLB.
    pub level: String,
    /// Names of the programs, most lines first. If there are too many, the last entry stands for
    /// all remaining programs. Untrusted text that must be escaped before it is shown.
    pub programs: Vec<String>,
    /// Number of evicted lines: one row per evictor, one column per victim, in the order of
    /// `programs`.
    pub lines: Vec<Vec<u64>>,
}

/// A number for one cache or TLB.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct OfLevel {
    /// Name of the cache or TLB.
    pub level: String,
    /// Number of misses or lines; the description of the list with this entry gives the unit.
    pub number: f64,
}

/// A place in code or data, with the excess cycles of references there.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct PlaceFinding {
    /// Name of the program; untrusted text that must be escaped before it is shown.
    pub program: String,
    /// Reason why the task had left the CPU, as text.
    pub cause: String,
    /// Name of the function or variable, or else file and offset. For kernel memory, a description
    /// of what the memory holds.
    pub place: String,
    /// Source file and line of the code; `None` if unknown, and for data.
    pub line: Option<String>,
    /// Number of excess cycles of references to this function, variable or file offset.
    pub excess_cycles: i64,
    /// Excess cycles of the place as a share of the design's excess cycles; `None` if there is no
    /// excess.
    pub share: Option<f64>,
}

/// A place in code or data whose lookups evicted lines of other owners.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct EvictorFinding {
    /// Name of the cache.
    pub level: String,
    /// Name of the program whose line was filled (untrusted text that must be escaped before it is
    /// shown), or the kernel.
    pub whose: String,
    /// Whether the place is code; otherwise it is data.
    pub is_code: bool,
    /// Name of the place, as in [`PlaceFinding::place`].
    pub place: String,
    /// Number of lines of other owners that the place's lookups evicted.
    pub lines: u64,
    /// The evicted lines as a share of all lines of the level that were evicted for a line of
    /// another owner; `None` if there are none.
    pub share: Option<f64>,
}

/// Mean work of one system call in the kernel, over the calls during which the task kept the CPU.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct CallFinding {
    /// Name of the system call.
    pub syscall: String,
    /// Number of calls over which the means are taken.
    pub calls: u64,
    /// Number of calls during which the task left the CPU, which are not included.
    pub with_switch: u64,
    /// Mean number of instructions per call.
    pub instructions: f64,
    /// Mean number of cycles per call in the shared hierarchy, including one per instruction.
    pub cycles: f64,
    /// Cycles of all calls of this name together as a share of the trace's cycles; `None` without
    /// cycles.
    pub share: Option<f64>,
    /// Mean number of misses per call, for each cache and then each TLB.
    pub misses: Vec<OfLevel>,
    /// Mean number of lines of the calling process that a call evicts, for each cache.
    pub driven_out: Vec<OfLevel>,
}

/// Multiprogramming misses in one cache or TLB that Agarwal's model expects.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct AgarwalLevel {
    /// Name of the cache or TLB.
    pub level: String,
    /// Number of lines that a process touches in a segment (u in the model).
    pub lines_touched: f64,
    /// Capacity in lines (S in the model).
    pub lines: u64,
    /// Expected number of misses per switch: u^2 (p - 1) / S.
    pub misses_per_switch: f64,
    /// Expected number of misses per switch if lines are placed in sets at random and none is lost
    /// twice; at most u.
    pub misses_at_most: f64,
}

/// Multiprogramming misses that Agarwal's model expects, for comparison with the simulation.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Agarwal {
    /// Number of processes that alternate (p in the model): one more than the mean number of other
    /// processes between a departure and the return.
    pub processes: f64,
    /// Mean number of references in a segment (t in the model).
    pub segment_references: f64,
    /// Expected misses for each cache and then each TLB.
    pub levels: Vec<AgarwalLevel>,
    /// Expected cycles per switch: the sum over levels of misses times miss cycles.
    pub cycles_per_switch: f64,
    /// Expected cycles per switch if no line is lost twice.
    pub cycles_at_most: f64,
    /// Whether u (p - 1) exceeds S in some level, so that the model's formula does not hold there.
    pub is_beyond_range: bool,
}

/// Numbers of switches of a trace, by kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Switches {
    /// Number of switches at which the task left the CPU voluntarily.
    pub voluntary: u64,
    /// Number of switches at which the task was preempted.
    pub involuntary: u64,
}

/// Findings for one design.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
#[schemars(rename = "Design")]
pub struct DesignFinding {
    /// Name of the design, which is unique in the record.
    pub name: String,
    /// Level of detail of the simulation's result for this design.
    pub depth: DetailLevel,
    /// Shortest and longest duration of a cycle in nanoseconds; `None` if the design has none.
    pub cycle_ns: Option<[f64; 2]>,
    /// Number of instructions in the trace.
    pub instructions: u64,
    /// Number of loads and stores in the trace.
    pub data_refs: u64,
    /// Numbers of switches in the trace, without the start of the first task.
    pub switches: Switches,
    /// Counters of the shared, private and flushed hierarchies.
    #[serde(flatten, serialize_with = "rows::hierarchies")]
    #[schemars(with = "rows::Hierarchies<'static>")]
    pub hierarchies: ByView<HierarchyCounts>,
    /// Cycles per instruction of the shared hierarchy over the whole trace.
    pub cpi: Cost,
    /// Net cost of a switch: excess cycles up to the cut-off, without first touches. The net cost
    /// is `lost_cycles` minus `gained_cycles` plus `state_cycles`.
    pub average_cost_cycles: Cost,
    /// Part of the cost of a switch that is [lost to other
    /// processes](../method/simulation.md#lost-to-others-gained-from-others), in cycles.
    pub lost_cycles: Cost,
    /// Part of the cost of a switch that was saved by lines that other processes brought in, in
    /// cycles.
    pub gained_cycles: Cost,
    /// Part of the cost of a switch due to the state of replacement, prefetchers, buffers and
    /// buses, in cycles.
    pub state_cycles: Cost,
    /// Cycles saved at all [first touches](../method/simulation.md#cycles-gained) together. No
    /// other number includes them. `None` if lookups were not compared. Then the cost of a switch
    /// includes the saved cycles, as a gain.
    pub first_touch_cycles: Option<f64>,
    /// All lost cycles without a cut-off, [by cause](../method/simulation.md#cycles-lost); `None`
    /// if lookups were not compared.
    pub lost_to: Option<LostCycles>,
    /// Lost cycles as a share of all cycles; `None` if lookups were not compared.
    #[serde(rename = "lost_percent", serialize_with = "rows::percentage")]
    pub lost_share: Option<f64>,
    /// Net cost of a switch in nanoseconds, with the shortest and with the longest cycle; `None` if
    /// the design has no duration of a cycle.
    pub average_cost_ns: Option<[Cost; 2]>,
    /// Cut-off of the curves and costs.
    pub cut: Cut,
    /// Excess cycles as a share of all cycles, which Mogul and Borg 1990 call overhead, without a
    /// cut-off; `None` without cycles.
    #[serde(rename = "overhead_percent", serialize_with = "rows::percentage")]
    pub overhead: Option<f64>,
    /// Excess cycles as a share of all cycles, with a confidence interval.
    #[serde(skip)]
    pub overhead_share: Cost,
    /// Net cost of a switch times the number of switches, as a share of all cycles, as in Table 4
    /// of Mogul and Borg 1990. The result exceeds the overhead if short time slices cost less than
    /// the average.
    #[serde(skip)]
    pub table_4_overhead: Cost,
    /// Excess cycles of a time slice that reaches the cut-off, up to the end of the time slice.
    #[serde(skip)]
    pub long_turns: Cost,
    /// Cycles of the shared hierarchy minus those of the private ones, without a cut-off and
    /// without first touches.
    pub excess_cycles: f64,
    /// Excess cycles per switch, without a cut-off; `None` without switches.
    pub excess_cycles_per_switch: Option<f64>,
    /// Cold bound: cycles of the flushed hierarchy minus those of the private ones, per switch;
    /// `None` without switches.
    pub flushed_cycles_per_switch: Option<f64>,
    /// Number of cycles in which every line and TLB entry is filled once.
    pub reload_bound_cycles: u64,
    /// Misses that Agarwal's model expects; `None` if the model does not apply.
    pub agarwal: Option<Agarwal>,
    /// Reason why Agarwal's model does not apply; `None` if it does.
    pub agarwal_why: Option<String>,
    /// Curves and costs for groups of segments: all, by class, and by cause.
    pub groups: Vec<GroupFinding>,
    /// Findings for all processes of each name, most instructions first.
    pub processes: Vec<ProcessFinding>,
    /// Survivor bias of all segments, and of those after involuntary switches.
    pub survivor_bias: Vec<SurvivorBias>,
    /// Excess cycles by part of the memory system.
    pub parts: Vec<ExcessPart>,
    /// Findings for each cache and then each TLB.
    pub levels: Vec<LevelFinding>,
    /// Traffic of each cache with the next level.
    pub traffic: Vec<TrafficFinding>,
    /// Misses by origin, for each cache and then each TLB.
    pub origins: Vec<OriginFinding>,
    /// [Time that lost lines cost](../method/simulated-cost.md#time), if the miss costs of a
    /// matching machine are known.
    pub time_lost: Option<TimeLost>,
    /// Lines that processes lost while they were off the CPU, and restored, for each cache.
    pub losses: Vec<LossFinding>,
    /// Evictions by program, for each cache and TLB in which they occur.
    pub evictions: Vec<EvictionTable>,
    /// Name of the cache whose additional misses in the shared hierarchy cost most cycles; `None`
    /// without evictions.
    #[serde(skip)]
    pub costliest_level: Option<String>,
    /// [Places that evict other tasks'
    /// lines](../method/simulation.md#evictors-of-other-tasks-lines), by cache.
    pub evictors: Vec<EvictorFinding>,
    /// Places in code with their excess cycles, most first.
    pub code: Vec<PlaceFinding>,
    /// Places in data with their excess cycles, [most
    /// affected](../method/simulation.md#most-affected-data) first; `line` is null.
    pub data: Vec<PlaceFinding>,
    /// [System calls](../method/simulation.md#system-calls) during which the task kept the CPU,
    /// most cycles first. Empty if the trace has no kernel instructions.
    pub calls: Vec<CallFinding>,
    /// Work of the kernel; null if the trace has no kernel instructions.
    pub kernel: Option<KernelFinding>,
    /// Source of [physical addresses](design.md#physical-addresses); null if no level uses them,
    /// and for records of earlier versions.
    pub physical_pages: Option<PhysicalPages>,
    /// Flags that qualify the numbers of this design.
    pub flags: Vec<Flag>,
}

impl DesignFinding {
    /// Returns the group's share of all excess cycles; `None` if there is no excess.
    pub fn share_of_excess(&self, group: &GroupFinding) -> Option<f64> {
        (self.excess_cycles > 0.0).then(|| group.excess_cycles / self.excess_cycles)
    }

    /// Returns the mean cost over all time slices in cycles per switch, if this mean differs
    /// clearly from the average cost. The two differ if short time slices differ from long ones
    /// (see [`DesignFinding::long_turns`]). `None` otherwise, if the costs include first touches,
    /// or if the cost of long time slices is unknown.
    pub fn average_of_all_turns(&self) -> Option<f64> {
        let cost = &self.average_cost_cycles;
        let estimate = cost.estimate?;
        let near = (1.0 - NEAR) * estimate..=(1.0 + NEAR) * estimate;
        let (low, high) = cost.interval.unwrap_or((estimate, estimate));
        self.first_touch_cycles?;
        self.long_turns.estimate?;
        self.excess_cycles_per_switch
            .filter(|mean| !near.contains(mean) && !(low..=high).contains(mean))
    }

    /// Returns the cost to report first: the cost of long time slices if the average cost differs
    /// clearly from the mean over all time slices, else the average cost.
    pub fn reported_cost(&self) -> &Cost {
        match self.average_of_all_turns() {
            Some(_) => &self.long_turns,
            None => &self.average_cost_cycles,
        }
    }

    /// Returns the last cache of this machine (the design `host` and its variants) if the traced
    /// programs need it: if it held more than twice the lines of the cache before. On the machine,
    /// other CPUs and guests evict lines from it. `None` otherwise, and for other designs.
    pub fn last_level_in_use(&self) -> Option<&LevelFinding> {
        // The names of the levels of `host` are made by `switchcost_design::host`.
        let caches = self
            .levels
            .iter()
            .filter(|level| !level.level.contains("TLB"));
        let (before, last) = caches.tuple_windows().last()?;
        (is_host(&self.name) && last.most_held > 2 * before.lines).then_some(last)
    }
}

/// Largest relative difference between a mean and the average cost that counts as no difference.
const NEAR: f64 = 0.1;

/// Returns the index in [`CLASSES`] of a cause's class, in the classes of Mogul and Borg 1990.
pub(crate) fn class_of(cause: &SwitchCause) -> usize {
    match (cause.entry.as_str(), cause.is_voluntary) {
        ("page-fault", _) => 1,
        ("birth" | "exit" | "unknown", _) => 3,
        (_, false) => 2,
        ("syscall", true) => 0,
        _ => 3,
    }
}

pub(crate) const CLASSES: [&str; 4] = ["system call", "page fault", "involuntary", "other"];

/// Returns a phrase for a cause: `voluntary syscall read`, `involuntary quantum`, `birth`.
pub(crate) fn cause_name(cause: &SwitchCause) -> String {
    if cause.entry == "birth" {
        return "birth".to_owned();
    }
    let will = if cause.is_voluntary {
        "voluntary"
    } else {
        "involuntary"
    };
    let syscall = cause
        .syscall
        .as_ref()
        .map(|name| format!(" {name}"))
        .unwrap_or_default();
    format!("{will} {}{syscall}", cause.entry)
}
