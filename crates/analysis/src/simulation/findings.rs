use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use switchcost_design::result::{
    ByView, DetailLevel, HierarchyCounts, LostCycles, PhysicalPages, PrivateBy, SwitchCause,
};

use super::rows;
use super::time_lost::TimeLost;
use crate::Flag;

/// Everything found in the record of a simulation.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Findings {
    /// Length of an interval.
    pub interval_instructions: u64,
    /// Who has a private hierarchy: wherever a process is named, it is one of these.
    pub private_by: PrivateBy,
    /// Curves are integrated up to where this share of the segments remains.
    pub cut_share: f64,
    /// Distributions of segment lengths.
    pub lengths: Vec<LengthDistribution>,
    /// Tasks beside the first of each process that ran: threads, which count as one process here. 0 if no design distinguishes segments.
    #[serde(skip)]
    pub threads: u64,
    /// In the order of the record.
    pub designs: Vec<DesignFinding>,
    /// `private-by-task`, `source` (a note of the trace: what its source left out or had to make up), `incomplete`, `part` (which part of the trace it is, and
    /// what its warm-up changed), `many-intervals`.
    pub flags: Vec<Flag>,
}

/// A number with its interval, or why one of them cannot be had.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize)]
pub struct Cost {
    /// The centre.
    pub estimate: Option<f64>,
    /// Lower end of the interval.
    pub low: Option<f64>,
    /// Upper end of the interval.
    pub high: Option<f64>,
    /// Confidence of the interval.
    pub confidence: Option<f64>,
    /// Batches or trials behind the interval.
    pub n: Option<usize>,
    /// How the interval was found.
    pub method: Option<&'static str>,
    /// Why the estimate or its interval is missing.
    pub why: Option<String>,
    /// The same statistic without one batch of consecutive segments each, in the order of the batches, if the interval
    /// is made from them: what a comparison on the same trace pairs.
    #[serde(skip)]
    pub without_one: Vec<f64>,
}

impl Cost {
    /// No number.
    pub(crate) fn none(why: impl Into<String>) -> Self {
        Cost {
            why: Some(why.into()),
            ..Cost::default()
        }
    }

    /// Whether the interval is known and lies on one side of zero.
    pub fn is_distinguishable_from_zero(&self) -> bool {
        matches!((self.low, self.high), (Some(low), Some(high)) if low > 0.0 || high < 0.0)
    }

    /// Whether the interval is known and covers zero.
    pub fn is_covering_zero(&self) -> bool {
        self.low.is_some() && self.high.is_some() && !self.is_distinguishable_from_zero()
    }

    /// Half of the interval over the estimate. None if one of them is missing, or the estimate is 0.
    pub fn precision(&self) -> Option<f64> {
        let half = (self.high? - self.low?) / 2.0;
        self.estimate
            .filter(|estimate| *estimate != 0.0)
            .map(|estimate| half / estimate.abs())
    }

    /// The cost as a gain: what is below 0 above it, and the other way round.
    #[must_use]
    pub fn as_gain(&self) -> Self {
        let minus = |number: Option<f64>| number.map(|number| -number);
        let without_one = self.without_one.iter().map(|value| -value).collect();
        let (estimate, low, high) = (minus(self.estimate), minus(self.high), minus(self.low));
        Cost {
            estimate,
            low,
            high,
            without_one,
            ..self.clone()
        }
    }

    /// All numbers times `factor`, which is positive.
    #[must_use]
    pub fn times(&self, factor: f64) -> Self {
        let scaled = |number: Option<f64>| number.map(|number| number * factor);
        let without_one = self
            .without_one
            .iter()
            .map(|value| value * factor)
            .collect();
        let (estimate, low, high) = (scaled(self.estimate), scaled(self.low), scaled(self.high));
        Cost {
            estimate,
            low,
            high,
            without_one,
            ..self.clone()
        }
    }
}

