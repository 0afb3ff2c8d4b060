use schemars::JsonSchema;
use serde::Serialize;
use switchcost_analysis::Flag;
use switchcost_analysis::simulation::{
    Agarwal, CallFinding, Cost, Cut, DesignFinding, EvictionTable, EvictorFinding, ExcessPart, Findings, Group,
    GroupFinding, KernelFinding, LengthDistribution, LevelFinding, LossFinding, OriginFinding, PlaceFinding, Point,
    ProcessFinding, SurvivorBias,
};
use switchcost_record::HostManifest;
use switchcost_simulation_result::{
    ByView, Depth, HierarchyCounts, LevelCounts, LostCycles, PhysicalPages, Simulation, TraceFacts,
};

use super::SIMULATE_REPORT_SCHEMA;
use crate::for_programs::json;

/// The whole report.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Report")]
pub(crate) struct ReportView<'a> {
    /// Name and version of this form.
    schema: &'static str,
    /// Of the program that simulated.
    program_version: &'a str,
    /// RFC 3339, UTC.
    started_at: &'a str,
    /// The command line.
    command: &'a [String],
    /// The machine that simulated (not the one that was simulated).
    host: Option<&'a HostManifest>,
    /// What was simulated.
    trace: &'a TraceFacts,
    /// Length of an interval.
    interval_instructions: u64,
    /// Curves are integrated up to where this share of the segments remains.
    cut_share: f64,
    /// Distributions of segment lengths.
    lengths: Vec<LengthView<'a>>,
    /// In the order of the record.
    designs: Vec<DesignView<'a>>,
    /// `source` (a note of the trace: what its source left out or had to make up), `incomplete`, `part` (which part of the trace
    /// it is, and what its warm-up changed), `many-intervals`.
    flags: &'a [Flag],
}

/// How long segments run.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Lengths")]
struct LengthView<'a> {
    #[serde(flatten)]
    group: GroupView<'a>,
    /// How many.
    segments: u64,
    /// Half of them run at most so many instructions.
    median_instructions: u64,
    /// Their mean length.
    mean_instructions: f64,
    /// The longest.
    max_instructions: u64,
    /// From short to long.
    points: Vec<LengthPoint>,
}

/// A point of the distribution of lengths.
#[derive(JsonSchema, Serialize)]
struct LengthPoint {
    /// So many instructions ...
    instructions: u64,
    /// ... and the share of the group's segments that run at most so many.
    share: f64,
}

/// `kind` and `name` of a group.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Group")]
struct GroupView<'a> {
    /// `all`; `class`; `cause`; `end-class`: by why segments end.
    kind: &'static str,
    /// Of a class: `system call`, `page fault`, `involuntary`, `other`; of a cause: such as `voluntary syscall read`.
    name: &'a str,
}

