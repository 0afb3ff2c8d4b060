use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use switchcost_design::result::{
    ByView, DetailLevel, HierarchyCounts, LostCycles, PhysicalPages, PrivateBy, SwitchCause,
};

use super::rows;
use super::time_lost::TimeLost;
use crate::Flag;

/// All findings of a simulation's record.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Findings {
    /// Length of an interval, in instructions.
    pub interval_instructions: u64,
    /// Owner of a private hierarchy: a process or a task. Wherever a process is named, it is this
    /// owner.
    pub private_by: PrivateBy,
    /// Share of the segments that remain where the integration of curves ends.
    pub cut_share: f64,
    /// Distributions of segment lengths.
    pub lengths: Vec<LengthDistribution>,
    /// Number of threads that ran, besides the first of each process; the threads of a process
    /// count as one process here. 0 if no design distinguishes segments.
    #[serde(skip)]
    pub threads: u64,
    /// Findings of the designs, in the order of the record.
    pub designs: Vec<DesignFinding>,
    /// Notes: `private-by-task`, `source` (what the trace's source omitted or invented),
    /// `incomplete`, `part` (which part of the trace was simulated, and the effect of its warm-up),
    /// `many-intervals`.
    pub flags: Vec<Flag>,
}

/// A number with its interval, or the reason why one of them is missing.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize)]
pub struct Cost {
    /// Centre of the interval.
    pub estimate: Option<f64>,
    /// Lower end of the interval.
    pub low: Option<f64>,
    /// Upper end of the interval.
    pub high: Option<f64>,
    /// Confidence of the interval.
    pub confidence: Option<f64>,
    /// Number of batches or trials.
    pub n: Option<usize>,
    /// Method of the interval.
    pub method: Option<&'static str>,
    /// Why the estimate or its interval is missing.
    pub why: Option<String>,
    /// The statistic with each batch of consecutive segments left out once, if the interval is
    /// computed from these. A comparison on the same trace pairs them.
    #[serde(skip)]
    pub without_one: Vec<f64>,
}

impl Cost {
    /// Creates a missing number, with the reason.
    pub(crate) fn none(why: impl Into<String>) -> Self {
        Cost {
            why: Some(why.into()),
            ..Cost::default()
        }
    }

    /// Creates a number without an interval, with the reason.
    pub(crate) fn estimate_only(estimate: f64, why: impl Into<String>) -> Self {
        Cost {
            estimate: Some(estimate),
            ..Cost::none(why)
        }
    }

    /// Creates a number with its interval, of this confidence and from `n` values.
    pub(crate) fn new(
        estimate: f64,
        (low, high): (f64, f64),
        confidence: f64,
        n: usize,
        method: &'static str,
    ) -> Self {
        Cost {
            estimate: Some(estimate),
            low: Some(low),
            high: Some(high),
            confidence: Some(confidence),
            n: Some(n),
            method: Some(method),
            ..Cost::default()
        }
    }

    /// Whether the interval is known and does not cover zero.
    pub fn is_distinguishable_from_zero(&self) -> bool {
        matches!((self.low, self.high), (Some(low), Some(high)) if low > 0.0 || high < 0.0)
    }

    /// Whether the interval is known and covers zero.
    pub fn is_covering_zero(&self) -> bool {
        self.low.is_some() && self.high.is_some() && !self.is_distinguishable_from_zero()
    }

    /// Returns the cost with the opposite sign, as a gain.
    #[must_use]
    pub fn as_gain(&self) -> Self {
        let gain = self.times(-1.0);
        Cost {
            low: gain.high,
            high: gain.low,
            ..gain
        }
    }

    /// Returns all numbers times `factor`.
    #[must_use]
    pub fn times(&self, factor: f64) -> Self {
        let scaled = |number: Option<f64>| number.map(|number| number * factor);
        Cost {
            estimate: scaled(self.estimate),
            low: scaled(self.low),
            high: scaled(self.high),
            without_one: self
                .without_one
                .iter()
                .map(|value| value * factor)
                .collect(),
            ..self.clone()
        }
    }
}