/// What the kernel takes on the shared hierarchy, with intervals from batches of consecutive switches.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct KernelFinding {
    /// The kernel's instructions over switches: those of system calls, faults and interrupts, too.
    pub instructions_per_switch: Cost,
    /// All cycles that are lost to other processes, over switches.
    pub lost_to_processes_cycles: Cost,
    /// All cycles that are lost to the kernel, over switches.
    pub lost_to_kernel_cycles: Cost,
    /// Of a system call that keeps the CPU.
    pub instructions_per_call: Cost,
    /// Of a system call that keeps the CPU.
    pub cycles_per_call: Cost,
    /// By level, then by TLB.
    pub fills_per_switch: Vec<KernelFills>,
    /// Those that execute most, most first; empty for records of earlier versions.
    pub functions: Vec<FunctionFinding>,
}

/// What a function of the kernel's takes on the shared hierarchy, over switches: that of system calls, faults and interrupts, too.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
#[schemars(rename = "KernelFunction")]
pub struct FunctionFinding {
    /// Its name; hostile data. Code without a name has that of its page's address.
    pub function: String,
    /// Instructions.
    pub instructions_per_switch: f64,
    /// Lines, or translations, brought in on demand for its code and for what that loads and stores, by level, then by TLB.
    pub misses_per_switch: Vec<FunctionMisses>,
}

/// What it misses in one level.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct FunctionMisses {
    /// The level.
    pub level: String,
    /// Misses over switches.
    pub misses: f64,
}

/// What the kernel brings into a level.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct KernelFills {
    /// The level.
    pub level: String,
    /// Lines, or translations, brought in on demand for the kernel's addresses, over switches.
    pub fills: Cost,
}

/// Which segments are looked at together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// All of them.
    All,
    /// One of the classes of Mogul and Borg: `system call`, `page fault`, `involuntary`, or `other` (births, exits).
    Class(&'static str),
    /// One cause: whether voluntary, and the kernel entry.
    Cause(String),
    /// As `Class`, by why the segment ends instead of why it begins.
    EndClass(&'static str),
    /// In a guest: of `programs`, or of `kernel threads`, which enter the kernel by nothing.
    Tasks(&'static str),
}

/// Those of a guest's tasks that are processes, and those that are not.
pub const TASKS: [&str; 2] = ["programs", "kernel threads"];

impl Group {
    /// What it is made of, in every format for programs.
    pub fn kind(&self) -> &'static str {
        match self {
            Group::All => "all",
            Group::Class(_) => "class",
            Group::Cause(_) => "cause",
            Group::EndClass(_) => "end-class",
            Group::Tasks(_) => "tasks",
        }
    }

    /// The name of the class or cause.
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
    /// `all`; `class`; `cause`; `end-class`: by why segments end; `tasks`: a guest's `programs` or
    /// `kernel threads`.
    kind: &'static str,
    /// Of a class: `system call`, `page fault`, `involuntary`, `other`; of a cause: such as `voluntary syscall read`.
    name: &'a str,
}

fn group<S: Serializer>(group: &Group, serializer: S) -> Result<S::Ok, S::Error> {
    KindAndName {
        kind: group.kind(),
        name: group.name(),
    }
    .serialize(serializer)
}

/// How long segments run.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
#[schemars(rename = "Lengths")]
pub struct LengthDistribution {
    /// Which segments.
    #[serde(flatten, serialize_with = "group")]
    #[schemars(with = "KindAndName<'static>")]
    pub group: Group,
    /// How many.
    pub segments: u64,
    /// Half of them run at most so many instructions.
    pub median_instructions: u64,
    /// Their mean length.
    pub mean_instructions: f64,
    /// The longest.
    pub max_instructions: u64,
    /// From short to long.
    pub points: Vec<LengthPoint>,
}

/// A point of the distribution of lengths.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct LengthPoint {
    /// So many instructions ...
    pub instructions: u64,
    /// ... and the share of the group's segments that run at most so many.
    pub share: f64,
}

