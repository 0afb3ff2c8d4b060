//! Results of a simulation: counters of each design, and intervals, after Mogul and Borg 1990 (section 3.3).
//!
//! The simulator fills these types in, the analysis reads them, and the record stores them. This module does not know how a number is
//! computed or stored: see `docs/method/simulation.md` and `docs/formats/simulation-record.md`.

mod attribution;
mod by_depth;
mod by_process;
mod since;

use crate::Design;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{Display, EnumIter, EnumString};
use switchcost_record::HostManifest;
use switchcost_record::profile::{Kind, Prices};

pub use attribution::{
    CallCost, Eviction, EvictorPlace, GainedCycles, KernelBatch, LostCycles, LostTo, PlaceCost,
    WorkingSetLoss,
};
pub use by_process::ProcessMisses;

/// One of the three hierarchies of a design that see the same references.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    Display,
    EnumIter,
    JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum View {
    /// One hierarchy that all processes share, as in the machine.
    Shared,
    /// One hierarchy per process, as if each process had the machine to itself.
    Private,
    /// One hierarchy that each switch empties, which gives the cold bound.
    Flushed,
}

/// A number for each of the three hierarchies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, JsonSchema, Serialize, Deserialize)]
pub struct ByView<T> {
    /// Number of the hierarchy that all processes share.
    pub shared: T,
    /// Sum over the private hierarchies.
    pub private: T,
    /// Number of the hierarchy that each switch empties.
    pub flushed: T,
}

impl<T> ByView<T> {
    /// Returns the number of one hierarchy.
    pub fn get(&self, view: View) -> &T {
        match view {
            View::Shared => &self.shared,
            View::Private => &self.private,
            View::Flushed => &self.flushed,
        }
    }

    /// Returns the number of one hierarchy, to be changed.
    pub fn get_mut(&mut self, view: View) -> &mut T {
        match view {
            View::Shared => &mut self.shared,
            View::Private => &mut self.private,
            View::Flushed => &mut self.flushed,
        }
    }
}

/// Cause for which a task left the CPU, as reports group switches.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SwitchCause {
    /// Whether the task gave up the CPU voluntarily.
    pub is_voluntary: bool,
    /// Kernel entry of the task: `syscall`, `page-fault`, `quantum`, `wake-up`, `interrupt`,
    /// `exit`, `unknown`; `birth` for the first segment of a task.
    pub entry: String,
    /// Name of the system call, if the entry is `syscall`.
    pub syscall: Option<String>,
}

/// Counters of one cache or TLB of one hierarchy.
///
/// At a first level a *reference* is one instruction fetched, one load or one store, whatever its size; at a later level it is one line
/// requested by the level before. It *misses* if any line that it touches is absent. A *fill* is a line brought in. So a reference
/// across two absent lines is one miss, two fills, and twice the miss cycles.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct LevelCounts {
    /// Name of the level.
    pub name: String,
    /// Instruction fetches that looked in this level.
    pub instruction_accesses: u64,
    /// Instruction fetches that missed in this level.
    pub instruction_misses: u64,
    /// Loads that looked in this level.
    pub load_accesses: u64,
    /// Loads that missed in this level.
    pub load_misses: u64,
    /// Stores that looked in this level.
    pub store_accesses: u64,
    /// Stores that missed in this level.
    pub store_misses: u64,
    /// Number of lines brought in on demand.
    pub fills: u64,
    /// Number of lines written back to the next level or memory.
    pub write_backs: u64,
    /// Number of lines prefetched into this level.
    pub prefetches: u64,
    /// Misses that found their line in the victim cache.
    pub victim_hits: u64,
    /// Misses that found their line in a stream buffer.
    pub stream_hits: u64,
    /// Cycles spent in this level: hits, misses, page walks.
    pub cycles: u64,
    /// Prefetched lines in the sets that a later lookup found, each counted once. 0 in records of
    /// earlier versions, as are the counters below.
    #[serde(default)]
    pub prefetch_hits: u64,
    /// Stream hits whose line was still on its way.
    #[serde(default)]
    pub late_stream_hits: u64,
    /// Lines that were lost because a later, inclusive level lost the line that contains them.
    #[serde(default)]
    pub back_invalidations: u64,
    /// Unmodified lines that were moved to an exclusive next level.
    #[serde(default)]
    pub moves: u64,
    /// Lines that used the bus to the next level, if the bus takes time.
    #[serde(default)]
    pub bus_lines: u64,
}

