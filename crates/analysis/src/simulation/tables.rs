//! Computes findings from the counters in the head of a record: averages per switch, and tables by
//! program.

use std::collections::BTreeMap;

use switchcost_design::Holds;
use switchcost_design::result::{CallCost, DesignResult, Detail, HierarchyCounts};

use super::context::ProgramNames;
use super::findings::{CallFinding, EvictionTable, LossFinding, OfLevel, OriginFinding};
use super::sums::difference;
use crate::lists::saturating_sum;
use itertools::Itertools;

/// Largest number of programs that a table of evictions lists separately.
const PROGRAMS: usize = 6;

pub(crate) fn losses(detail: &Detail) -> Vec<LossFinding> {
    let counted = detail.losses.iter().filter(|loss| loss.returns > 0);
    let finding = |loss: &switchcost_design::result::WorkingSetLoss| {
        let mean = |lines: u64| lines as f64 / loss.returns as f64;
        LossFinding {
            level: loss.level.clone(),
            returns: loss.returns,
            resident: mean(loss.resident_at_departure),
            lost: mean(loss.lost),
            restored: mean(loss.restored),
        }
    };
    counted.map(finding).collect()
}

pub(crate) fn origins(detail: &Detail) -> Vec<OriginFinding> {
    let finding = |origin: &switchcost_design::result::MissOrigins| {
        let parts = [
            origin.intrinsic,
            origin.evicted_by_others,
            origin.evicted_by_kernel,
            origin.aged_by_others,
            origin.flushed,
            origin.state,
        ];
        OriginFinding {
            level: origin.level.clone(),
            misses: saturating_sum(parts),
            intrinsic: origin.intrinsic,
            evicted_by_others: origin.evicted_by_others,
            evicted_by_kernel: origin.evicted_by_kernel,
            aged_by_others: origin.aged_by_others,
            flushed: origin.flushed,
            state: origin.state,
        }
    };
    detail.origins.iter().map(finding).collect()
}

/// Returns one table of evictions per level, in the order of the levels' first occurrence.
pub(crate) fn evictions(detail: &Detail, names: &ProgramNames) -> Vec<EvictionTable> {
    let levels = detail.evictions.iter().map(|eviction| &eviction.level);
    levels
        .unique()
        .map(|level| table(level, detail, names))
        .collect()
}

/// Returns the name of the cache whose additional misses cost most cycles: shared minus private
/// misses, times the sum of the cache's miss cycles and the next level's hit cycles. `None` without
/// evictions.
pub(crate) fn costliest_level<'a>(result: &'a DesignResult, detail: &Detail) -> Option<&'a str> {
    let counts = result
        .hierarchies
        .shared
        .levels
        .iter()
        .zip(&result.hierarchies.private.levels);
    let levels = result.design.levels.iter().zip(counts).enumerate();
    let costs = levels.map(|(place, (level, (shared, private)))| {
        let next = result.design.levels[place + 1..]
            .iter()
            .find(|next| next.holds == Holds::Both);
        let miss_cycles = level.miss_cycles + next.map_or(0, |next| next.hit_cycles);
        (
            level.name.as_str(),
            difference(shared.misses(), private.misses()) * f64::from(miss_cycles),
        )
    });
    let has_evictions = |name: &str| {
        detail
            .evictions
            .iter()
            .any(|eviction| eviction.level == name)
    };
    let costs = costs.filter(|(name, _)| has_evictions(name));
    costs
        .max_by(|(_, a), (_, b)| a.total_cmp(b))
        .map(|(name, _)| name)
}

fn table(level: &str, detail: &Detail, names: &ProgramNames) -> EvictionTable {
    let mut pairs: BTreeMap<(usize, usize), u64> = BTreeMap::new();
    for eviction in detail
        .evictions
        .iter()
        .filter(|eviction| eviction.level == level)
    {
        if let (Some(evictor), Some(victim)) =
            (names.owner(eviction.evictor), names.owner(eviction.victim))
        {
            let lines = pairs.entry((evictor, victim)).or_default();
            *lines = lines.saturating_add(eviction.lines);
        }
    }
    let mut weights: BTreeMap<usize, u64> = BTreeMap::new();
    for ((evictor, victim), lines) in &pairs {
        for program in [evictor, victim] {
            let weight = weights.entry(*program).or_default();
            *weight = weight.saturating_add(*lines);
        }
    }
    let mut order: Vec<usize> = weights.keys().copied().collect();
    order.sort_by_key(|program| std::cmp::Reverse(weights[program]));
    let shown = order.len().min(PROGRAMS);
    let mut programs: Vec<String> = order[..shown]
        .iter()
        .map(|owner| names.name_of(*owner))
        .collect();
    if order.len() > shown {
        programs.push("all others".to_owned());
    }
    let place = |program: &usize| {
        order
            .iter()
            .position(|other| other == program)
            .unwrap_or(shown)
            .min(shown)
    };
    let mut lines = vec![vec![0_u64; programs.len()]; programs.len()];
    for ((evictor, victim), count) in &pairs {
        let cell = &mut lines[place(evictor)][place(victim)];
        *cell = cell.saturating_add(*count);
    }
    EvictionTable {
        level: level.to_owned(),
        programs,
        lines,
    }
}

pub(crate) fn calls(shared: &HierarchyCounts, costs: &[CallCost]) -> Vec<CallFinding> {
    let names: Vec<&String> = shared
        .levels
        .iter()
        .chain(&shared.tlbs)
        .map(|level| &level.name)
        .collect();
    let finding = |cost: &CallCost| {
        let mean = |sum: u64| sum as f64 / cost.calls as f64;
        let by_level = |sums: &[u64]| {
            let named = names.iter().zip(sums);
            named
                .map(|(level, &sum)| OfLevel {
                    level: (*level).clone(),
                    number: mean(sum),
                })
                .collect()
        };
        CallFinding {
            syscall: cost.syscall.clone(),
            calls: cost.calls,
            with_switch: cost.with_switch,
            instructions: mean(cost.instructions),
            cycles: mean(cost.cycles),
            share: (shared.cycles > 0).then(|| cost.cycles as f64 / shared.cycles as f64),
            misses: by_level(&cost.misses),
            driven_out: by_level(&cost.driven_out),
        }
    };
    let mut costs: Vec<&CallCost> = costs.iter().filter(|cost| cost.calls > 0).collect();
    costs.sort_by_key(|cost| std::cmp::Reverse(cost.cycles));
    costs.into_iter().map(finding).collect()
}