/// Mean over segments with its spread, in one interval of one view.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize)]
pub struct Spread {
    /// Cycles over instructions, of all segments together.
    pub mean: f64,
    /// Standard deviation between segments; `None` with one segment, and if the record holds sums over segments.
    pub sd: Option<f64>,
    /// The largest of a segment that ran at least half of the interval; `None` if none did, and for sums.
    pub max: Option<f64>,
}

/// One interval of a curve.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Point {
    /// Number of the interval.
    pub interval: u32,
    /// Instructions since the switch at its beginning.
    pub since_switch_instructions: u64,
    /// Segments that reach it.
    pub segments: u64,
    /// Their share of the group's segments.
    pub survivors: f64,
    /// Cycles an instruction, shared hierarchy.
    pub shared_cpi: Spread,
    /// The same, private hierarchies.
    pub private_cpi: Spread,
    /// Shared less private.
    pub excess_cpi: Spread,
    /// Cycles an instruction in the hierarchy that each switch empties.
    pub flushed_cpi: f64,
    /// Excess cycles from the switch to the end of this interval.
    pub cumulative_excess_cycles: f64,
}

/// Where the integration of a curve ends.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Cut {
    /// Instructions since the switch.
    pub instructions: u64,
    /// Whether only the wanted share of segments remains there; otherwise the recorded intervals end before.
    pub is_reached: bool,
    /// Whether the place is known only to the interval.
    pub is_rounded: bool,
}

/// The curve and the cost of one group of segments in one design.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
#[schemars(rename = "Curve")]
pub struct GroupFinding {
    /// Which segments.
    #[serde(flatten, serialize_with = "group")]
    #[schemars(with = "KindAndName<'static>")]
    pub group: Group,
    /// How many.
    pub segments: u64,
    /// Half of them run at most so many; `None` if the record holds sums over segments.
    pub median_instructions: Option<u64>,
    /// Net cost of a switch, up to the cut-off, without first touches. It is what is lost, less what is gained, and what the state of
    /// replacement, prefetch and buffers differs by.
    pub cost_cycles: Cost,
    /// Of those, lost to others.
    pub lost_cycles: Cost,
    /// Of those, gained from others.
    pub gained_cycles: Cost,
    /// Of those, what the state of replacement and prefetch, and of buffers and buses, differs by, which no process caused, of either sign.
    pub state_cycles: Cost,
    /// Where the curve is cut off.
    pub cut: Cut,
    /// All excess cycles of these segments, to their very ends.
    pub excess_cycles: f64,
    /// One for each interval that a segment reaches.
    #[serde(rename = "points")]
    pub curve: Vec<Point>,
}

/// One process, or all processes of a name.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct ProcessFinding {
    /// The name; hostile data.
    pub name: String,
    /// How many processes have it.
    pub processes: u64,
    /// Their segments: those that a switch begins, and what an exec leaves of one to the program that it starts.
    pub segments: u64,
    /// Their instructions in segments.
    pub instructions: u64,
    /// Cycles an instruction, shared hierarchy.
    pub shared_cpi: f64,
    /// The same, private hierarchies.
    pub private_cpi: f64,
    /// Excess cycles a segment, to its very end.
    pub excess_cycles_per_switch: f64,
    /// The same with its interval.
    #[serde(skip)]
    pub excess: Cost,
    /// Mean excess CPI by interval: the first step of the aggregation of Mogul and Borg 1990, section 3.3.
    pub excess_cpi: Vec<Option<f64>>,
    /// By level, then by TLB; empty for records that were written before it was counted.
    pub levels: Vec<ProcessLevel>,
}

/// What all processes of a name miss in one level.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct ProcessLevel {
    /// Its name.
    pub level: String,
    /// References that missed.
    pub misses: ByView<u64>,
    /// The same per thousand of their instructions.
    pub mpki: ByView<f64>,
}