impl LevelCounts {
    /// Returns all counters with their names.
    pub fn counters(&self) -> [(&'static str, u64); 17] {
        [
            ("instruction_accesses", self.instruction_accesses),
            ("instruction_misses", self.instruction_misses),
            ("load_accesses", self.load_accesses),
            ("load_misses", self.load_misses),
            ("store_accesses", self.store_accesses),
            ("store_misses", self.store_misses),
            ("fills", self.fills),
            ("write_backs", self.write_backs),
            ("prefetches", self.prefetches),
            ("victim_hits", self.victim_hits),
            ("stream_hits", self.stream_hits),
            ("cycles", self.cycles),
            ("prefetch_hits", self.prefetch_hits),
            ("late_stream_hits", self.late_stream_hits),
            ("back_invalidations", self.back_invalidations),
            ("moves", self.moves),
            ("bus_lines", self.bus_lines),
        ]
    }

    /// Returns the number of references that looked in this level.
    pub fn accesses(&self) -> u64 {
        self.instruction_accesses + self.load_accesses + self.store_accesses
    }

    /// Whether the sums of the counters fit in 64 bits, which they may exceed in a manipulated
    /// record.
    pub fn is_countable(&self) -> bool {
        let sum = |counts: [u64; 3]| counts.into_iter().try_fold(0u64, u64::checked_add);
        let looked = sum([
            self.instruction_accesses,
            self.load_accesses,
            self.store_accesses,
        ]);
        looked
            .and(sum([
                self.instruction_misses,
                self.load_misses,
                self.store_misses,
            ]))
            .is_some()
    }

    /// Returns the number of references that missed in this level.
    pub fn misses(&self) -> u64 {
        self.instruction_misses + self.load_misses + self.store_misses
    }
}

/// Totals of one hierarchy. `cycles` is the sum of the instructions, the cycles of every level, and
/// the write stalls.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HierarchyCounts {
    /// Cycles of the whole hierarchy.
    pub cycles: u64,
    /// Cycles in which a store waited for a write buffer.
    pub write_stall_cycles: u64,
    /// Counters of the caches, in the design's order.
    pub levels: Vec<LevelCounts>,
    /// Counters of the TLBs, in the design's order.
    pub tlbs: Vec<LevelCounts>,
}

/// Requests to a last level after private first levels, and the misses of these requests.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct LastLevelCounts {
    /// Name of the design.
    pub design: String,
    /// Name of the level.
    pub level: String,
    /// Number of requests to the last level.
    pub lookups: u64,
    /// Misses if each process has a last level of its own.
    pub alone: u64,
    /// Misses if all processes share one last level.
    pub shared: u64,
    /// Cycles of a miss in the last level.
    pub miss_cycles: u64,
    /// Number of lines of the last level.
    pub lines: u64,
    /// Number of lines in the shared level at the end, which is the largest number at any time.
    pub held: u64,
}

/// Origins of the misses of one level of the shared hierarchy, which add up to the level's fills on
/// demand.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissOrigins {
    /// Name of the level.
    pub level: String,
    /// Misses on lines that the process's private cache does not hold either.
    pub intrinsic: u64,
    /// Misses on lines that left the shared cache while another process ran, for a line of that process.
    pub evicted_by_others: u64,
    /// Misses on lines that left the shared cache while another process ran, for a line of the kernel's half of all address spaces.
    pub evicted_by_kernel: u64,
    /// Misses on lines that left the shared cache while the process itself ran, because other
    /// processes had aged the lines or taken their room.
    pub aged_by_others: u64,
    /// Misses on lines that left because a switch emptied the level.
    pub flushed: u64,
    /// Misses on lines that left the shared cache while the process itself ran, in a level that
    /// does not keep a process's own lines in the order that they would have alone.
    pub state: u64,
}

/// Lookups of the programs that missed in only one of two hierarchies, in one level; see "Lost to
/// others, gained from others" in `docs/method/simulation.md`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissDifference {
    /// Name of the level.
    pub level: String,
    /// Lookups that missed in the shared hierarchy and not in the private one.
    pub lost: u64,
    /// Lookups that missed in the private hierarchy and not in the shared one.
    pub gained: u64,
    /// Lookups among the gained ones that requested a line for the process's first time.
    pub first_touches: u64,
}