/// Work of the kernel on the shared hierarchy, with intervals from batches of consecutive switches.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct KernelFinding {
    /// The kernel's instructions per switch, including system calls, faults and interrupts.
    pub instructions_per_switch: Cost,
    /// Cycles lost to other processes, per switch.
    pub lost_to_processes_cycles: Cost,
    /// Cycles lost to the kernel, per switch.
    pub lost_to_kernel_cycles: Cost,
    /// Instructions of a system call that keeps the CPU.
    pub instructions_per_call: Cost,
    /// Cycles of a system call that keeps the CPU.
    pub cycles_per_call: Cost,
    /// Lines filled by the kernel, by level, then by TLB.
    pub fills_per_switch: Vec<KernelFills>,
    /// Kernel functions that execute most, most first; empty for records of earlier versions.
    pub functions: Vec<FunctionFinding>,
}

/// Work of a kernel function on the shared hierarchy per switch, including system calls, faults and interrupts.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
#[schemars(rename = "KernelFunction")]
pub struct FunctionFinding {
    /// Name of the function; hostile text until escaped. Code without a name is named by the
    /// address of its page.
    pub function: String,
    /// Instructions per switch.
    pub instructions_per_switch: f64,
    /// Lines, or translations, brought in on demand for the function's code and for its loads and stores, by level, then by TLB.
    pub misses_per_switch: Vec<FunctionMisses>,
}

/// Misses of a function in one level.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct FunctionMisses {
    /// Name of the level.
    pub level: String,
    /// Misses per switch.
    pub misses: f64,
}

/// Lines that the kernel brings into a level.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct KernelFills {
    /// Name of the level.
    pub level: String,
    /// Lines, or translations, brought in on demand for the kernel's addresses, per switch.
    pub fills: Cost,
}

/// A group of segments that are analysed together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// All segments.
    All,
    /// One of the classes of Mogul and Borg: `system call`, `page fault`, `involuntary`, or `other` (births, exits).
    Class(&'static str),
    /// One cause of switches: whether it is voluntary, and the kernel entry.
    Cause(String),
    /// A class as in `Class`, by the reason why the segment ends instead of why it begins.
    EndClass(&'static str),
    /// Kind of tasks in a guest: `programs` or `kernel threads`. Kernel threads never enter the
    /// kernel from user mode.
    Tasks(&'static str),
}

/// Names of the groups of a guest's tasks: processes, and kernel threads.
pub const TASKS: [&str; 2] = ["programs", "kernel threads"];

impl Group {
    /// Returns the kind of the group, in every format for programs.
    pub fn kind(&self) -> &'static str {
        match self {
            Group::All => "all",
            Group::Class(_) => "class",
            Group::Cause(_) => "cause",
            Group::EndClass(_) => "end-class",
            Group::Tasks(_) => "tasks",
        }
    }

    /// Returns the name of the class or cause.
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
    /// Kind of the group: `all`; `class`; `cause`; `end-class` (by why segments end); `tasks` (a
    /// guest's `programs` or `kernel threads`).
    kind: &'static str,
    /// Name of a class (`system call`, `page fault`, `involuntary`, `other`) or of a cause, such as `voluntary syscall read`.
    name: &'a str,
}

fn group<S: Serializer>(group: &Group, serializer: S) -> Result<S::Ok, S::Error> {
    KindAndName {
        kind: group.kind(),
        name: group.name(),
    }
    .serialize(serializer)
}

/// Distribution of the lengths of segments.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
#[schemars(rename = "Lengths")]
pub struct LengthDistribution {
    /// Group of the segments.
    #[serde(flatten, serialize_with = "group")]
    #[schemars(with = "KindAndName<'static>")]
    pub group: Group,
    /// Number of segments in the group.
    pub segments: u64,
    /// Median length, in instructions.
    pub median_instructions: u64,
    /// Mean length, in instructions.
    pub mean_instructions: f64,
    /// Longest segment, in instructions.
    pub max_instructions: u64,
    /// Points of the distribution, from short to long.
    pub points: Vec<LengthPoint>,
}

/// A point of the distribution of segment lengths.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct LengthPoint {
    /// A length in instructions.
    pub instructions: u64,
    /// Share of the group's segments that are at most this long.
    pub share: f64,
}