/// What the end of short segments does to the curve of a group.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct SurvivorBias {
    /// Which segments.
    #[serde(flatten, serialize_with = "group")]
    #[schemars(with = "KindAndName<'static>")]
    pub group: Group,
    /// Of so many segments ...
    pub segments: u64,
    /// ... so many reach the last interval before the cut-off.
    pub survivors: u64,
    /// Private CPI of all segments over the first tenth of the curve.
    pub early_private_cpi: f64,
    /// The same of those that survive alone.
    pub early_private_cpi_of_survivors: f64,
    /// Cost of those that survive alone.
    pub cost_of_survivors_cycles: f64,
    /// Whether the two curves differ by more than a twentieth.
    pub bites: bool,
    /// The program whose share of the segments grows most.
    pub grows: Option<Growth>,
}

/// A program whose share of the segments grows.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Growth {
    /// Its name.
    pub program: String,
    /// Of all segments.
    pub share_at_start: f64,
    /// Of those that reach the cut-off.
    pub share_at_cut: f64,
}

/// A part of the hierarchy that excess cycles arise in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// Instruction fetches.
    Instructions,
    /// Loads and stores.
    Data,
    /// TLBs.
    Tlb,
    /// Stores that wait for a write buffer.
    WriteStalls,
}

/// Excess cycles by part; together they are all of them.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct ExcessPart {
    /// The part.
    pub part: Part,
    /// Excess cycles.
    pub cycles: f64,
    /// Of all excess cycles; `None` if there is no excess to share.
    pub share: Option<f64>,
}

/// How often one level misses, and what switches have to do with it.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
#[schemars(rename = "LevelRates")]
pub struct LevelFinding {
    /// Its name.
    pub level: String,
    /// Misses per thousand instructions; `None` without instructions.
    pub mpki: Option<ByView<f64>>,
    /// Lookups per switch that missed in the shared hierarchy and not in the private one, first touches apart; `None` if they were not
    /// compared.
    pub lost_per_switch: Option<f64>,
    /// The other way round.
    pub gained_per_switch: Option<f64>,
    /// Lines that it has, or entries.
    pub lines: u64,
    /// The most lines that it held at one time in the shared hierarchy, or an upper bound. If it is less than `lines`, no line left for
    /// lack of room in all of it, and the trace may be too short to show what switches cost there.
    pub most_held: u64,
    /// False if that is less than three quarters of them, so that it says nothing about switches there.
    pub was_full: bool,
    /// Instructions after which it would be, by how its lines grew over the last half; `None` if it was, or nothing can be foretold.
    pub full_at_instructions: Option<f64>,
    /// Whether it would not be with a longer trace either: lines hardly grew any more.
    pub is_never_full: bool,
}

/// A level counts as full where so much of it is: some sets of a level are hardly used, however long the trace.
pub const FULL_FROM: f64 = 0.75;

/// The share of the lines of a level that were held, or one above.
pub(crate) fn filled(most_held: u64, lines: u64) -> f64 {
    (most_held as f64 / lines as f64).min(1.0)
}

impl LevelFinding {
    /// Lookups lost a switch, which are known if the trace filled it.
    pub fn lost_where_full(&self) -> Option<f64> {
        self.lost_per_switch.filter(|_| self.was_full)
    }

    /// The same of those gained.
    pub fn gained_where_full(&self) -> Option<f64> {
        self.gained_per_switch.filter(|_| self.was_full)
    }

    /// The share of it that the trace filled, or one above.
    pub fn filled(&self) -> f64 {
        filled(self.most_held, self.lines)
    }
}

/// What goes between one level of the shared hierarchy and the next.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
#[schemars(rename = "Traffic")]
pub struct TrafficFinding {
    /// The level.
    pub level: String,
    /// Bytes brought in per thousand instructions, on demand and before.
    pub filled_bytes: f64,
    /// Bytes of modified lines that left, per thousand instructions.
    pub written_back_bytes: f64,
    /// Bytes of other lines that an exclusive level took, per thousand instructions.
    pub moved_bytes: f64,
    /// Share of all cycles in which the bus to the next level was taken; `None` if it takes no time.
    pub bus_share: Option<f64>,
    /// Lines per thousand instructions that an inclusive level after took away.
    pub back_invalidations: f64,
    /// What prefetching is worth; `None` if no line was prefetched.
    pub prefetching: Option<PrefetchFinding>,
}