/// Lines that lookups found farther away in the shared hierarchy than in the private one, because
/// other processes had evicted them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostLines {
    /// Level in which the private hierarchy found the lines.
    pub found_alone: String,
    /// Farthest level of the shared hierarchy that missed the lines.
    pub missed: String,
    /// Kind of request for the lines.
    pub kind: Kind,
    /// Number of lost lines.
    pub lines: u64,
}

/// Level of detail that a result has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "Depth")]
pub enum DetailLevel {
    /// The result has all counters, intervals and attributions.
    Full,
    /// The result has counters, and intervals added up over segments, without [`Detail`], as from a
    /// single pass for many designs.
    Counters,
}

/// Result of one design.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DesignResult {
    /// Design that was simulated.
    pub design: Design,
    /// Counters of the three hierarchies.
    pub hierarchies: ByView<HierarchyCounts>,
    /// Misses of each process with any, in the order of process numbers. Empty in records of
    /// earlier versions.
    #[serde(default)]
    pub by_process: Vec<ProcessMisses>,
    /// Source of physical addresses; `None` if no level needs any.
    pub physical_pages: Option<PhysicalPages>,
    /// Attributions of cycles and misses; `None` for designs of a single pass for many.
    #[serde(flatten, with = "by_depth")]
    pub detail: Option<Detail>,
}

impl DesignResult {
    /// Returns the level of detail of the result.
    pub fn depth(&self) -> DetailLevel {
        if self.detail.is_some() {
            DetailLevel::Full
        } else {
            DetailLevel::Counters
        }
    }
}

/// Attribution of the cycles and misses of one design.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Detail {
    /// Origins of misses, for each level, then for each TLB.
    pub origins: Vec<MissOrigins>,
    /// Lookups lost to others and gained from them, for each level, then for each TLB.
    pub miss_differences: Vec<MissDifference>,
    /// Lines lost to others, by the levels that held and missed them and by kind; combinations without lines are left out. Empty in
    /// records of earlier versions.
    #[serde(default)]
    pub lost_lines: Vec<LostLines>,
    /// Cycles lost, by what evicted the lines.
    pub lost_cycles: LostCycles,
    /// Cycles gained, by what brought the lines in.
    pub gained_cycles: GainedCycles,
    /// Largest number of lines that the shared hierarchy held at any time, for each level, then for
    /// each TLB.
    pub most_held: Vec<u64>,
    /// Largest number of lines held, at each doubling of the instructions from [`FIRST_FILL_POINT`]
    /// on. Empty in records of earlier versions.
    #[serde(default)]
    pub fill_curve: Vec<FillPoint>,
    /// Lines lost and restored, for each level.
    pub losses: Vec<WorkingSetLoss>,
    /// Evictions by level, evictor and victim, for pairs that occur.
    pub evictions: Vec<Eviction>,
    /// Excess cycles attributed to code, most expensive place first, for as many places as were
    /// requested.
    pub code: Vec<PlaceCost>,
    /// Excess cycles attributed to data, most expensive place first.
    pub data: Vec<PlaceCost>,
    /// Places whose lookups evicted lines of others, by level, and by falling number of lines.
    pub evictors: Vec<EvictorPlace>,
    /// System calls in the order of their numbers, if the trace has the kernel's instructions.
    pub calls: Vec<CallCost>,
    /// Work of the kernel in 39 to 78 batches of switches (fewer in a short trace). Empty if the
    /// trace has no kernel instructions.
    pub kernel_batches: Vec<KernelBatch>,
    /// Kernel functions, that with most instructions first. Empty if the trace has no kernel
    /// instructions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kernel_functions: Vec<FunctionUse>,
}

/// Instructions of a kernel function, and its misses in the shared hierarchy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionUse {
    /// Name of the function; hostile text until escaped.
    pub function: String,
    /// Instructions that the function executed.
    pub instructions: u64,
    /// Fills on demand for the function's instructions, loads and stores, by level, then by TLB.
    pub misses: Vec<u64>,
}

/// Number of instructions before the first point of a fill curve.
pub const FIRST_FILL_POINT: u64 = 256;

/// A point of the fill curve.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FillPoint {
    /// Number of instructions up to this point.
    pub instructions: u64,
    /// Largest number of lines that the shared hierarchy held up to this point, for each level,
    /// then for each TLB.
    pub most_held: Vec<u64>,
}