/// Mean over segments and its spread, in one interval of one hierarchy.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize)]
pub struct Spread {
    /// Cycles of all segments together, divided by their instructions.
    pub mean: f64,
    /// Standard deviation between segments; `None` with one segment, and if the record has sums over segments.
    pub sd: Option<f64>,
    /// Largest value of a segment that ran at least half of the interval; `None` if none did, and if the record has sums over segments.
    pub max: Option<f64>,
}

/// A point of a curve, for one interval.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Point {
    /// Number of the interval.
    pub interval: u32,
    /// Instructions from the switch to the beginning of the interval.
    pub since_switch_instructions: u64,
    /// Segments that reach the interval.
    pub segments: u64,
    /// Share of the group's segments that reach the interval.
    pub survivors: f64,
    /// Cycles per instruction in the shared hierarchy.
    pub shared_cpi: Spread,
    /// Cycles per instruction in the private hierarchies.
    pub private_cpi: Spread,
    /// Shared minus private cycles per instruction.
    pub excess_cpi: Spread,
    /// Cycles per instruction in the hierarchy that each switch empties.
    pub flushed_cpi: f64,
    /// Excess cycles from the switch to the end of this interval.
    pub cumulative_excess_cycles: f64,
}

/// End of the integration of a curve.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Cut {
    /// Instructions since the switch at the end.
    pub instructions: u64,
    /// Whether the wanted share of segments is reached at the end; if not, the recorded intervals
    /// end earlier.
    pub is_reached: bool,
    /// Whether the end is known only to the nearest interval.
    pub is_rounded: bool,
}

/// Curve and cost of one group of segments in one design.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
#[schemars(rename = "Curve")]
pub struct GroupFinding {
    /// Group of the segments.
    #[serde(flatten, serialize_with = "group")]
    #[schemars(with = "KindAndName<'static>")]
    pub group: Group,
    /// Number of segments.
    pub segments: u64,
    /// Median length in instructions; `None` if the record has sums over segments.
    pub median_instructions: Option<u64>,
    /// Net cost of a switch, up to the cut-off, without first touches: lost minus gained plus state.
    pub cost_cycles: Cost,
    /// Part of the cost lost to others.
    pub lost_cycles: Cost,
    /// Part of the cost saved by lines that others brought in.
    pub gained_cycles: Cost,
    /// Part of the cost due to the state of replacement, prefetch, buffers and buses, of either
    /// sign; no process caused it.
    pub state_cycles: Cost,
    /// Cut-off of the curve.
    pub cut: Cut,
    /// All excess cycles of these segments, to their ends.
    pub excess_cycles: f64,
    /// One point for each interval that a segment reaches.
    #[serde(rename = "points")]
    pub curve: Vec<Point>,
}

/// Findings of one process, or of all processes of a name.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct ProcessFinding {
    /// Name of the process; hostile text until escaped.
    pub name: String,
    /// Number of processes with this name.
    pub processes: u64,
    /// Number of segments of the process. A segment begins with a switch, or with an exec in the
    /// middle of a segment.
    pub segments: u64,
    /// Instructions in the segments.
    pub instructions: u64,
    /// Cycles per instruction in the shared hierarchy.
    pub shared_cpi: f64,
    /// Cycles per instruction in the private hierarchies.
    pub private_cpi: f64,
    /// Excess cycles per segment, to its end.
    pub excess_cycles_per_switch: f64,
    /// Excess cycles per segment, to its end, with an interval.
    #[serde(skip)]
    pub excess: Cost,
    /// Mean excess CPI by interval: the first step of the aggregation of Mogul and Borg 1990 (section 3.3).
    pub excess_cpi: Vec<Option<f64>>,
    /// Misses by level, then by TLB; empty for records of earlier versions.
    pub levels: Vec<ProcessLevel>,
}

/// Misses of all processes of a name in one level.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct ProcessLevel {
    /// Name of the level.
    pub level: String,
    /// References that missed.
    pub misses: ByView<u64>,
    /// References of the processes that missed, per thousand of their instructions.
    pub mpki: ByView<f64>,
}