/// What prefetching is worth in one level.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
#[schemars(rename = "Prefetching")]
pub struct PrefetchFinding {
    /// Of prefetched lines, the share that was asked for.
    pub accuracy: f64,
    /// Of those asked for and not there on demand, the share that had been prefetched.
    pub coverage: Option<f64>,
    /// Of lines found in stream buffers, the share that was still on its way.
    pub late: Option<f64>,
}

/// What switches do to one level's lines, a switch on average.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct LossFinding {
    /// The level.
    pub level: String,
    /// Switches behind it.
    pub returns: u64,
    /// Lines that a process has there when it leaves.
    pub resident: f64,
    /// Of those, lost when it comes back.
    pub lost: f64,
    /// Of those, brought back before it leaves again.
    pub restored: f64,
}

/// Where the misses of one level come from.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct OriginFinding {
    /// The level.
    pub level: String,
    /// All.
    pub misses: u64,
    /// Missed in a private hierarchy, too.
    pub intrinsic: u64,
    /// Driven out by others.
    pub evicted_by_others: u64,
    /// Driven out by the kernel while others ran.
    pub evicted_by_kernel: u64,
    /// Driven out by itself, since others had made it old or taken its room.
    pub aged_by_others: u64,
    /// Flushed at a switch.
    pub flushed: u64,
    /// Driven out by itself in a level if no process need have caused it.
    pub state: u64,
}

/// Who drives out whose lines, by program.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct EvictionTable {
    /// The level.
    pub level: String,
    /// The programs, those with most lines first; the last stands for all others if there are more.
    pub programs: Vec<String>,
    /// Lines by evictor, then by victim, in the order of `programs`.
    pub lines: Vec<Vec<u64>>,
}

/// A number for one level.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct OfLevel {
    /// The level.
    pub level: String,
    /// The number.
    pub number: f64,
}

/// A place in code or data, and the excess cycles attributed to it.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct PlaceFinding {
    /// The program; hostile data.
    pub program: String,
    /// Why the task had left the CPU.
    pub cause: String,
    /// Function or variable, or file and offset; of the kernel's memory what it holds.
    pub place: String,
    /// Source file and line of code, if known.
    pub line: Option<String>,
    /// Excess cycles.
    pub excess_cycles: i64,
    /// Of the design's excess cycles; `None` if there is no excess to share.
    pub share: Option<f64>,
}

/// What a program or the kernel looked up when lines of others were evicted for it.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct EvictorFinding {
    /// The level.
    pub level: String,
    /// The program, hostile data; or the kernel.
    pub whose: String,
    /// Whether it is code; else data.
    pub is_code: bool,
    /// As [`PlaceFinding::place`].
    pub place: String,
    /// Lines of others that left.
    pub lines: u64,
    /// Of all lines that left the level for another owner's.
    pub share: Option<f64>,
}

/// What a system call takes in the kernel, of those during which the task kept the CPU; on average.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct CallFinding {
    /// Its name.
    pub syscall: String,
    /// So many calls are behind the averages.
    pub calls: u64,
    /// So many more during which the task left the CPU.
    pub with_switch: u64,
    /// Instructions of a call.
    pub instructions: f64,
    /// Cycles of a call on the shared hierarchy, these instructions' own included.
    pub cycles: f64,
    /// Of all cycles of the trace, those of all these calls.
    pub share: Option<f64>,
    /// Misses of a call, by level, then by TLB.
    pub misses: Vec<OfLevel>,
    /// Lines of the calling process that a call drives out, by level.
    pub driven_out: Vec<OfLevel>,
}