/// What was found out about one design.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Design")]
struct DesignView<'a> {
    /// The design's.
    name: &'a str,
    /// How much is said about it.
    depth: Depth,
    /// Shortest and longest time of a cycle.
    cycle_ns: Option<[f64; 2]>,
    /// Of the trace.
    instructions: u64,
    /// Loads and stores of the trace.
    data_refs: u64,
    /// The start of the first task does not count.
    switches: Switches,
    /// One hierarchy for all processes.
    shared: HierarchyView<'a>,
    /// One for each process.
    private: HierarchyView<'a>,
    /// One that is emptied at each switch.
    flushed: HierarchyView<'a>,
    /// Net: excess cycles per switch up to the cut-off, first touches apart. It is `lost_cycles` less `gained_cycles`
    /// and `state_cycles`.
    average_cost_cycles: &'a Cost,
    /// Of these, [lost to others](../method/simulation.md#lost-to-others-gained-from-others).
    lost_cycles: &'a Cost,
    /// Of these, gained from others.
    gained_cycles: &'a Cost,
    /// Of these, what the state of replacement and prefetch differs by.
    state_cycles: &'a Cost,
    /// All cycles saved at [first touches](../method/simulation.md#cycles-gained), once; null where lookups were not
    /// compared.
    first_touch_cycles: Option<f64>,
    /// All cycles lost, no cut-off, [by cause](../method/simulation.md#cycles-lost).
    lost_to: Option<LostCycles>,
    /// Cycles lost times switches over all cycles.
    lost_percent: Option<f64>,
    /// The average cost with the shortest and the longest cycle.
    average_cost_ns: Option<[Cost; 2]>,
    /// Where curves are cut off.
    cut: Cut,
    /// Average cost times switches over all cycles.
    overhead_percent: Option<f64>,
    /// Shared less private, no cut-off.
    excess_cycles: f64,
    /// The same per switch.
    excess_cycles_per_switch: Option<f64>,
    /// The same as a share of all cycles.
    excess_percent: Option<f64>,
    /// Flushed less private, per switch: the cold bound.
    flushed_cycles_per_switch: Option<f64>,
    /// Every line and TLB entry brought in once.
    reload_bound_cycles: u64,
    /// Agarwal's model.
    agarwal: Option<&'a Agarwal>,
    /// Why there is no model.
    agarwal_why: Option<&'a str>,
    /// Curves.
    groups: Vec<CurveView<'a>>,
    /// By program name, most instructions first.
    processes: &'a [ProcessFinding],
    /// Of all segments and of those after involuntary switches.
    survivor_bias: Vec<BiasView<'a>>,
    /// Excess cycles by part.
    parts: &'a [ExcessPart],
    /// Caches, then TLBs.
    levels: Vec<LevelRates<'a>>,
    /// Where misses come from, by level.
    origins: &'a [OriginFinding],
    /// Lines lost and restored, by level.
    losses: &'a [LossFinding],
    /// Evictions by process, by level.
    evictions: &'a [EvictionTable],
    /// [What evicts lines of others](../method/simulation.md#what-evicts-lines-of-others), by level.
    evictors: &'a [EvictorFinding],
    /// Excess cycles attributed to code.
    code: &'a [PlaceFinding],
    /// [The same](../method/simulation.md#the-data-that-pays) of data: `line` is null.
    data: &'a [PlaceFinding],
    /// [System calls](../method/simulation.md#system-calls) that kept the CPU, most cycles first, where the trace has a
    /// kernel.
    calls: &'a [CallFinding],
    /// What the kernel takes, where the trace has a kernel.
    kernel: Option<&'a KernelFinding>,
    /// Where any level has a physical index or tag: where [physical addresses](design.md#physical-addresses) are from.
    /// Null too for records that were written before it was counted.
    physical_pages: Option<PhysicalPages>,
    /// Notes on these numbers, below.
    flags: &'a [Flag],
}

/// Switches of the trace.
#[derive(JsonSchema, Serialize)]
struct Switches {
    /// By will of the task that left.
    voluntary: u64,
    /// Other switches.
    involuntary: u64,
}

/// Counters of one hierarchy.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Hierarchy")]
struct HierarchyView<'a> {
    /// All cycles.
    cycles: u64,
    /// Of stores that waited for a write buffer.
    write_stall_cycles: u64,
    /// Caches.
    levels: Vec<LevelView<'a>>,
    /// TLBs.
    tlbs: Vec<LevelView<'a>>,
}

/// Counters of one cache or TLB.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Level")]
struct LevelView<'a> {
    /// Its name.
    name: &'a str,
    /// Lookups.
    accesses: u64,
    /// Those that missed.
    misses: u64,
    #[serde(flatten)]
    counts: Counts,
}

/// How often one level misses, and what switches have to do with it.
#[derive(JsonSchema, Serialize)]
struct LevelRates<'a> {
    /// Its name.
    level: &'a str,
    /// Misses per thousand instructions; null without instructions.
    mpki: Option<&'a ByView<f64>>,
    /// Lookups per switch that missed in the shared hierarchy and not in the private one, first touches apart; null
    /// where they were not compared.
    lost_per_switch: Option<f64>,
    /// The other way round.
    gained_per_switch: Option<f64>,
    /// Lines that it has, or entries.
    lines: u64,
    /// The most lines that it held at one time, or an upper bound.
    most_held: u64,
    /// False where that is less than three quarters of them, so that it says nothing about switches there.
    was_full: bool,
}