/// Effect of short segments' ends on the curve of a group.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct SurvivorBias {
    /// Group of the segments.
    #[serde(flatten, serialize_with = "group")]
    #[schemars(with = "KindAndName<'static>")]
    pub group: Group,
    /// Number of segments.
    pub segments: u64,
    /// Number of segments that reach the last interval before the cut-off.
    pub survivors: u64,
    /// Private CPI of all segments over the first tenth of the curve.
    pub early_private_cpi: f64,
    /// Private CPI over the first tenth of the curve of the surviving segments only.
    pub early_private_cpi_of_survivors: f64,
    /// Cost of a switch computed from the surviving segments only.
    pub cost_of_survivors_cycles: f64,
    /// Whether the two private CPIs differ by more than a twentieth.
    pub bites: bool,
    /// The program whose share of the segments grows most towards the cut-off.
    pub grows: Option<Growth>,
}

/// A program whose share of the segments grows.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Growth {
    /// Name of the program.
    pub program: String,
    /// Share of the program in all segments.
    pub share_at_start: f64,
    /// Share of the program in the segments that reach the cut-off.
    pub share_at_cut: f64,
}

/// A part of the hierarchy in which excess cycles arise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// Misses of instruction fetches.
    Instructions,
    /// Misses of loads and stores.
    Data,
    /// Misses of TLBs.
    Tlb,
    /// Stores that wait for a write buffer.
    WriteStalls,
}

/// Excess cycles of one part. The parts add up to all excess cycles.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct ExcessPart {
    /// Part of the hierarchy.
    pub part: Part,
    /// Excess cycles.
    pub cycles: f64,
    /// Share of all excess cycles; `None` if there is no excess.
    pub share: Option<f64>,
}

/// Misses of one level, and the effect of switches on it.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
#[schemars(rename = "LevelRates")]
pub struct LevelFinding {
    /// Name of the level.
    pub level: String,
    /// Misses per thousand instructions; `None` without instructions.
    pub mpki: Option<ByView<f64>>,
    /// Lookups per switch that missed in the shared hierarchy and not in the private one, without first touches; `None` if they were
    /// not compared.
    pub lost_per_switch: Option<f64>,
    /// Lookups per switch that missed in the private hierarchy and not in the shared one; `None` if they were not compared.
    pub gained_per_switch: Option<f64>,
    /// Lines of the level, or entries of the TLB.
    pub lines: u64,
    /// Maximum number of lines held at any time in the shared hierarchy, or an upper bound. If it
    /// is less than `lines`, no line was evicted for lack of room in the whole level, and the trace
    /// may be too short to show what switches cost there.
    pub most_held: u64,
    /// Whether at least three quarters of the lines were held. If not, the level's numbers say
    /// nothing about switches.
    pub was_full: bool,
    /// Instructions after which the level would be full, extrapolated from the growth over the last
    /// half; `None` if it was full, or if the growth cannot be extrapolated.
    pub full_at_instructions: Option<f64>,
    /// Whether even a longer trace would not fill the level, because its number of lines hardly
    /// grew any more.
    pub is_never_full: bool,
}

/// Share of the lines from which a level counts as full: some sets are hardly used, however long
/// the trace.
pub const FULL_FROM: f64 = 0.75;

/// Returns the share of a level's lines that were held; it may exceed 1.
pub(crate) fn filled(most_held: u64, lines: u64) -> f64 {
    (most_held as f64 / lines as f64).min(1.0)
}

impl LevelFinding {
    /// Returns the share of the level that the trace filled; it may exceed 1.
    pub fn filled(&self) -> f64 {
        filled(self.most_held, self.lines)
    }
}

/// Traffic between one level of the shared hierarchy and the next.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
#[schemars(rename = "Traffic")]
pub struct TrafficFinding {
    /// Name of the level.
    pub level: String,
    /// Bytes brought in per thousand instructions, on demand and by prefetches.
    pub filled_bytes: f64,
    /// Bytes of modified lines that left, per thousand instructions.
    pub written_back_bytes: f64,
    /// Bytes of unmodified lines that an exclusive level took, per thousand instructions.
    pub moved_bytes: f64,
    /// Share of all cycles in which the bus to the next level was busy; `None` if the bus takes no time.
    pub bus_share: Option<f64>,
    /// Lines per thousand instructions lost because a later, inclusive level lost them.
    pub back_invalidations: f64,
    /// Success of prefetching; `None` if no line was prefetched.
    pub prefetching: Option<PrefetchFinding>,
}

