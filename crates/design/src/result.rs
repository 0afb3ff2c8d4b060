//! Results of a simulation: counters of each design, and cycles in intervals after switches, as in
//! Mogul and Borg 1990 (section 3.3).
//!
//! The simulator creates these values, the analysis reads them, and the record stores them. See
//! `docs/method/simulation.md` for their computation and `docs/formats/simulation-record.md` for
//! the file.

mod attribution;
mod by_depth;
mod by_process;
mod since;

use crate::Design;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{Display, EnumIter, EnumString};
use switchcost_record::HostManifest;
use switchcost_record::prices::{Kind, Prices};

pub use attribution::{
    CallCost, Eviction, EvictorPlace, GainedCycles, KernelBatch, LostCycles, LostTo, PlaceCost,
    WorkingSetLoss,
};
pub use by_process::ProcessMisses;

/// One of three simulations of a design's hierarchy with the same references: shared, private or
/// flushed.
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
    /// One hierarchy that all processes share, as in a real machine.
    Shared,
    /// One hierarchy per process, as if each process had a machine to itself.
    Private,
    /// One hierarchy that every switch empties. The result is the cold bound: the cost if every
    /// switch lost every line.
    Flushed,
}

/// A value for each of the three simulated hierarchies ([`View`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, JsonSchema, Serialize, Deserialize)]
pub struct ByView<T> {
    /// Value of the hierarchy that all processes share.
    pub shared: T,
    /// Value of the private hierarchies together.
    pub private: T,
    /// Value of the hierarchy that every switch empties.
    pub flushed: T,
}

impl<T> ByView<T> {
    /// Returns the value of the hierarchy `view`.
    pub fn get(&self, view: View) -> &T {
        match view {
            View::Shared => &self.shared,
            View::Private => &self.private,
            View::Flushed => &self.flushed,
        }
    }

    /// Returns a mutable reference to the value of the hierarchy `view`.
    pub fn get_mut(&mut self, view: View) -> &mut T {
        match view {
            View::Shared => &mut self.shared,
            View::Private => &mut self.private,
            View::Flushed => &mut self.flushed,
        }
    }
}

/// Reason why a task left the CPU. Reports group switches by this reason.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SwitchCause {
    /// Whether the task gave up the CPU voluntarily.
    pub is_voluntary: bool,
    /// How the task entered the kernel: `syscall`, `page-fault`, `quantum`, `wake-up`, `interrupt`,
    /// `exit`, `unknown`; `birth` for the first segment of a task.
    pub entry: String,
    /// Name of the system call if the entry is `syscall`.
    pub syscall: Option<String>,
}

