//! What a simulation gives: counters of each design, and intervals, after Mogul and Borg 1990 (section 3.3).
//!
//! The simulator fills these types in, the analysis takes them apart, and the record keeps them. Nothing here knows how a
//! number comes about, or how it is stored: that is said in `docs/method/simulation.md` and
//! `docs/formats/simulation-record.md`.

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

/// Three hierarchies of one design that see the same references.
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
    /// One for all processes: the machine.
    Shared,
    /// One for each process, as if it had the machine to itself.
    Private,
    /// Emptied at each switch: the cold bound.
    Flushed,
}

/// A number for each view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, JsonSchema, Serialize, Deserialize)]
pub struct ByView<T> {
    /// Of the one hierarchy that all processes share.
    pub shared: T,
    /// Of the hierarchies of one process each, added.
    pub private: T,
    /// Of the one that each switch empties.
    pub flushed: T,
}

impl<T> ByView<T> {
    /// The number of one view.
    pub fn get(&self, view: View) -> &T {
        match view {
            View::Shared => &self.shared,
            View::Private => &self.private,
            View::Flushed => &self.flushed,
        }
    }

    /// The number of one view, to be changed.
    pub fn get_mut(&mut self, view: View) -> &mut T {
        match view {
            View::Shared => &mut self.shared,
            View::Private => &mut self.private,
            View::Flushed => &mut self.flushed,
        }
    }
}

/// Why a task left the CPU, as the reports group it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SwitchCause {
    /// Whether it gave the CPU up by itself.
    pub is_voluntary: bool,
    /// The kernel entry behind it: `syscall`, `page-fault`, `quantum`, `wake-up`, `interrupt`, `exit`, `unknown`; or
    /// `birth` for the first segment of a task.
    pub entry: String,
    /// Name of the system call, for `syscall`.
    pub syscall: Option<String>,
}

/// Counters of one cache or TLB of one hierarchy.
///
/// A *reference* is one instruction fetched, one load or one store, whatever its size, at a first level; at a later
/// level, one line asked for by the level before. It *misses* if any line that it touches is not there. A *fill* is
/// a line brought in. So a reference across two absent lines is one miss and two fills, and two lots of miss cycles.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct LevelCounts {
    /// The level's name.
    pub name: String,
    /// Instruction fetches that looked here.
    pub instruction_accesses: u64,
    /// Instruction fetches that missed.
    pub instruction_misses: u64,
    /// Loads that looked here.
    pub load_accesses: u64,
    /// Loads that missed.
    pub load_misses: u64,
    /// Stores that looked here.
    pub store_accesses: u64,
    /// Stores that missed.
    pub store_misses: u64,
    /// Lines brought in on demand.
    pub fills: u64,
    /// Lines written back to the level below (or memory).
    pub write_backs: u64,
    /// Lines brought in before they were asked for.
    pub prefetches: u64,
    /// Misses that found their line in the victim cache.
    pub victim_hits: u64,
    /// Misses that found their line in a stream buffer.
    pub stream_hits: u64,
    /// Cycles spent here: hits, misses, walks.
    pub cycles: u64,
    /// Lines that were prefetched into the sets and looked up there later, each once. 0 in records from before it was counted, as those
    /// below.
    #[serde(default)]
    pub prefetch_hits: u64,
    /// Of the stream hits, those whose line was still on its way.
    #[serde(default)]
    pub late_stream_hits: u64,
    /// Lines lost since a level after lost its line with all inside.
    #[serde(default)]
    pub back_invalidations: u64,
    /// Lines given to an exclusive level below without being modified.
    #[serde(default)]
    pub moves: u64,
    /// Lines that took the bus to the level below, if it takes time.
    #[serde(default)]
    pub bus_lines: u64,
}

impl LevelCounts {
    /// All of them by name.
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

    /// All references that looked here.
    pub fn accesses(&self) -> u64 {
        self.instruction_accesses + self.load_accesses + self.store_accesses
    }

    /// Whether its sums are counts: of a record that was changed they may be beyond 64 bits.
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

    /// All that missed.
    pub fn misses(&self) -> u64 {
        self.instruction_misses + self.load_misses + self.store_misses
    }
}

/// Totals of one hierarchy. `cycles` is the sum of the instructions, of every level's cycles, and of the write stalls.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HierarchyCounts {
    /// All cycles.
    pub cycles: u64,
    /// Cycles in which a store waited for a write buffer.
    pub write_stall_cycles: u64,
    /// The caches, in the design's order.
    pub levels: Vec<LevelCounts>,
    /// The TLBs, in the design's order.
    pub tlbs: Vec<LevelCounts>,
}