/// Success of prefetching in one level.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
#[schemars(rename = "Prefetching")]
pub struct PrefetchFinding {
    /// Share of prefetched lines that were requested.
    pub accuracy: f64,
    /// Share of requested lines, absent on demand, that had been prefetched.
    pub coverage: Option<f64>,
    /// Share of lines found in stream buffers that were still on their way.
    pub late: Option<f64>,
}

/// Average effect of a switch on one level's lines.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct LossFinding {
    /// Name of the level.
    pub level: String,
    /// Number of returns to the CPU that are averaged.
    pub returns: u64,
    /// Lines that a process has in the level when it leaves.
    pub resident: f64,
    /// Number of the process's lines in the level that are lost when it returns.
    pub lost: f64,
    /// Number of lost lines that are brought back before the process leaves again.
    pub restored: f64,
}

/// Origins of the misses of one level.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct OriginFinding {
    /// Name of the level.
    pub level: String,
    /// All misses.
    pub misses: u64,
    /// Misses that the private hierarchy has, too.
    pub intrinsic: u64,
    /// Misses on lines evicted by others.
    pub evicted_by_others: u64,
    /// Misses on lines evicted by the kernel while others ran.
    pub evicted_by_kernel: u64,
    /// Misses on lines that the process evicted itself, because others had aged them or taken their room.
    pub aged_by_others: u64,
    /// Misses on lines flushed at a switch.
    pub flushed: u64,
    /// Misses on lines that the process evicted itself, in a level in which no other process need
    /// have caused it.
    pub state: u64,
}

/// Evictions by program of the evictor and of the victim.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct EvictionTable {
    /// Name of the level.
    pub level: String,
    /// Programs, those with most lines first; if there are more, the last entry stands for all others.
    pub programs: Vec<String>,
    /// Number of lines by evictor, then by victim, in the order of `programs`.
    pub lines: Vec<Vec<u64>>,
}

/// A number for one level.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct OfLevel {
    /// Name of the level.
    pub level: String,
    /// Value of the number.
    pub number: f64,
}

/// A place in code or data, with the excess cycles attributed to it.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct PlaceFinding {
    /// Name of the program; hostile text until escaped.
    pub program: String,
    /// Why the task had left the CPU.
    pub cause: String,
    /// Function or variable, or file and offset; for kernel memory its contents.
    pub place: String,
    /// Source file and line of code, if known.
    pub line: Option<String>,
    /// Excess cycles attributed to the place.
    pub excess_cycles: i64,
    /// Share of the design's excess cycles; `None` if there is no excess.
    pub share: Option<f64>,
}

/// A place whose lookups evicted lines of others.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct EvictorFinding {
    /// Name of the level.
    pub level: String,
    /// Name of the program (hostile text until escaped), or the kernel.
    pub whose: String,
    /// Whether the place is code; otherwise data.
    pub is_code: bool,
    /// Name of the place, as in [`PlaceFinding::place`].
    pub place: String,
    /// Number of lines of other owners that were evicted.
    pub lines: u64,
    /// Share of all lines that left the level for another owner's line.
    pub share: Option<f64>,
}

/// Mean cost of a system call in the kernel, over calls during which the task kept the CPU.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct CallFinding {
    /// Name of the system call.
    pub syscall: String,
    /// Number of system calls that are averaged.
    pub calls: u64,
    /// Number of other calls, during which the task left the CPU.
    pub with_switch: u64,
    /// Instructions per system call.
    pub instructions: f64,
    /// Cycles per system call on the shared hierarchy, including one per instruction.
    pub cycles: f64,
    /// Share of the trace's cycles that all system calls of this name take.
    pub share: Option<f64>,
    /// Misses per system call, by cache level, then by TLB.
    pub misses: Vec<OfLevel>,
    /// Lines of the calling process that a system call evicts, by level.
    pub driven_out: Vec<OfLevel>,
}

/// The multiprogramming misses that Agarwal's model expects in one level.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct AgarwalLevel {
    /// Name of the level.
    pub level: String,
    /// Lines of a process touched in a segment (the model's u).
    pub lines_touched: f64,
    /// Lines of the level (the model's S).
    pub lines: u64,
    /// Misses per switch: u^2 (p - 1) / S.
    pub misses_per_switch: f64,
    /// Misses per switch if lines fall on sets at random and none is lost twice; at most u.
    pub misses_at_most: f64,
}