/// Declares [`LevelCounts`] with its counters, so that each is named once.
macro_rules! level_counts {
    ($($(#[$meaning:meta])* $counter:ident,)+) => {
        /// Counters of one cache or TLB of one hierarchy.
        ///
        /// At a first level, a *reference* is one instruction fetch, one load or one store,
        /// whatever its size. At a later level, a reference is one line that the level before
        /// requests. A reference *misses* if any line that it touches is absent. A *fill* is a line
        /// that is brought in. So a reference across two absent lines is one miss, two fills, and
        /// twice the miss cycles.
        #[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
        pub struct LevelCounts {
            /// Name of the cache or TLB in the design.
            pub name: String,
            $($(#[$meaning])* pub $counter: u64,)+
        }

        impl LevelCounts {
            /// Returns the counters with their names, in the order of the fields.
            pub fn counters(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$((stringify!($counter), self.$counter)),+].into_iter()
            }

            fn since(mut self, before: &LevelCounts) -> LevelCounts {
                $(self.$counter -= before.$counter;)+
                self
            }
        }
    };
}

level_counts! {
    /// Number of instruction fetches that looked in this level.
    instruction_accesses,
    /// Number of instruction fetches that missed in this level.
    instruction_misses,
    /// Number of loads that looked in this level.
    load_accesses,
    /// Number of loads that missed in this level.
    load_misses,
    /// Number of stores that looked in this level.
    store_accesses,
    /// Number of stores that missed in this level.
    store_misses,
    /// Number of lines filled on demand, without prefetches.
    fills,
    /// Number of lines written back to the next level or memory.
    write_backs,
    /// Number of lines prefetched into this level.
    prefetches,
    /// Number of misses whose line was in the victim cache.
    victim_hits,
    /// Number of misses whose line was in a stream buffer.
    stream_hits,
    /// Cycles spent in this level for hits, misses, page walks and a busy bus.
    cycles,
    /// Number of prefetched lines that a later lookup found in the cache itself, each counted once.
    /// 0 in records of earlier versions.
    #[serde(default)]
    prefetch_hits,
    /// Number of hits in stream buffers whose line had not arrived yet. 0 in records of earlier
    /// versions.
    #[serde(default)]
    late_stream_hits,
    /// Number of lines that were evicted because a later, inclusive level evicted the line that
    /// contains them. 0 in records of earlier versions.
    #[serde(default)]
    back_invalidations,
    /// Number of unmodified lines that moved to an exclusive next level. 0 in records of earlier
    /// versions.
    #[serde(default)]
    moves,
    /// Number of lines that occupied the bus to the next level; 0 if the bus has no contention, and
    /// in records of earlier versions.
    #[serde(default)]
    bus_lines,
}

impl LevelCounts {
    /// Returns the number of references that looked in this level.
    pub fn accesses(&self) -> u64 {
        self.instruction_accesses + self.load_accesses + self.store_accesses
    }

    /// Whether the sums of the counters fit in 64 bits. In a manipulated record, the sums may be
    /// larger.
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

/// Counters of a whole hierarchy: total cycles, and the counters of each cache and TLB.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HierarchyCounts {
    /// Total cycles: one per instruction, the cycles of every cache and TLB, and the write stalls.
    pub cycles: u64,
    /// Number of cycles in which a store waited for a write buffer.
    pub write_stall_cycles: u64,
    /// Counters of the caches, in the design's order.
    pub levels: Vec<LevelCounts>,
    /// Counters of the TLBs, in the design's order.
    pub tlbs: Vec<LevelCounts>,
}

/// Misses of a last-level cache that receives the requests of private first levels, with and
/// without sharing.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct LastLevelCounts {
    /// Name of the design whose last level is counted.
    pub design: String,
    /// Name of the last-level cache in the design.
    pub level: String,
    /// Number of requests that the last level received from the first levels.
    pub lookups: u64,
    /// Number of misses if each process has a last level of its own.
    pub alone: u64,
    /// Number of misses if all processes share one last level.
    pub shared: u64,
    /// Cycles of one miss in the last level.
    pub miss_cycles: u64,
    /// Capacity of the last level in lines.
    pub lines: u64,
    /// Number of lines that the shared last level holds at the end, which is also the largest
    /// number at any time.
    pub held: u64,
}

/// Numbers of misses of one level of the shared hierarchy by origin. The numbers add up to the
/// level's fills on demand.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissOrigins {
    /// Name of the cache or TLB in the design.
    pub level: String,
    /// Misses on lines that the private hierarchy's level does not hold either.
    pub intrinsic: u64,
    /// Misses on lines that were evicted while another process ran, by a line of that process.
    pub evicted_by_others: u64,
    /// Misses on lines that were evicted while another process ran, by a line of the kernel's half
    /// of all address spaces.
    pub evicted_by_kernel: u64,
    /// Misses on lines that were evicted while the process itself ran, because other processes had
    /// made the lines older or occupied their ways.
    pub aged_by_others: u64,
    /// Misses on lines that were lost when a switch emptied the level.
    pub flushed: u64,
    /// Misses on lines that were evicted while the process itself ran, in a level whose replacement
    /// policy orders a process's lines differently with and without other processes.
    pub state: u64,
}

/// Numbers of lookups by programs that missed only in the shared or only in the private hierarchy,
/// in one level; see "Lost to others, gained from others" in `docs/method/simulation.md`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissDifference {
    /// Name of the cache or TLB in the design.
    pub level: String,
    /// Number of lookups that missed in the shared hierarchy and hit in the private one.
    pub lost: u64,
    /// Number of lookups that missed in the private hierarchy and hit in the shared one.
    pub gained: u64,
    /// Number of lookups counted in `gained` that were the process's first request for the line.
    pub first_touches: u64,
}