/// What the last level was asked by first levels of each process's own, and what it did not have.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct LastLevelCounts {
    /// The design.
    pub design: String,
    /// The level.
    pub level: String,
    /// Requests of the first levels.
    pub lookups: u64,
    /// Misses if each process has a level of its own.
    pub alone: u64,
    /// Misses if all share one.
    pub shared: u64,
    /// Cycles of a miss.
    pub miss_cycles: u64,
    /// Lines of the level.
    pub lines: u64,
    /// Lines that the shared one held in the end, which is the most of all times.
    pub held: u64,
}

/// Where the misses of one level of the shared hierarchy come from; together they are its fills on demand.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissOrigins {
    /// The level's name.
    pub level: String,
    /// The line is not in the process's private cache either.
    pub intrinsic: u64,
    /// It is, and it left the shared one while another process ran, for a line of that.
    pub evicted_by_others: u64,
    /// It is, and it left the shared one while another process ran, for a line of the kernel's half of all address spaces.
    pub evicted_by_kernel: u64,
    /// It is, and it left the shared one while the process itself ran: others had made it old or taken its room.
    pub aged_by_others: u64,
    /// It is, and a flush at a switch emptied the shared one.
    pub flushed: u64,
    /// As `aged_by_others`, in a level that does not keep a process's own lines in the order that they would have alone.
    pub state: u64,
}

/// How often lookups of the program missed in one level of one hierarchy alone; see "Lost to others, gained from others" in
/// `docs/method/simulation.md`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissDifference {
    /// The level's name.
    pub level: String,
    /// They missed in the shared hierarchy and not in the private one.
    pub lost: u64,
    /// They missed in the private hierarchy and not in the shared one.
    pub gained: u64,
    /// Of those gained, what the process asked for the first time.
    pub first_touches: u64,
}

/// Lines that lookups of the program found farther away in the shared hierarchy than in the private one, for what others did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostLines {
    /// The level that the private hierarchy found them in.
    pub found_alone: String,
    /// The farthest level that the shared one missed them in.
    pub missed: String,
    /// How they were asked for.
    pub kind: Kind,
    /// How many they were.
    pub lines: u64,
}

/// How much a result says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "Depth")]
pub enum DetailLevel {
    /// Everything.
    Full,
    /// Counters and intervals added up over segments, and no [`Detail`]: what a single pass for many designs gives.
    Counters,
}

/// What one design makes of the trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DesignResult {
    /// The design.
    pub design: Design,
    /// The three hierarchies.
    pub hierarchies: ByView<HierarchyCounts>,
    /// Their misses by process, in the order of numbers, of those that missed anything. Empty in records from before they were counted.
    #[serde(default)]
    pub by_process: Vec<ProcessMisses>,
    /// Where physical addresses are from. None if no level wants any.
    pub physical_pages: Option<PhysicalPages>,
    /// Why. None if a single pass was for many designs.
    #[serde(flatten, with = "by_depth")]
    pub detail: Option<Detail>,
}

impl DesignResult {
    /// How much it says.
    pub fn depth(&self) -> DetailLevel {
        if self.detail.is_some() {
            DetailLevel::Full
        } else {
            DetailLevel::Counters
        }
    }
}

/// Whom and what the cycles and misses of one design are attributed to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Detail {
    /// Where misses come from, by level, then by TLB.
    pub origins: Vec<MissOrigins>,
    /// Lost to others and gained from them, by level, then by TLB.
    pub miss_differences: Vec<MissDifference>,
    /// Lines lost to others, by where they were found and how they were asked for; those of which there are none are left out. Empty in
    /// records from before they were counted.
    #[serde(default)]
    pub lost_lines: Vec<LostLines>,
    /// Cycles lost, by what evicted them.
    pub lost_cycles: LostCycles,
    /// Cycles gained, by what brought the lines in.
    pub gained_cycles: GainedCycles,
    /// The most lines that the shared hierarchy held at any time, by level, then by TLB.
    pub most_held: Vec<u64>,
    /// The same whenever the instructions so far had doubled, from [`FIRST_FILL_POINT`] on. Empty in records from before it was kept.
    #[serde(default)]
    pub fill_curve: Vec<FillPoint>,
    /// What is lost and restored, by level.
    pub losses: Vec<WorkingSetLoss>,
    /// Evictions: the pairs of processes that occur, by level, evictor, victim.
    pub evictions: Vec<Eviction>,
    /// Excess cycles attributed to code, most expensive first, as many places as were asked for.
    pub code: Vec<PlaceCost>,
    /// Excess cycles attributed to data, most expensive first.
    pub data: Vec<PlaceCost>,
    /// For what lines of others were evicted, by level, most lines first.
    pub evictors: Vec<EvictorPlace>,
    /// System calls in the order of their numbers, if the trace has the kernel's instructions.
    pub calls: Vec<CallCost>,
    /// What the kernel takes, by 39 to 78 batches of switches (fewer, if there are fewer). Empty if the trace has no instructions of a
    /// kernel.
    pub kernel_batches: Vec<KernelBatch>,
    /// The kernel's functions, most instructions first. Empty if the trace has no instructions of a kernel.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kernel_functions: Vec<FunctionUse>,
}