/// Agarwal's model of multiprogramming misses, for comparison with the simulation.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Agarwal {
    /// Number of processes that alternate (the model's p): one more than run between a departure
    /// and the return.
    pub processes: f64,
    /// Mean length of a segment in references (the model's t).
    pub segment_references: f64,
    /// Numbers of the model by level.
    pub levels: Vec<AgarwalLevel>,
    /// Cycles per switch: all levels' misses times their miss cycles.
    pub cycles_per_switch: f64,
    /// Cycles per switch if no line is lost twice.
    pub cycles_at_most: f64,
    /// Whether u (p - 1) exceeds S in some level, so that the formula does not hold.
    pub is_beyond_range: bool,
}

/// Number of switches of the trace, by kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Switches {
    /// Switches at which the task left the CPU by itself.
    pub voluntary: u64,
    /// Switches at which the task was preempted.
    pub involuntary: u64,
}

/// Findings of one design.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
#[schemars(rename = "Design")]
pub struct DesignFinding {
    /// Name of the design.
    pub name: String,
    /// Level of detail of the findings.
    pub depth: DetailLevel,
    /// Shortest and longest time of a cycle, in nanoseconds.
    pub cycle_ns: Option<[f64; 2]>,
    /// Instructions of the trace.
    pub instructions: u64,
    /// Loads and stores of the trace.
    pub data_refs: u64,
    /// Switches of the trace, without the start of the first task.
    pub switches: Switches,
    /// Counters of the three hierarchies.
    #[serde(flatten, serialize_with = "rows::hierarchies")]
    #[schemars(with = "rows::Hierarchies<'static>")]
    pub hierarchies: ByView<HierarchyCounts>,
    /// Cycles per instruction of the shared hierarchy over the whole trace.
    pub cpi: Cost,
    /// Net cost: excess cycles per switch up to the cut-off, without first touches. It is `lost_cycles` minus `gained_cycles` plus
    /// `state_cycles`.
    pub average_cost_cycles: Cost,
    /// Part of the cost [lost to others](../method/simulation.md#lost-to-others-gained-from-others).
    pub lost_cycles: Cost,
    /// Part of the cost gained from others: saved by lines that they brought in.
    pub gained_cycles: Cost,
    /// Part of the cost due to the state of replacement, prefetch, buffers and buses.
    pub state_cycles: Cost,
    /// All cycles saved at [first touches](../method/simulation.md#cycles-gained), each once; no
    /// other number contains them. `None` if lookups were not compared: then the cost contains the
    /// saved cycles, as a gain.
    pub first_touch_cycles: Option<f64>,
    /// All cycles lost, without a cut-off, [by cause](../method/simulation.md#cycles-lost).
    pub lost_to: Option<LostCycles>,
    /// Cycles lost as a share of all cycles.
    #[serde(rename = "lost_percent", serialize_with = "rows::in_percent")]
    pub lost_share: Option<f64>,
    /// Average cost in nanoseconds, with the shortest and the longest cycle.
    pub average_cost_ns: Option<[Cost; 2]>,
    /// Cut-off of the curves.
    pub cut: Cut,
    /// Excess cycles as a share of all cycles: what Mogul and Borg 1990 call overhead.
    #[serde(rename = "overhead_percent", serialize_with = "rows::in_percent")]
    pub overhead: Option<f64>,
    /// Excess cycles as a share of all cycles, with an interval.
    #[serde(skip)]
    pub overhead_share: Cost,
    /// Average cost times number of switches, divided by all cycles, as in Table 4 of Mogul and
    /// Borg 1990. This exceeds the overhead if short time slices pay less than the average cost.
    #[serde(skip)]
    pub table_4_overhead: Cost,
    /// Excess cycles per switch of a time slice that lasts up to the cut-off, to its end.
    #[serde(skip)]
    pub long_turns: Cost,
    /// Shared minus private cycles, without a cut-off and without first touches.
    pub excess_cycles: f64,
    /// Excess cycles per switch, without a cut-off.
    pub excess_cycles_per_switch: Option<f64>,
    /// Excess cycles as a share of all cycles, without a cut-off.
    #[serde(rename = "excess_percent", serialize_with = "rows::in_percent")]
    pub excess_share: Option<f64>,
    /// Flushed minus private cycles per switch: the cold bound.
    pub flushed_cycles_per_switch: Option<f64>,
    /// Cycles to bring in every line and TLB entry once.
    pub reload_bound_cycles: u64,
    /// Findings of Agarwal's model.
    pub agarwal: Option<Agarwal>,
    /// Why Agarwal's model does not apply; `None` if it does.
    pub agarwal_why: Option<String>,
    /// Curves of all segments, by class and by cause.
    pub groups: Vec<GroupFinding>,
    /// Findings by program name, most instructions first.
    pub processes: Vec<ProcessFinding>,
    /// Survivor bias of all segments and of those after involuntary switches.
    pub survivor_bias: Vec<SurvivorBias>,
    /// Excess cycles by part of the hierarchy.
    pub parts: Vec<ExcessPart>,
    /// Findings of caches, then of TLBs.
    pub levels: Vec<LevelFinding>,
    /// Traffic between caches and their next level.
    pub traffic: Vec<TrafficFinding>,
    /// Origins of misses, by level.
    pub origins: Vec<OriginFinding>,
    /// [What the lost lines cost in time](../method/simulated-cost.md#time), if prices of the design are known.
    pub time_lost: Option<TimeLost>,
    /// Lines lost and restored, by level.
    pub losses: Vec<LossFinding>,
    /// Evictions by process, by level.
    pub evictions: Vec<EvictionTable>,
    /// Level whose additional misses in the shared hierarchy cost most.
    #[serde(skip)]
    pub costliest_level: Option<String>,
    /// [Evictors of other tasks' lines](../method/simulation.md#evictors-of-other-tasks-lines), by level.
    pub evictors: Vec<EvictorFinding>,
    /// Excess cycles attributed to code.
    pub code: Vec<PlaceFinding>,
    /// Excess cycles [attributed to data](../method/simulation.md#most-affected-data); `line` is null.
    pub data: Vec<PlaceFinding>,
    /// [System calls](../method/simulation.md#system-calls) that kept the CPU, most cycles first, if the trace has a kernel.
    pub calls: Vec<CallFinding>,
    /// Work of the kernel, if the trace has a kernel.
    pub kernel: Option<KernelFinding>,
    /// Source of [physical addresses](design.md#physical-addresses), if any level has a physical index or tag. Null also for records of
    /// earlier versions.
    pub physical_pages: Option<PhysicalPages>,
    /// Notes on the numbers.
    pub flags: Vec<Flag>,
}

