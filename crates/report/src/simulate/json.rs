use analysis::Flag;
use analysis::simulation::{
    Agarwal, CallFinding, Cost, Cut, DesignFinding, EvictionTable, EvictorFinding, ExcessPart, Findings, Group,
    GroupFinding, KernelFinding, LengthDistribution, LevelFinding, LossFinding, OriginFinding, PlaceFinding, Point,
    ProcessFinding, SurvivorBias,
};
use record::HostManifest;
use serde::Serialize;
use simulation_result::{
    ByView, Depth, HierarchyCounts, LevelCounts, LostCycles, PhysicalPages, Simulation, TraceFacts,
};

use super::SIMULATE_REPORT_SCHEMA;
use crate::for_programs::json;

/// The whole report.
#[derive(Serialize)]
pub(super) struct ReportView<'a> {
    schema: &'static str,
    program_version: &'a str,
    started_at: &'a str,
    command: &'a [String],
    host: Option<&'a HostManifest>,
    trace: &'a TraceFacts,
    interval_instructions: u64,
    cut_share: f64,
    lengths: Vec<LengthView<'a>>,
    designs: Vec<DesignView<'a>>,
    flags: &'a [Flag],
}

#[derive(Serialize)]
struct LengthView<'a> {
    #[serde(flatten)]
    group: GroupView<'a>,
    segments: u64,
    median_instructions: u64,
    mean_instructions: f64,
    max_instructions: u64,
    points: Vec<LengthPoint>,
}

#[derive(Serialize)]
struct LengthPoint {
    instructions: u64,
    share: f64,
}

/// `kind` and `name` of a group.
#[derive(Serialize)]
struct GroupView<'a> {
    kind: &'static str,
    name: &'a str,
}

#[derive(Serialize)]
struct DesignView<'a> {
    name: &'a str,
    depth: Depth,
    cycle_ns: Option<[f64; 2]>,
    instructions: u64,
    data_refs: u64,
    switches: Switches,
    shared: HierarchyView<'a>,
    private: HierarchyView<'a>,
    flushed: HierarchyView<'a>,
    average_cost_cycles: &'a Cost,
    lost_cycles: &'a Cost,
    gained_cycles: &'a Cost,
    state_cycles: &'a Cost,
    first_touch_cycles: Option<f64>,
    lost_to: Option<LostCycles>,
    lost_percent: Option<f64>,
    average_cost_ns: Option<[Cost; 2]>,
    cut: Cut,
    overhead_percent: Option<f64>,
    excess_cycles: f64,
    excess_cycles_per_switch: Option<f64>,
    excess_percent: Option<f64>,
    flushed_cycles_per_switch: Option<f64>,
    reload_bound_cycles: u64,
    agarwal: Option<&'a Agarwal>,
    agarwal_why: Option<&'a str>,
    groups: Vec<CurveView<'a>>,
    processes: &'a [ProcessFinding],
    survivor_bias: Vec<BiasView<'a>>,
    parts: &'a [ExcessPart],
    levels: Vec<LevelRates<'a>>,
    origins: &'a [OriginFinding],
    losses: &'a [LossFinding],
    evictions: &'a [EvictionTable],
    evictors: &'a [EvictorFinding],
    code: &'a [PlaceFinding],
    data: &'a [PlaceFinding],
    calls: &'a [CallFinding],
    kernel: Option<&'a KernelFinding>,
    physical_pages: Option<PhysicalPages>,
    flags: &'a [Flag],
}

#[derive(Serialize)]
struct Switches {
    voluntary: u64,
    involuntary: u64,
}

#[derive(Serialize)]
struct HierarchyView<'a> {
    cycles: u64,
    write_stall_cycles: u64,
    levels: Vec<LevelView<'a>>,
    tlbs: Vec<LevelView<'a>>,
}

#[derive(Serialize)]
struct LevelView<'a> {
    name: &'a str,
    accesses: u64,
    misses: u64,
    #[serde(flatten)]
    counts: Counts,
}

#[derive(Serialize)]
struct LevelRates<'a> {
    level: &'a str,
    mpki: Option<&'a ByView<f64>>,
    lost_per_switch: Option<f64>,
    gained_per_switch: Option<f64>,
    lines: u64,
    most_held: u64,
    was_full: bool,
}

#[derive(Serialize)]
struct Counts {
    instruction_accesses: u64,
    instruction_misses: u64,
    load_accesses: u64,
    load_misses: u64,
    store_accesses: u64,
    store_misses: u64,
    fills: u64,
    write_backs: u64,
    prefetches: u64,
    victim_hits: u64,
    stream_hits: u64,
    cycles: u64,
}

#[derive(Serialize)]
struct CurveView<'a> {
    #[serde(flatten)]
    group: GroupView<'a>,
    segments: u64,
    median_instructions: Option<u64>,
    cost_cycles: &'a Cost,
    lost_cycles: &'a Cost,
    gained_cycles: &'a Cost,
    state_cycles: &'a Cost,
    cut: Cut,
    excess_cycles: f64,
    points: &'a [Point],
}

#[derive(Serialize)]
struct BiasView<'a> {
    #[serde(flatten)]
    group: GroupView<'a>,
    segments: u64,
    survivors: u64,
    early_private_cpi: f64,
    early_private_cpi_of_survivors: f64,
    cost_of_survivors_cycles: f64,
    bites: bool,
    grows: Option<GrowthView<'a>>,
}

#[derive(Serialize)]
struct GrowthView<'a> {
    program: &'a str,
    share_at_start: f64,
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