/// The multiprogramming misses that Agarwal's model expects in one level.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct AgarwalLevel {
    /// The level.
    pub level: String,
    /// u: lines of a process touched in a segment.
    pub lines_touched: f64,
    /// S: lines of the level.
    pub lines: u64,
    /// u^2 (p - 1) / S: misses a switch.
    pub misses_per_switch: f64,
    /// The same if lines fall on sets at random and none is lost twice; never above u.
    pub misses_at_most: f64,
}

/// Agarwal's model of multiprogramming misses beside the simulation.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Agarwal {
    /// p: processes that take turns; one more than the others that run between a departure and the return.
    pub processes: f64,
    /// t: mean length of a segment in references.
    pub segment_references: f64,
    /// By level.
    pub levels: Vec<AgarwalLevel>,
    /// Cycles a switch, all levels' misses times their miss cycles.
    pub cycles_per_switch: f64,
    /// The same if no line is lost twice.
    pub cycles_at_most: f64,
    /// Whether u (p - 1) is above S somewhere: there the first form does not hold.
    pub is_beyond_range: bool,
}

/// Switches of the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Switches {
    /// By will of the task that left.
    pub voluntary: u64,
    /// Other switches.
    pub involuntary: u64,
}

/// What was found out about one design.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
#[schemars(rename = "Design")]
pub struct DesignFinding {
    /// The design's.
    pub name: String,
    /// How much is said about it.
    pub depth: DetailLevel,
    /// Shortest and longest time of a cycle.
    pub cycle_ns: Option<[f64; 2]>,
    /// Of the trace.
    pub instructions: u64,
    /// Loads and stores of the trace.
    pub data_refs: u64,
    /// The start of the first task does not count.
    pub switches: Switches,
    /// Counters of the three hierarchies.
    #[serde(flatten, serialize_with = "rows::hierarchies")]
    #[schemars(with = "rows::Hierarchies<'static>")]
    pub hierarchies: ByView<HierarchyCounts>,
    /// Cycles over instructions of the shared hierarchy, all of the trace.
    pub cpi: Cost,
    /// Net: excess cycles per switch up to the cut-off, first touches apart. It is `lost_cycles` less `gained_cycles` plus `state_cycles`.
    pub average_cost_cycles: Cost,
    /// Of these, [lost to others](../method/simulation.md#lost-to-others-gained-from-others).
    pub lost_cycles: Cost,
    /// Of these, gained from others: saved by lines that they brought in.
    pub gained_cycles: Cost,
    /// Of these, what the state of replacement, prefetch and buffers differs by, and of buffers and buses.
    pub state_cycles: Cost,
    /// All cycles saved at [first touches](../method/simulation.md#cycles-gained), once, and in no other number; `None` if lookups were not
    /// compared: there they are in the cost, as a gain.
    pub first_touch_cycles: Option<f64>,
    /// All cycles lost, no cut-off, [by cause](../method/simulation.md#cycles-lost).
    pub lost_to: Option<LostCycles>,
    /// Cycles lost over all cycles.
    #[serde(rename = "lost_percent", serialize_with = "rows::in_percent")]
    pub lost_share: Option<f64>,
    /// The average cost with the shortest and the longest cycle.
    pub average_cost_ns: Option<[Cost; 2]>,
    /// Where curves are cut off.
    pub cut: Cut,
    /// Excess cycles over all cycles: what Mogul and Borg 1990 call overhead.
    #[serde(rename = "overhead_percent", serialize_with = "rows::in_percent")]
    pub overhead: Option<f64>,
    /// The same with its interval.
    #[serde(skip)]
    pub overhead_share: Cost,
    /// Average cost times switches over all cycles, as Table 4 of Mogul and Borg 1990 has it: more than the overhead if short turns pay
    /// less than their share of the average cost.
    #[serde(skip)]
    pub table_4_overhead: Cost,
    /// Excess cycles of a turn that lasts up to the cut-off, to its end.
    #[serde(skip)]
    pub long_turns: Cost,
    /// Shared less private, no cut-off, without first touches.
    pub excess_cycles: f64,
    /// The same per switch.
    pub excess_cycles_per_switch: Option<f64>,
    /// The same as a share of all cycles.
    #[serde(rename = "excess_percent", serialize_with = "rows::in_percent")]
    pub excess_share: Option<f64>,
    /// Flushed less private, per switch: the cold bound.
    pub flushed_cycles_per_switch: Option<f64>,
    /// Every line and TLB entry brought in once.
    pub reload_bound_cycles: u64,
    /// Agarwal's model.
    pub agarwal: Option<Agarwal>,
    /// Why there is no model.
    pub agarwal_why: Option<String>,
    /// Curves: of all segments, by class, by cause.
    pub groups: Vec<GroupFinding>,
    /// By program name, most instructions first.
    pub processes: Vec<ProcessFinding>,
    /// Of all segments and of those after involuntary switches.
    pub survivor_bias: Vec<SurvivorBias>,
    /// Excess cycles by part.
    pub parts: Vec<ExcessPart>,
    /// Caches, then TLBs.
    pub levels: Vec<LevelFinding>,
    /// What goes between caches and their next level.
    pub traffic: Vec<TrafficFinding>,
    /// Where misses come from, by level.
    pub origins: Vec<OriginFinding>,
    /// [What the lost lines cost in time](../method/simulated-cost.md#time), if prices of the design are known.
    pub time_lost: Option<TimeLost>,
    /// Lines lost and restored, by level.
    pub losses: Vec<LossFinding>,
    /// Evictions by process, by level.
    pub evictions: Vec<EvictionTable>,
    /// The level of these whose additional misses in the shared hierarchy cost most.
    #[serde(skip)]
    pub costliest_level: Option<String>,
    /// [What evicts lines of others](../method/simulation.md#what-evicts-lines-of-others), by level.
    pub evictors: Vec<EvictorFinding>,
    /// Excess cycles attributed to code.
    pub code: Vec<PlaceFinding>,
    /// [The same](../method/simulation.md#the-data-that-pays) of data: `line` is null.
    pub data: Vec<PlaceFinding>,
    /// [System calls](../method/simulation.md#system-calls) that kept the CPU, most cycles first, if the trace has a kernel.
    pub calls: Vec<CallFinding>,
    /// What the kernel takes, if the trace has a kernel.
    pub kernel: Option<KernelFinding>,
    /// If any level has a physical index or tag: where [physical addresses](design.md#physical-addresses) are from. Null too for
    /// records that were written before it was counted.
    pub physical_pages: Option<PhysicalPages>,
    /// Notes on these numbers, below.
    pub flags: Vec<Flag>,
}