impl DesignFinding {
    /// Returns the share of all excess cycles that arises after the switches of a group; `None` if
    /// there is no excess.
    pub fn share_of_excess(&self, group: &GroupFinding) -> Option<f64> {
        (self.excess_cycles > 0.0).then(|| group.excess_cycles / self.excess_cycles)
    }

    /// Returns the mean cost over all time slices, in cycles per switch, if it differs clearly from
    /// the average cost, because short slices differ from long ones (see
    /// [`DesignFinding::long_turns`]). Returns `None` otherwise, and if the cycles include first
    /// touches.
    pub fn average_of_all_turns(&self) -> Option<f64> {
        let cost = &self.average_cost_cycles;
        let estimate = cost.estimate?;
        let near = (1.0 - NEAR) * estimate..=(1.0 + NEAR) * estimate;
        let covered = cost.low.unwrap_or(estimate)..=cost.high.unwrap_or(estimate);
        self.first_touch_cycles?;
        self.long_turns.estimate?;
        self.excess_cycles_per_switch
            .filter(|mean| !near.contains(mean) && !covered.contains(mean))
    }
}

/// Largest relative difference of a mean from the cost that counts as equal.
const NEAR: f64 = 0.1;

/// Returns the class of a cause, in the grouping of Mogul and Borg 1990.
pub(crate) fn class_of(cause: &SwitchCause) -> usize {
    match (cause.entry.as_str(), cause.is_voluntary) {
        ("page-fault", _) => 1,
        ("birth" | "exit" | "unknown", _) => 3,
        (_, false) => 2,
        ("syscall", true) => 0,
        _ => 3,
    }
}

/// Names of the classes, in the order of their numbers.
pub(crate) const CLASSES: [&str; 4] = ["system call", "page fault", "involuntary", "other"];

/// Returns a cause in words: `voluntary syscall read`, `involuntary quantum`, `birth`.
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
