//! Computes all findings for one design.

use switchcost_design::result::{ByView, DesignResult, Detail};

use super::agarwal::agarwal;
use super::bias::survivor_bias;
use super::bounds::reload_bound_cycles;
use super::context::Context;
use super::cpi::cpi;
use super::design_sums::DesignSums;
use super::findings::{Cost, DesignFinding, GroupFinding, Switches};
use super::group::groups;
use super::kernel::kernel;
use super::levels::levels;
use super::long_turns::long_turns;
use super::overhead::{overhead, table_4_overhead};
use super::partitions::unmatched_keys;
use super::places::{evictors, places};
use super::programs::processes;
use super::shares::parts;
use super::sums::difference;
use super::tables::{calls, costliest_level, evictions, losses, origins};
use super::time_lost::time_lost;
use super::traffic::traffic;
use crate::{Flag, FlagName};

pub(crate) fn finding(context: &Context<'_>, number: usize, sums: &DesignSums) -> DesignFinding {
    let head = context.head;
    let result = &head.designs[number];
    let counters_only = Detail::default();
    let detail = result.detail.as_ref().unwrap_or(&counters_only);
    let switches = head.trace.voluntary_switches as f64 + head.trace.involuntary_switches as f64;
    let groups = groups_with_reason(context, result, sums, switches);
    let (cost, lost, cut) = (
        groups[0].cost_cycles.clone(),
        groups[0].lost_cycles.clone(),
        groups[0].cut,
    );
    let ByView {
        shared,
        private,
        flushed,
    } = &result.hierarchies;
    let cycles = shared.cycles;
    let first_touches = result
        .detail
        .as_ref()
        .map(|detail| detail.gained_cycles.first_touches());
    let excess = difference(
        cycles.saturating_add(first_touches.unwrap_or(0)),
        private.cycles,
    );
    let a_switch = |cycles: f64| (switches > 0.0).then(|| cycles / switches);
    let of_all = |part: f64| (cycles > 0).then(|| part / cycles as f64);
    let all_lost = sums
        .cells
        .iter()
        .flatten()
        .flat_map(|cells| cells.iter())
        .map(|cell| cell.sum.lost())
        .sum();
    let agarwal = agarwal(head, result, context.turns.mean_others());
    DesignFinding {
        name: result.design.name.clone(),
        depth: result.depth(),
        cycle_ns: result.design.cycle_ns,
        instructions: head.trace.instructions,
        data_refs: head.trace.loads.saturating_add(head.trace.stores),
        switches: Switches {
            voluntary: head.trace.voluntary_switches,
            involuntary: head.trace.involuntary_switches,
        },
        hierarchies: result.hierarchies.clone(),
        cpi: cpi(context, sums, cycles, result.detail.is_some()),
        average_cost_ns: result
            .design
            .cycle_ns
            .map(|cycle_ns| cycle_ns.map(|ns| cost.times(ns))),
        overhead: of_all(excess),
        overhead_share: overhead(context, sums, &cost, excess, cycles),
        table_4_overhead: table_4_overhead(context, sums, &cost, cut, cycles, switches),
        long_turns: long_turns(context, sums, cut),
        lost_share: lost.estimate.and(of_all(all_lost)),
        lost_cycles: lost,
        lost_to: result.detail.as_ref().map(|detail| detail.lost_cycles),
        gained_cycles: groups[0].gained_cycles.clone(),
        state_cycles: groups[0].state_cycles.clone(),
        first_touch_cycles: first_touches.map(|cycles| cycles as f64),
        cut,
        excess_cycles: excess,
        excess_cycles_per_switch: a_switch(excess),
        flushed_cycles_per_switch: a_switch(difference(flushed.cycles, private.cycles)),
        reload_bound_cycles: reload_bound_cycles(&result.design),
        agarwal_why: agarwal.as_ref().err().cloned(),
        agarwal: agarwal.ok(),
        processes: processes(context, result, sums),
        survivor_bias: if sums.is_disordered {
            Vec::new()
        } else {
            survivor_bias(context, sums, &groups)
        },
        parts: parts(result, detail),
        origins: origins(detail),
        levels: levels(result, detail, &head.trace, switches),
        time_lost: time_lost(head.prices.as_ref(), number, result, switches),
        traffic: traffic(result, head.trace.instructions),
        losses: losses(detail),
        evictions: evictions(detail, context.names),
        costliest_level: costliest_level(result, detail).map(str::to_owned),
        evictors: evictors(detail),
        code: places(head, &detail.code, excess),
        data: places(head, &detail.data, excess),
        calls: calls(shared, &detail.calls),
        kernel: kernel(shared, detail, switches, context.options.confidence),
        physical_pages: result.physical_pages,
        flags: flags(context, result, sums, &cost, cut.is_reached),
        average_cost_cycles: cost,
        groups,
    }
}