/// By kind.
#[derive(JsonSchema, Serialize)]
struct Counts {
    /// Instruction fetches that looked here.
    instruction_accesses: u64,
    /// Instruction fetches that missed.
    instruction_misses: u64,
    /// Loads that looked here.
    load_accesses: u64,
    /// Loads that missed.
    load_misses: u64,
    /// Stores that looked here.
    store_accesses: u64,
    /// Stores that missed.
    store_misses: u64,
    /// Lines brought in on demand.
    fills: u64,
    /// Lines written back to the level below.
    write_backs: u64,
    /// Lines brought in before they were asked for.
    prefetches: u64,
    /// Misses that found their line in the victim cache.
    victim_hits: u64,
    /// Misses that found their line in a stream buffer.
    stream_hits: u64,
    /// Cycles spent here.
    cycles: u64,
}

/// The curve and the cost of one group of segments.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Curve")]
struct CurveView<'a> {
    #[serde(flatten)]
    group: GroupView<'a>,
    /// How many.
    segments: u64,
    /// Half of them run at most so many; null where the record holds sums over segments.
    median_instructions: Option<u64>,
    /// Net cost of a switch, up to the cut-off.
    cost_cycles: &'a Cost,
    /// Of those, lost to others.
    lost_cycles: &'a Cost,
    /// Of those, gained from others.
    gained_cycles: &'a Cost,
    /// Of those, what the state of replacement and prefetch differs by.
    state_cycles: &'a Cost,
    /// Where the curve is cut off.
    cut: Cut,
    /// All excess cycles of these segments.
    excess_cycles: f64,
    /// One for each interval that a segment reaches.
    points: &'a [Point],
}

/// What the end of short segments does to the curve of a group.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "SurvivorBias")]
struct BiasView<'a> {
    #[serde(flatten)]
    group: GroupView<'a>,
    /// Of so many segments ...
    segments: u64,
    /// ... so many reach the last interval before the cut-off.
    survivors: u64,
    /// Private CPI of all segments over the first tenth of the curve.
    early_private_cpi: f64,
    /// The same of those that survive alone.
    early_private_cpi_of_survivors: f64,
    /// Cost of those that survive alone.
    cost_of_survivors_cycles: f64,
    /// Whether the two curves differ by more than a twentieth.
    bites: bool,
    /// The program whose share of the segments grows most.
    grows: Option<GrowthView<'a>>,
}

/// A program whose share of the segments grows.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Growth")]
struct GrowthView<'a> {
    /// Its name.
    program: &'a str,
    /// Of all segments.
    share_at_start: f64,
    /// Of those that reach the cut-off.
    share_at_cut: f64,
}

/// One object, indented, and a newline.
pub(super) fn render(head: &Simulation, findings: &Findings) -> String {
    json(&report(head, findings))
}

pub(super) fn report<'a>(head: &'a Simulation, findings: &'a Findings) -> ReportView<'a> {
    ReportView {
        schema: SIMULATE_REPORT_SCHEMA,
        program_version: &head.program_version,
        started_at: &head.started_at,
        command: &head.command,
        host: head.host.as_ref(),
        trace: &head.trace,
        interval_instructions: findings.interval_instructions,
        cut_share: findings.cut_share,
        lengths: findings.lengths.iter().map(length).collect(),
        designs: findings.designs.iter().map(|found| design(head, found)).collect(),
        flags: &findings.flags,
    }
}

fn group(group: &Group) -> GroupView<'_> {
    let (kind, name) = group_names(group);
    GroupView { kind, name }
}

/// Kind and name of a group in every format for programs.
pub(super) fn group_names(group: &Group) -> (&'static str, &str) {
    match group {
        Group::All => ("all", "all"),
        Group::Class(name) => ("class", name),
        Group::Cause(name) => ("cause", name),
        Group::EndClass(name) => ("end-class", name),
    }
}

fn length(lengths: &LengthDistribution) -> LengthView<'_> {
    let point = |(instructions, share): &(u64, f64)| LengthPoint { instructions: *instructions, share: *share };
    LengthView {
        group: group(&lengths.group),
        segments: lengths.segments,
        median_instructions: lengths.median_instructions,
        mean_instructions: lengths.mean_instructions,
        max_instructions: lengths.max_instructions,
        points: lengths.points.iter().map(point).collect(),
    }
}