/// One part of a trace, with the result of every design.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PartResult {
    /// Number of instructions in the part.
    pub instructions: u64,
    /// Number of switches in the part, voluntary and involuntary.
    pub switches: u64,
    /// Results by index of the design, without attributions to places.
    pub designs: Vec<(u16, DesignResult)>,
}

/// Source of the physical addresses of a design.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct PhysicalPages {
    /// Number of pages that the trace recorded; a page counts each time.
    pub recorded: u64,
    /// Number of frames that were assigned because the trace recorded none.
    pub assigned: u64,
}

/// Owner of a private hierarchy. In origins of misses, evictions, and losses at switches, the owner
/// takes the place of a process.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    Serialize,
    Deserialize,
    Display,
    EnumIter,
    EnumString,
    JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum PrivateBy {
    /// A process with all of its threads, which is an address space.
    #[default]
    Process,
    /// A task. Threads of a process then affect each other like processes.
    Task,
}

impl PrivateBy {
    fn is_process(&self) -> bool {
        *self == PrivateBy::Process
    }
}

/// One process of the trace, or one task ([`PrivateBy`]).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessFacts {
    /// Number of the process in the trace.
    pub process: u32,
    /// Number of the task, if each task has a private hierarchy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<u32>,
    /// Name of the process; hostile text until escaped, made UTF-8 with replacement characters.
    pub name: String,
    /// Instructions that the process executed.
    pub instructions: u64,
    /// Segments that the process ran.
    pub segments: u64,
}

/// Name of a trace that is simulated while it is captured, and that no file contains.
pub const LIVE: &str = "live";

/// Facts about the simulated trace.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct TraceFacts {
    /// Source of the trace: the name of a file, `live`, or the description of a generator.
    pub source: String,
    /// Origin of the order of tasks: `scheduled`, `as-run`, `imported`, `synthetic`.
    pub order: String,
    /// Quantum in instructions, if the tracer scheduled the tasks.
    pub quantum_instructions: Option<u64>,
    /// Commands that were traced, with arguments.
    pub commands: Vec<Vec<String>>,
    /// Number of instructions in the trace.
    pub instructions: u64,
    /// Number of loads in the trace.
    pub loads: u64,
    /// Number of stores in the trace.
    pub stores: u64,
    /// Number of switches at which the task left the CPU voluntarily.
    pub voluntary_switches: u64,
    /// Number of switches at which the task left the CPU involuntarily.
    pub involuntary_switches: u64,
    /// Reason why only a part of the trace was simulated, if there is one.
    pub incomplete: Option<String>,
    /// The simulated part of the trace, if the whole was not simulated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<TracePart>,
    /// The traced guest, if a whole system was traced.
    pub guest: Option<GuestFacts>,
    /// Notes of the trace that qualify every number of the simulation; hostile text until escaped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A part of a trace that was simulated by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct TracePart {
    /// First instruction of the part, from 0.
    pub from_instruction: u64,
    /// First instruction after the part.
    pub to_instruction: u64,
    /// Instructions in the whole trace.
    pub trace_instructions: u64,
    /// Instructions before the part that were simulated to warm up caches; of earlier instructions,
    /// only the last uses of lines were simulated.
    pub warm_up_instructions: u64,
    /// Effect of the warm-up, by design and level of the shared hierarchy. Empty if nothing
    /// precedes the part.
    pub without_warm_up: Vec<WithoutWarmUp>,
}

/// Effect of the warm-up before a part on the misses of a level.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct WithoutWarmUp {
    /// Name of the design.
    pub design: String,
    /// Name of the level.
    pub level: String,
    /// Misses in the simulated part.
    pub misses: u64,
    /// Number of additional misses, within as many instructions as the warm-up has, if only last
    /// uses are known; negative if there are fewer misses.
    pub more_misses: i64,
}

/// Facts about a traced guest.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct GuestFacts {
    /// Name of the kernel's image.
    pub kernel: String,
    /// The kernel's command line.
    pub command_line: String,
    /// Time slice that was set for the guest's scheduler, if any.
    pub slice_ns: Option<u64>,
    /// Number of instructions per second of the guest's time.
    pub instructions_per_second: u64,
}