/// Number of lines that lookups found farther from the processor in the shared hierarchy than in
/// the private one, because other processes had evicted the lines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostLines {
    /// Name of the level in which the private hierarchy found the lines.
    pub found_alone: String,
    /// Name of the farthest level in which the shared hierarchy missed the lines.
    pub missed: String,
    /// Kind of reference that requested the lines.
    pub kind: Kind,
    /// Address of the last byte of the instruction that loads or stores, while a simulation runs;
    /// `None` for code, and in a record.
    #[serde(skip)]
    pub instruction: Option<u64>,
    /// Number of lines that were lost in this combination of levels and kind.
    pub lines: u64,
}

/// Level of detail of a simulation's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "Depth")]
pub enum DetailLevel {
    /// The result has all counters, intervals and attributions.
    Full,
    /// The result has counters, and intervals summed over segments, but no [`Detail`]. A single
    /// pass for many designs gives such results.
    Counters,
}

/// Simulation result of one design.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DesignResult {
    /// The simulated design.
    pub design: Design,
    /// Counters of the shared, private and flushed hierarchies.
    pub hierarchies: ByView<HierarchyCounts>,
    /// Misses of each process that missed at all, in the order of process numbers. Empty in records
    /// of earlier versions.
    #[serde(default)]
    pub by_process: Vec<ProcessMisses>,
    /// Source of the physical addresses; `None` if no level uses physical addresses.
    pub physical_pages: Option<PhysicalPages>,
    /// Attribution of cycles and misses; `None` if the design was simulated in a single pass for
    /// many designs.
    #[serde(flatten, with = "by_depth")]
    pub detail: Option<Detail>,
}

impl DesignResult {
    /// Returns whether the result has full detail or counters only.
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
    /// Misses by origin, for each cache and then each TLB, in the design's order.
    pub origins: Vec<MissOrigins>,
    /// Lookups that missed only in the shared or only in the private hierarchy, for each cache and
    /// then each TLB.
    pub miss_differences: Vec<MissDifference>,
    /// Lines lost to other processes, by the levels that held and missed them and by kind of
    /// reference. Combinations without lines are left out. Empty in records of earlier versions.
    #[serde(default)]
    pub lost_lines: Vec<LostLines>,
    /// Cycles lost in the shared hierarchy, by what evicted the lines.
    pub lost_cycles: LostCycles,
    /// Cycles gained in the shared hierarchy, by what brought the lines in.
    pub gained_cycles: GainedCycles,
    /// Largest number of lines that the shared hierarchy held at any time, for each cache and then
    /// each TLB.
    pub most_held: Vec<u64>,
    /// Largest number of lines held so far, at each doubling of the instructions from
    /// [`FIRST_FILL_POINT`] on. Empty in records of earlier versions.
    #[serde(default)]
    pub fill_curve: Vec<FillPoint>,
    /// Lines that processes lost while they were away from the CPU, and restored, for each cache.
    pub losses: Vec<WorkingSetLoss>,
    /// Evictions by level, evictor and victim, for the combinations that occur.
    pub evictions: Vec<Eviction>,
    /// Places in code with their excess cycles, most first. The number of places is limited by the
    /// command line.
    pub code: Vec<PlaceCost>,
    /// Places in data with their excess cycles, most first.
    pub data: Vec<PlaceCost>,
    /// Places whose lookups evicted lines of other processes, by level, then by number of lines,
    /// most first.
    pub evictors: Vec<EvictorPlace>,
    /// Work of system calls in the order of their numbers. Empty if the trace has no kernel
    /// instructions.
    pub calls: Vec<CallCost>,
    /// Work of the kernel in 39 to 78 batches of consecutive switches, or fewer in a short trace.
    /// Empty if the trace has no kernel instructions.
    pub kernel_batches: Vec<KernelBatch>,
    /// Kernel functions by number of instructions, most first. Empty if the trace has no kernel
    /// instructions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kernel_functions: Vec<FunctionUse>,
}

/// Number of instructions that a kernel function executed, and the function's misses in the shared
/// hierarchy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionUse {
    /// Name of the kernel function; untrusted text that must be escaped before it is shown.
    pub function: String,
    /// Number of instructions that the function executed.
    pub instructions: u64,
    /// Number of fills on demand by the function's fetches, loads and stores, for each cache and
    /// then each TLB.
    pub misses: Vec<u64>,
}

