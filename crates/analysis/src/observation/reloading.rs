//! Estimates the cost of cold caches for tasks, from matched intervals of this observation or from
//! a run of `inject` with their program.

use switchcost_record::observation::{Cost, KnownBy, KnownReload, Tasks};
use switchcost_units::Nanos;

use super::cost::Range;
use super::known;
use super::matched::MatchedIntervals;
use End::{Least, Most, Usual};

/// Cost of reloading caches for some tasks in nanoseconds, with its source.
pub(super) struct Reloaded {
    pub(super) cost: Range,
    pub(super) by: KnownBy,
}

impl Reloaded {
    /// Returns the cost of reloading caches for these tasks, limited to their CPU time; `None` if
    /// unknown.
    pub(super) fn new(
        tasks: &Tasks,
        direct: Range,
        matched: Option<&MatchedIntervals>,
        injected: Option<&KnownReload>,
    ) -> Option<Reloaded> {
        let room = (tasks.run_ns.0 as f64 - direct.low).max(0.0);
        let of_matched = matched.and_then(|matched| reload_by_calls(tasks, matched));
        let of_inject = injected.map(|known| reload_by_inject(tasks, direct, known));
        let (cost, by) = match (of_matched, of_inject) {
            (Some(ends), Some(cost)) if ends.likely.is_none() => match cost.within(ends) {
                Some(cost) => (cost, KnownBy::Inject),
                None => (ends, KnownBy::Matched),
            },
            (Some(cost), _) => (cost, KnownBy::Matched),
            (None, Some(cost)) => (cost, KnownBy::Inject),
            (None, None) => return None,
        };
        Some(Reloaded {
            cost: cost.up_to(room),
            by,
        })
    }
}

/// Largest share of preemptions among the switches for which a preemption of unknown cost is
/// assumed to cost as much as a wait (docs/method/matched-intervals.md).
const FEW_PREEMPTIONS: f64 = 0.05;

/// Returns the cost of reloading from the compared calls. The cost has no upper end and no likely
/// value if there are many preemptions, but too few were compared.
pub(super) fn reload_by_calls(tasks: &Tasks, matched: &MatchedIntervals) -> Option<Range> {
    let wait = matched.wait_ns?;
    let waits = wait.times(tasks.voluntary as f64);
    let preemptions = tasks.involuntary as f64;
    let are_few = preemptions <= FEW_PREEMPTIONS * tasks.switches() as f64;
    Some(match matched.preemption_ns {
        Some(preemption) => waits.plus(preemption.times(preemptions)),
        None if are_few => waits.plus(wait.times(preemptions)),
        None => Range {
            likely: None,
            high: f64::INFINITY,
            ..waits
        },
    })
}

/// Returns the cost of reloading from a result of `inject`. Other tasks are assumed to have touched
/// as much memory per time as the preempting task of `inject` did.
fn reload_by_inject(tasks: &Tasks, direct: Range, known: &KnownReload) -> Range {
    let likely = sum_reloads(tasks, direct, known, Usual, |cost| cost.ns);
    let low = sum_reloads(tasks, direct, known, Least, |cost| cost.low_ns.max(0.0));
    let high = sum_reloads(tasks, direct, known, Most, |cost| cost.high_ns.max(0.0));
    Range {
        low: low.min(likely),
        likely: Some(likely),
        high: high.max(likely),
    }
}

/// Value that represents a histogram bucket: its lower end, its middle, or its upper end.
#[derive(Clone, Copy)]
enum End {
    Least,
    Usual,
    Most,
}

/// Returns the sum of a cost over all returns to the CPU, in nanoseconds. The cost of a return
/// depends on the time for which other tasks ran. For the upper end, the time until the next switch
/// does not limit the cost. A task that has moved to another core is assumed to find nothing in the
/// caches there.
fn sum_reloads(
    tasks: &Tasks,
    direct: Range,
    known: &KnownReload,
    end: End,
    of: fn(&Cost) -> f64,
) -> f64 {
    let run = (tasks.run_ns.0 as f64 - direct.likely.unwrap_or(direct.low)).max(0.0);
    let turn = match end {
        Most => f64::INFINITY,
        Usual | Least => run / tasks.switches().max(1) as f64,
    };
    let cost = |others: f64| known::cost(&known.points, others, turn, of);
    let behind = |(from, to, count): (Nanos, Option<Nanos>, u64)| {
        let from = from.0 as f64;
        let others = match (end, to) {
            (Least, _) => from,
            (Usual, to) => to.map_or(from, |to| (from + to.0 as f64) / 2.0),
            (Most, to) => to.map_or(f64::INFINITY, |to| to.0 as f64),
        };
        count as f64 * cost(others)
    };
    let moves = tasks.moved[1].saturating_add(tasks.moved[2]);
    let moved = if moves > 0 {
        moves as f64 * cost(f64::INFINITY)
    } else {
        0.0
    };
    tasks.others.buckets().map(behind).sum::<f64>() + moved
}