/// Returns the groups of segments of a design. If the cost of a switch is unknown, each cost has
/// the reason instead.
fn groups_with_reason(
    context: &Context<'_>,
    result: &DesignResult,
    sums: &DesignSums,
    switches: f64,
) -> Vec<GroupFinding> {
    let mut groups = groups(context, result.depth(), sums);
    if let Some(why) = missing_cost_reason(sums, switches) {
        let costs = groups.iter_mut().flat_map(|group| {
            [
                &mut group.cost_cycles,
                &mut group.lost_cycles,
                &mut group.gained_cycles,
                &mut group.state_cycles,
            ]
        });
        costs
            .filter(|cost| cost.estimate.is_some())
            .for_each(|cost| *cost = Cost::none(why));
    }
    groups
}

/// Returns the reason why the cost of a switch is unknown; `None` if it is known.
fn missing_cost_reason(sums: &DesignSums, switches: f64) -> Option<&'static str> {
    if sums.is_disordered {
        return Some("the intervals of a segment are not together or not in order");
    }
    (switches == 0.0).then_some("the trace has no switch; trace two processes that alternate")
}

fn flags(
    context: &Context<'_>,
    result: &DesignResult,
    sums: &DesignSums,
    cost: &Cost,
    is_reached: bool,
) -> Vec<Flag> {
    let mut flags = Vec::new();
    let mut flag = |name, detail: String| flags.push(Flag { name, detail });
    if sums.is_disordered {
        flag(
            FlagName::Disorder,
            "the recorded intervals are out of order, so costs and curves are invalid".to_owned(),
        );
    }
    if result.detail.is_none() {
        let why = "only totals were recorded, so the cost has no confidence interval, and is too low because lines that other \
                   processes had loaded count as hits; use --in-full for all results";
        flag(FlagName::CountersOnly, why.to_owned());
    }
    if !is_reached && cost.estimate.is_some() {
        let detail = format!(
            "more than {} % of the segments are longer than the recorded intervals, where the cost is cut off; choose \
             longer intervals",
            context.options.cut_share * 100.0
        );
        flag(FlagName::CutEarly, detail);
    }
    if cost.is_covering_zero() {
        flag(
            FlagName::NotDistinguishableFrom0,
            "the interval of the cost covers 0".to_owned(),
        );
    }
    for detail in unmatched_keys(&result.design, &context.head.processes) {
        flag(FlagName::PartitionWithoutProcess, detail);
    }
    let covered: f64 = sums
        .cells
        .iter()
        .flatten()
        .flat_map(|cells| cells.iter())
        .map(|c| c.sum.instructions as f64)
        .sum();
    let all = context.head.trace.instructions as f64;
    if all > 0.0 && covered < 0.99 * all {
        let outside = (1.0 - covered / all) * 100.0;
        flag(
            FlagName::OutsideSegments,
            format!("{outside:.1} % of the instructions are in no time slice after a switch"),
        );
    }
    flags
}