/// Number of instructions at the first point of a fill curve.
pub const FIRST_FILL_POINT: u64 = 256;

/// Point of a fill curve: how many lines the shared hierarchy has held after some number of
/// instructions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FillPoint {
    /// Number of instructions from the start of the trace to this point.
    pub instructions: u64,
    /// Largest number of lines that the shared hierarchy held up to this point, for each cache and
    /// then each TLB.
    pub most_held: Vec<u64>,
}

/// One part of a trace, with the results of all designs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PartResult {
    /// Number of instructions in this part of the trace.
    pub instructions: u64,
    /// Number of switches in this part of the trace, voluntary and involuntary.
    pub switches: u64,
    /// Results with the indices of their designs. The results have no attribution to places.
    pub designs: Vec<(u16, DesignResult)>,
}

/// Numbers of pages by the source of their physical address, for one design.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct PhysicalPages {
    /// Number of pages whose physical address the trace recorded. A page counts once for each
    /// recorded address.
    pub recorded: u64,
    /// Number of frames that were assigned to pages without an address in the trace.
    pub assigned: u64,
}

/// Owner of a private hierarchy: process or task. Origins of misses, evictions, and losses at
/// switches are also counted per owner.
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
    /// Each process with all of its threads has one private hierarchy.
    #[default]
    Process,
    /// Each task has one private hierarchy. Threads of a process then evict each other's lines like
    /// processes.
    Task,
}

impl PrivateBy {
    fn is_process(&self) -> bool {
        *self == PrivateBy::Process
    }
}

/// One process of the trace, or one task if private hierarchies are per task ([`PrivateBy`]).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessFacts {
    /// Number that the trace gives to the process.
    pub process: u32,
    /// Number that the trace gives to the task; `None` unless each task has a private hierarchy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<u32>,
    /// Name of the process; untrusted text that must be escaped before it is shown. Invalid UTF-8
    /// is replaced.
    pub name: String,
    /// Number of instructions that the process executed.
    pub instructions: u64,
    /// Number of trace segments that the process ran.
    pub segments: u64,
}

/// Name of the source of a trace that is simulated during capture and is not stored.
pub const LIVE: &str = "live";

/// Facts about the trace that was simulated.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct TraceFacts {
    /// Source of the trace: a file name, `live`, or the description of a generator.
    pub source: String,
    /// How the order of tasks in the trace arose: `scheduled`, `as-run`, `imported`, `synthetic`.
    pub order: String,
    /// Length of the time slice in instructions if the tracer scheduled the tasks.
    pub quantum_instructions: Option<u64>,
    /// Command lines that were traced, as lists of arguments.
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
    /// Reason why only a part of the trace was simulated; `None` if all was simulated.
    pub incomplete: Option<String>,
    /// Simulated part of the trace; `None` if the whole trace was simulated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<TracePart>,
    /// Guest that was traced; `None` if the trace is not of a whole system.
    pub guest: Option<GuestFacts>,
    /// Remarks on the trace that qualify results of the simulation; untrusted text that must be
    /// escaped before it is shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A part of a trace that was simulated without the rest.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct TracePart {
    /// Number of the first instruction of the simulated part, from 0.
    pub from_instruction: u64,
    /// Number of the first instruction after the simulated part.
    pub to_instruction: u64,
    /// Number of instructions in the whole trace.
    pub trace_instructions: u64,
    /// Number of instructions immediately before the part that were simulated to warm up the
    /// caches. Of earlier instructions, only the last use of each line was simulated.
    pub warm_up_instructions: u64,
    /// Effect of the warm-up by design and level of the shared hierarchy. Empty if the part begins
    /// with the first instruction.
    pub without_warm_up: Vec<WithoutWarmUp>,
}

/// Effect of the warm-up before a part on the misses of one level.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct WithoutWarmUp {
    /// Name of the design.
    pub design: String,
    /// Name of the cache or TLB in the design.
    pub level: String,
    /// Number of misses in the simulated part.
    pub misses: u64,
    /// Number of misses that the warm-up avoids at the start of the simulated part: misses without
    /// the warm-up minus misses with it, over as many instructions as the warm-up has. Without the
    /// warm-up, only the last use of each line before the part is simulated.
    pub more_misses: i64,
}