/// What a function of the kernel's executed, and what it missed in the shared hierarchy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionUse {
    /// Its name; hostile data.
    pub function: String,
    /// Instructions.
    pub instructions: u64,
    /// Fills on demand for its instructions, and for their loads and stores, by level, then by TLB.
    pub misses: Vec<u64>,
}

/// Instructions before the first point of a fill curve.
pub const FIRST_FILL_POINT: u64 = 256;

/// How full caches were.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FillPoint {
    /// Instructions so far.
    pub instructions: u64,
    /// The most lines of the shared hierarchy so far, by level, then by TLB.
    pub most_held: Vec<u64>,
}

/// What a part of a trace held and what every design made of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PartResult {
    /// Instructions.
    pub instructions: u64,
    /// Switches, by will of the task that left or not.
    pub switches: u64,
    /// The designs with their numbers, without what is attributed to places.
    pub designs: Vec<(u16, DesignResult)>,
}

/// Where the physical addresses of a design are from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct PhysicalPages {
    /// Pages that the trace recorded, each as often as it did.
    pub recorded: u64,
    /// Frames that were assigned, if the trace said nothing.
    pub assigned: u64,
}

/// Who has a private hierarchy, and counts as one wherever a process does: in origins of misses, evictions, and what is lost at switches.
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
    /// A process, with all of its threads: an address space.
    #[default]
    Process,
    /// A task, of its process's threads each for itself: in what they share, one is to another as a process to another.
    Task,
}

impl PrivateBy {
    fn is_process(&self) -> bool {
        *self == PrivateBy::Process
    }
}

/// One process of the trace, or one task of it ([`PrivateBy`]).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessFacts {
    /// Its number in the trace.
    pub process: u32,
    /// The task, if each is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<u32>,
    /// Its name; hostile data, made UTF-8 with replacement characters.
    pub name: String,
    /// Instructions that it executed.
    pub instructions: u64,
    /// Segments that it ran.
    pub segments: u64,
}

/// The source of a trace that is simulated as it is captured, and is in no file.
pub const LIVE: &str = "live";

/// What was simulated.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct TraceFacts {
    /// Where it came from: a file's name, `live`, or a generator's description.
    pub source: String,
    /// How the order of tasks came about: `scheduled`, `as-run`, `imported`, `synthetic`.
    pub order: String,
    /// Quantum in instructions, if the order was scheduled.
    pub quantum_instructions: Option<u64>,
    /// The traced commands.
    pub commands: Vec<Vec<String>>,
    /// Instructions.
    pub instructions: u64,
    /// Loads.
    pub loads: u64,
    /// Stores.
    pub stores: u64,
    /// Switches by will of the task that left.
    pub voluntary_switches: u64,
    /// Other switches.
    pub involuntary_switches: u64,
    /// Whether all of the trace was simulated; otherwise why not.
    pub incomplete: Option<String>,
    /// The part of it that was to be simulated, if that was not all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<TracePart>,
    /// The guest that was traced, if it was a whole system.
    pub guest: Option<GuestFacts>,
    /// What the trace says that is to be known of every number from it; hostile data.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A part of a trace that was simulated by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct TracePart {
    /// Its first instruction, from 0.
    pub from_instruction: u64,
    /// The first instruction after it.
    pub to_instruction: u64,
    /// Instructions in the whole trace.
    pub trace_instructions: u64,
    /// Instructions right before it that were simulated to warm caches up. Of all before them the last use of each line was known.
    pub warm_up_instructions: u64,
    /// What this warm-up did, by design and level of the shared hierarchy. Empty if there was nothing before the part.
    pub without_warm_up: Vec<WithoutWarmUp>,
}