fn design<'a>(head: &'a Simulation, found: &'a DesignFinding) -> DesignView<'a> {
    let in_percent = |share: Option<f64>| share.map(|share| share * 100.0);
    DesignView {
        name: &found.name,
        depth: found.depth,
        cycle_ns: found.cycle_ns,
        instructions: found.instructions,
        data_refs: found.data_refs,
        switches: Switches { voluntary: head.trace.voluntary_switches, involuntary: head.trace.involuntary_switches },
        shared: hierarchy(&found.hierarchies.shared),
        private: hierarchy(&found.hierarchies.private),
        flushed: hierarchy(&found.hierarchies.flushed),
        average_cost_cycles: &found.average_cost_cycles,
        lost_cycles: &found.lost_cycles,
        gained_cycles: &found.gained_cycles,
        state_cycles: &found.state_cycles,
        first_touch_cycles: found.first_touch_cycles,
        lost_to: found.lost_to,
        lost_percent: in_percent(found.lost_share),
        average_cost_ns: found.cycle_ns.map(|cycle_ns| cycle_ns.map(|ns| found.average_cost_cycles.times(ns))),
        cut: found.cut,
        overhead_percent: in_percent(found.overhead),
        excess_cycles: found.excess_cycles,
        excess_cycles_per_switch: found.excess_cycles_per_switch,
        excess_percent: in_percent(found.excess_share),
        flushed_cycles_per_switch: found.flushed_cycles_per_switch,
        reload_bound_cycles: found.reload_bound_cycles,
        agarwal: found.agarwal.as_ref().ok(),
        agarwal_why: found.agarwal.as_ref().err().map(String::as_str),
        groups: found.groups.iter().map(curve).collect(),
        processes: &found.processes,
        survivor_bias: found.survivor_bias.iter().map(bias).collect(),
        parts: &found.parts,
        levels: found.levels.iter().map(rates).collect(),
        origins: &found.origins,
        losses: &found.losses,
        evictions: &found.evictions,
        evictors: &found.evictors,
        code: &found.code,
        data: &found.data,
        calls: &found.calls,
        kernel: found.kernel.as_ref(),
        physical_pages: found.physical_pages,
        flags: &found.flags,
    }
}

fn hierarchy(counts: &HierarchyCounts) -> HierarchyView<'_> {
    HierarchyView {
        cycles: counts.cycles,
        write_stall_cycles: counts.write_stall_cycles,
        levels: counts.levels.iter().map(level).collect(),
        tlbs: counts.tlbs.iter().map(level).collect(),
    }
}

fn level(counts: &LevelCounts) -> LevelView<'_> {
    LevelView {
        name: &counts.name,
        accesses: counts.accesses(),
        misses: counts.misses(),
        counts: Counts {
            instruction_accesses: counts.instruction_accesses,
            instruction_misses: counts.instruction_misses,
            load_accesses: counts.load_accesses,
            load_misses: counts.load_misses,
            store_accesses: counts.store_accesses,
            store_misses: counts.store_misses,
            fills: counts.fills,
            write_backs: counts.write_backs,
            prefetches: counts.prefetches,
            victim_hits: counts.victim_hits,
            stream_hits: counts.stream_hits,
            cycles: counts.cycles,
        },
    }
}

fn rates(found: &LevelFinding) -> LevelRates<'_> {
    LevelRates {
        level: &found.level,
        mpki: found.mpki.as_ref(),
        lost_per_switch: found.lost_per_switch,
        gained_per_switch: found.gained_per_switch,
        lines: found.lines,
        most_held: found.most_held,
        was_full: found.was_full(),
    }
}

fn curve(found: &GroupFinding) -> CurveView<'_> {
    CurveView {
        group: group(&found.group),
        segments: found.segments,
        median_instructions: found.median_instructions,
        cost_cycles: &found.cost_cycles,
        lost_cycles: &found.lost_cycles,
        gained_cycles: &found.gained_cycles,
        state_cycles: &found.state_cycles,
        cut: found.cut,
        excess_cycles: found.excess_cycles,
        points: &found.curve,
    }
}

fn bias(bias: &SurvivorBias) -> BiasView<'_> {
    BiasView {
        group: group(&bias.group),
        segments: bias.segments,
        survivors: bias.survivors,
        early_private_cpi: bias.early_private_cpi,
        early_private_cpi_of_survivors: bias.early_private_cpi_of_survivors,
        cost_of_survivors_cycles: bias.cost_of_survivors_cycles,
        bites: bias.bites,
        grows: bias.grows.as_ref().map(|(program, start, cut)| GrowthView {
            program,
            share_at_start: *start,
            share_at_cut: *cut,
        }),
    }
}