/// Facts about a traced guest (virtual machine).
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct GuestFacts {
    /// Name of the guest kernel's image file.
    pub kernel: String,
    /// Command line of the guest's kernel.
    pub command_line: String,
    /// Time slice in nanoseconds that was set for the guest's scheduler, if any was set.
    pub slice_ns: Option<u64>,
    /// Number of guest instructions per second of guest time.
    pub instructions_per_second: u64,
}

/// The head of a simulation record: all values except the intervals.
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
    /// Facts about the trace that was simulated.
    pub trace: TraceFacts,
    /// Number of instructions in an interval.
    pub interval_instructions: u64,
    /// Number of intervals distinguished after each switch. The rest of a segment is one more
    /// interval.
    pub intervals: u32,
    /// Owner of a private hierarchy: process or task. If absent from the record, process.
    #[serde(default, skip_serializing_if = "PrivateBy::is_process")]
    pub private_by: PrivateBy,
    /// Processes in the order of their numbers, or tasks if each task has a private hierarchy.
    pub processes: Vec<ProcessFacts>,
    /// All causes of switches in the trace. Intervals refer to causes by index.
    pub causes: Vec<SwitchCause>,
    /// Results of the simulated designs.
    pub designs: Vec<DesignResult>,
    /// Miss costs of a machine in time, if they are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prices: Option<DesignPrices>,
}

/// Miss costs of a machine, and which of the simulated designs represent that machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DesignPrices {
    /// Miss costs of the machine, measured with arrays.
    pub prices: Prices,
    /// Whether the miss costs apply to each design, in the order of [`Simulation::designs`].
    pub are_of: Vec<bool>,
}

/// An interval of a trace segment: the process, the instructions of a stretch after a switch, and
/// their cycles in each hierarchy.
///
/// A *segment* is the execution between two switches. The interval with number `i` starts with the
/// first block that begins after at least `i * interval_instructions` instructions of the segment.
/// The interval with `number == intervals` is the rest of the segment. Blocks are not divided, so
/// `instructions` may differ from the interval's length by less than a block. Intervals without
/// instructions are not stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Interval {
    /// Index of the design in [`Simulation::designs`].
    pub design: u16,
    /// Number of the segment in the trace, from 0. If several segments are summed, the number of
    /// the first.
    pub segment: u32,
    /// Number of segments summed in this interval: 1, except for designs of
    /// [`DetailLevel::Counters`], whose intervals are sums over segments of the same process, cause
    /// and end. If an exec divides an interval of a segment, only the part before the exec
    /// counts the segment.
    pub segments: u32,
    /// Number of the running task in the trace.
    pub task: u32,
    /// Index of the running process in [`Simulation::processes`].
    pub process: u32,
    /// Index in [`Simulation::causes`] of the reason why the task last left the CPU before this
    /// segment.
    pub cause: u32,
    /// Index in [`Simulation::causes`] of the reason for the switch at the end of this segment;
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

/// Cycles by which lookups differ between the shared and the private hierarchy because of other
/// processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct OfOthers {
    /// Cycles that lookups took longer because other processes had evicted the line, as in
    /// [`LostTo::to_others`].
    pub lost: u64,
    /// Cycles that lookups saved because other processes had brought in a line that the process had
    /// used before.
    pub gained: u64,
    /// Cycles that lookups saved because other processes had brought in a line before the process
    /// first requested it. These savings occur once per line, and are not caused by switches.
    pub first_touches: u64,
}

impl OfOthers {
    /// Returns the field-wise sum of `self` and `other`.
    #[must_use]
    pub fn plus(self, other: OfOthers) -> OfOthers {
        OfOthers {
            lost: self.lost.saturating_add(other.lost),
            gained: self.gained.saturating_add(other.gained),
            first_touches: self.first_touches.saturating_add(other.first_touches),
        }
    }

    /// Returns the field-wise difference of `self` and `other`.
    #[must_use]
    pub fn less(self, other: OfOthers) -> OfOthers {
        OfOthers {
            lost: self.lost.saturating_sub(other.lost),
            gained: self.gained.saturating_sub(other.gained),
            first_touches: self.first_touches.saturating_sub(other.first_touches),
        }
    }
}