/// What the warm-up before a part did to the misses of a level.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct WithoutWarmUp {
    /// The design.
    pub design: String,
    /// The level.
    pub level: String,
    /// Misses in the part.
    pub misses: u64,
    /// How many more there are within as many instructions as the warm-up has if only last uses are known; negative if fewer.
    pub more_misses: i64,
}

/// What a guest was started with.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct GuestFacts {
    /// Name of the kernel's image.
    pub kernel: String,
    /// The kernel's command line.
    pub command_line: String,
    /// The slice set for its scheduler, if it was set.
    pub slice_ns: Option<u64>,
    /// Instructions in a second of its time.
    pub instructions_per_second: u64,
}

/// Everything but the intervals: the head of a record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Simulation {
    /// `switchcost.record.simulation/1`.
    pub schema: String,
    /// Version of the program that wrote it.
    pub program_version: String,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// The command line.
    pub command: Vec<String>,
    /// The machine that simulated (not the one that was simulated).
    pub host: Option<HostManifest>,
    /// The trace.
    pub trace: TraceFacts,
    /// Instructions in an interval.
    pub interval_instructions: u64,
    /// Intervals recorded after each switch; what a segment runs longer is one more interval.
    pub intervals: u32,
    /// Who has a private hierarchy: a process, if it is not said.
    #[serde(default, skip_serializing_if = "PrivateBy::is_process")]
    pub private_by: PrivateBy,
    /// The processes (or tasks, if each has a private hierarchy), in the order of their numbers.
    pub processes: Vec<ProcessFacts>,
    /// The causes that occur.
    pub causes: Vec<SwitchCause>,
    /// The designs.
    pub designs: Vec<DesignResult>,
    /// What the lines lost on them cost in time, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prices: Option<DesignPrices>,
}

/// Prices of a machine, for the designs that they are good for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DesignPrices {
    /// The prices.
    pub prices: Prices,
    /// By design.
    pub are_of: Vec<bool>,
}

/// An interval of a segment: a process, some instructions after it was switched to, and the cycles they took in each hierarchy.
///
/// A *segment* is what runs between two switches. Its interval `i` starts with the first block that begins when
/// `i * interval_instructions` instructions of the segment have been executed or more; the one with
/// `number == intervals` is all that follows. Blocks are not divided, so `instructions` may differ from the interval's
/// length by less than a block. Intervals without instructions are not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Interval {
    /// Index into [`Simulation::designs`].
    pub design: u16,
    /// Number of the segment, from 0; of the first one if several are added up.
    pub segment: u32,
    /// How many segments are added up in this interval: 1, but for designs of [`DetailLevel::Counters`], whose intervals are sums
    /// over segments of the same process, cause and end; there, what follows an exec in the same interval adds none.
    pub segments: u32,
    /// The task that runs.
    pub task: u32,
    /// Index into [`Simulation::processes`].
    pub process: u32,
    /// Why the task had left the CPU before this segment; an index into [`Simulation::causes`].
    pub cause: u32,
    /// Why it leaves at the end of this segment; an index into [`Simulation::causes`]. The end of a trace is `unknown`.
    pub end: u32,
    /// Number of the interval in the segment, from 0.
    pub number: u32,
    /// Instructions.
    pub instructions: u64,
    /// Cycles, these instructions' own included.
    pub cycles: ByView<u64>,
    /// What others have to do with these cycles. `None` for designs of [`DetailLevel::Counters`].
    pub of_others: Option<OfOthers>,
}

/// Cycles by which lookups differ in the shared hierarchy and the private one for what others did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct OfOthers {
    /// They took longer: others had driven the line out, as [`LostTo::to_others`].
    pub lost: u64,
    /// They took less: others had brought in a line that the process had had before.
    pub gained: u64,
    /// They took less: others had brought in a line that the process asked for the first time. Once, and no property of switches.
    pub first_touches: u64,
}

impl OfOthers {
    /// Those of both, added.
    #[must_use]
    pub fn plus(self, other: OfOthers) -> OfOthers {
        OfOthers {
            lost: self.lost.saturating_add(other.lost),
            gained: self.gained.saturating_add(other.gained),
            first_touches: self.first_touches.saturating_add(other.first_touches),
        }
    }

    /// What is left of these without the others.
    #[must_use]
    pub fn less(self, other: OfOthers) -> OfOthers {
        OfOthers {
            lost: self.lost.saturating_sub(other.lost),
            gained: self.gained.saturating_sub(other.gained),
            first_touches: self.first_touches.saturating_sub(other.first_touches),
        }
    }
}