/// The head of a record: everything but the intervals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Simulation {
    /// Name and version of the format: `switchcost.record.simulation/1`.
    pub schema: String,
    /// Version of the program that wrote the record.
    pub program_version: String,
    /// Start of the simulation (RFC 3339, UTC).
    pub started_at: String,
    /// Command line of the simulation, including the program.
    pub command: Vec<String>,
    /// Machine that ran the simulation, which differs from the simulated machine.
    pub host: Option<HostManifest>,
    /// Facts about the simulated trace.
    pub trace: TraceFacts,
    /// Instructions in an interval.
    pub interval_instructions: u64,
    /// Number of intervals distinguished after each switch; the rest of a segment is one more interval.
    pub intervals: u32,
    /// Owner of a private hierarchy; if absent, a process.
    #[serde(default, skip_serializing_if = "PrivateBy::is_process")]
    pub private_by: PrivateBy,
    /// Processes (or tasks, if each task has a private hierarchy), in the order of their numbers.
    pub processes: Vec<ProcessFacts>,
    /// Causes of the switches in the trace.
    pub causes: Vec<SwitchCause>,
    /// Results of the designs.
    pub designs: Vec<DesignResult>,
    /// Prices of lost lines in time, if they are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prices: Option<DesignPrices>,
}

/// Prices of a machine, and the designs to which they apply.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DesignPrices {
    /// Prices of the machine.
    pub prices: Prices,
    /// Whether the prices apply, for each design.
    pub are_of: Vec<bool>,
}

/// An interval of a segment: the process, some of its instructions after a switch, and the cycles of
/// these instructions in each hierarchy.
///
/// A *segment* is what runs between two switches. Its interval `i` starts with the first block that begins when `i *
/// interval_instructions` instructions of the segment have been executed or more; the interval with `number == intervals` is everything
/// after. Blocks are not divided, so `instructions` may differ from the interval's length by less than a block. Intervals without
/// instructions are not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Interval {
    /// Index of the design in [`Simulation::designs`].
    pub design: u16,
    /// Number of the segment, from 0; if several segments are added up, the number of the first.
    pub segment: u32,
    /// Segments added up in this interval. It is 1 except for designs of [`DetailLevel::Counters`], whose intervals are sums over
    /// segments of the same process, cause and end. There, instructions after an exec in the same interval add no segment.
    pub segments: u32,
    /// Number of the running task.
    pub task: u32,
    /// Index of the running process in [`Simulation::processes`].
    pub process: u32,
    /// Index in [`Simulation::causes`] of the cause of the task's last switch away, before this
    /// segment.
    pub cause: u32,
    /// Index in [`Simulation::causes`] of the cause of the switch at the end of this segment;
    /// `unknown` at the end of a trace.
    pub end: u32,
    /// Number of the interval in the segment, from 0.
    pub number: u32,
    /// Number of instructions in the interval.
    pub instructions: u64,
    /// Number of cycles in the interval, including one per instruction.
    pub cycles: ByView<u64>,
    /// Part of the interval's cycles that other processes caused; `None` for designs of
    /// [`DetailLevel::Counters`].
    pub of_others: Option<OfOthers>,
}

/// Cycles by which lookups differ between the shared and the private hierarchy because of other processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct OfOthers {
    /// Cycles that lookups took longer because others had evicted the line, as [`LostTo::to_others`].
    pub lost: u64,
    /// Cycles that lookups saved because others had brought in a line that the process had before.
    pub gained: u64,
    /// Cycles that lookups saved because others had brought in a line before the process requested
    /// it for the first time. This happens once, and is no property of switches.
    pub first_touches: u64,
}

impl OfOthers {
    /// Returns the sums of these cycles and others of the same kinds.
    #[must_use]
    pub fn plus(self, other: OfOthers) -> OfOthers {
        OfOthers {
            lost: self.lost.saturating_add(other.lost),
            gained: self.gained.saturating_add(other.gained),
            first_touches: self.first_touches.saturating_add(other.first_touches),
        }
    }

    /// Returns the differences between these cycles and earlier ones of the same kinds.
    #[must_use]
    pub fn less(self, other: OfOthers) -> OfOthers {
        OfOthers {
            lost: self.lost.saturating_sub(other.lost),
            gained: self.gained.saturating_sub(other.gained),
            first_touches: self.first_touches.saturating_sub(other.first_touches),
        }
    }
}