impl DesignFinding {
    /// The share of all excess cycles that arises after the switches of a group; `None` if there is no excess to share.
    pub fn share_of_excess(&self, group: &GroupFinding) -> Option<f64> {
        (self.excess_cycles > 0.0).then(|| group.excess_cycles / self.excess_cycles)
    }

    /// What all turns paid on average, in cycles a switch, if that is well below or above the average cost: short turns then differ from
    /// long ones, whose cost is [`DesignFinding::long_turns`]. `None` if it is not, or if first touches are among the cycles.
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

/// A mean that differs from the cost by less than this share of it is as good as the cost.
const NEAR: f64 = 0.1;

/// The name of a class: why a task left the CPU, as Mogul and Borg 1990 group it.
pub(crate) fn class_of(cause: &SwitchCause) -> usize {
    match (cause.entry.as_str(), cause.is_voluntary) {
        ("page-fault", _) => 1,
        ("birth" | "exit" | "unknown", _) => 3,
        (_, false) => 2,
        ("syscall", true) => 0,
        _ => 3,
    }
}

/// The classes, in the order of their numbers.
pub(crate) const CLASSES: [&str; 4] = ["system call", "page fault", "involuntary", "other"];

/// A cause in words: `voluntary syscall read`, `involuntary quantum`, `birth`.
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
