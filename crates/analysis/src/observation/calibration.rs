use switchcost_record::observation::{Calibration, Cost, Load, Reload};
use switchcost_record::{Arm, Between, Case, Latency, MeasureRecord, Mechanism, Policy, Walks};

use crate::statistics::order_statistics::median;
use crate::{CaseFinding, Estimate, Findings};

/// Returns the costs of switches that a measurement gives for programs in general. `None` if the
/// measurement has no switch that blocks, or if it flushed caches or paused before batches.
///
/// The cost of a switch that blocks is that of a pipe between processes. Under a real-time policy
/// each hand-off is one wait. Under the ordinary policy the woken task often preempts the writer.
/// The cost of these preemptions is then subtracted. The reload is the indirect cost between
/// processes that read and write whole arrays.
///
/// `measure` reports costs on an unshared core at the median clock of the run. Programs run on the
/// core as it is. So the lower end is the reported cost. The upper end is the cost on a core that
/// is always shared. The estimate is the cost on the core as it was during the measurement, shared
/// for a part of the time.
///
/// Times of loads are used as bounds. Dependent loads have their median time on a shared core.
/// Loads from empty caches have the time of the slowest walk. Loads in ascending order have the
/// time of the fastest walk.
pub fn calibration(record: &MeasureRecord, findings: &Findings) -> Option<Calibration> {
    if !record.header.plan.rounds.is_usual() {
        return None;
    }
    let core = Core::new(record, findings);
    let direct = |mechanism, policy| {
        let is_it = |result: &&CaseFinding| {
            let case = &result.case;
            is_of_two_processes(case)
                && case.mechanism == mechanism
                && case.working_set.is_empty()
                && case.policy == policy
        };
        let result = findings.results.iter().find(is_it)?;
        Some((
            core.cost(result, result.direct_ns.as_ref()?),
            result.involuntary_share,
        ))
    };
    let either = |mechanism| {
        let found = [Policy::Fifo, Policy::Other]
            .iter()
            .find_map(|&policy| direct(mechanism, policy));
        found.map(|(cost, _)| cost)
    };
    let yielded = either(Mechanism::Yield);
    let blocked = match direct(Mechanism::Pipe, Policy::Fifo) {
        Some((cost, _)) => cost,
        None => {
            let (cost, share) = direct(Mechanism::Pipe, Policy::Other)?;
            remove_preemptions(cost, share.unwrap_or(0.0), yielded)
        }
    };
    let reload = |(place, result): (usize, &CaseFinding)| {
        let set = result.case.working_set;
        let is_it = is_of_two_processes(&result.case)
            && result.case.mechanism == Mechanism::Pipe
            && result.case.away.is_none();
        let cost = core.cost(
            result,
            result
                .indirect_ns
                .as_ref()
                .filter(|_| is_it && set.stride_bytes.0 == 8)?,
        );
        Some(Reload {
            size_bytes: set.size_bytes,
            walk_ns: walk_ns(record, place)?,
            cost,
        })
    };
    let mut reloads: Vec<Reload> = findings
        .results
        .iter()
        .enumerate()
        .filter_map(reload)
        .collect();
    reloads.sort_by_key(|reload| reload.size_bytes);
    reloads.dedup_by_key(|reload| reload.size_bytes);
    Some(Calibration {
        measured_at: record.header.started_at.clone(),
        blocked: Some(blocked),
        yielded,
        preempted: either(Mechanism::Preempt),
        reloads,
        loads: loads(record, &core),
    })
}

/// Returns the times of a load by memory size, smallest size first.
fn loads(record: &MeasureRecord, core: &Core) -> Vec<Load> {
    let rate = record.header.clock.ticks_per_second.0 as f64;
    let each = |ticks: f64, loads: u64| {
        Some(ticks / loads as f64 / rate * 1e9).filter(|ns| ns.is_finite() && *ns > 0.0)
    };
    let slowest = |walks: &Walks| {
        let ticks = walks.walk_ticks.iter().map(|ticks| ticks.0).max()?;
        each(ticks as f64, walks.loads).map(|ns| core.slowed(ns))
    };
    let fastest = |walks: &Walks| {
        each(
            walks.walk_ticks.iter().map(|ticks| ticks.0).min()? as f64,
            walks.loads,
        )
    };
    let load = |latency: &Latency| {
        let mut settled: Vec<f64> = latency
            .walk_ticks
            .iter()
            .map(|ticks| ticks.0 as f64)
            .collect();
        Some(Load {
            size_bytes: latency.size_bytes,
            chase_ns: core.slowed(each(median(&mut settled)?, latency.loads)?),
            emptied_ns: latency.emptied.as_ref().and_then(slowest),
            emptied_by_page_ns: latency.emptied_by_page.as_ref().and_then(slowest),
            in_order_ns: latency.in_order.as_ref().and_then(fastest),
        })
    };
    let mut loads: Vec<Load> = record.latencies.iter().filter_map(load).collect();
    loads.sort_by_key(|load| load.size_bytes);
    loads
}

/// Returns the cost of a switch that blocks, from the mean cost of all switches. `share` of the
/// switches are preemptions, which cost as much as a yield.
fn remove_preemptions(of_both: Cost, share: f64, yielded: Option<Cost>) -> Cost {
    let Some(yielded) = yielded.filter(|yielded| share < 1.0 && yielded.ns < of_both.ns) else {
        return of_both;
    };
    let more = (of_both.ns - share * yielded.ns) / (1.0 - share) / of_both.ns;
    Cost {
        ns: of_both.ns * more,
        low_ns: of_both.low_ns * more,
        high_ns: of_both.high_ns * more,
    }
}

/// Returns the median time of a walk over the working set without a switch before it, in
/// nanoseconds; `None` if the case has no such walk.
fn walk_ns(record: &MeasureRecord, case: usize) -> Option<f64> {
    let rate = record.header.clock.ticks_per_second.0 as f64;
    let batches = record
        .cycles
        .iter()
        .filter(|window| window.case as usize == case)
        .flat_map(|window| window.batches.iter());
    let walks = batches.filter(|batch| batch.arm == Arm::BaselineTotal && batch.handoffs > 0);
    let mut walks: Vec<f64> = walks
        .map(|batch| batch.walk_ticks.0 as f64 / f64::from(batch.handoffs) / rate * 1e9)
        .collect();
    walks.sort_by(f64::total_cmp);
    walks.get(walks.len() / 2).copied()
}

fn is_of_two_processes(case: &Case) -> bool {
    case.between == Between::Process && case.tasks == 2 && case.placement.is_one_cpu()
}

/// Slowdown of a shared core, compared with an unshared core.
struct Core {
    /// Largest ratio of a cost on a shared core to that on an unshared core, in this run and
    /// earlier ones.
    most_shared: f64,
}

impl Core {
    fn new(record: &MeasureRecord, findings: &Findings) -> Core {
        let costs = record.header.core_clock.shared_costs.iter();
        let remembered = costs.map(|cost| f64::from(cost.cost_per_mille) / 1000.0);
        let seen = findings
            .results
            .iter()
            .filter_map(shared_fraction)
            .map(|(_, ratio)| ratio);
        Core {
            most_shared: remembered.chain(seen).fold(1.0, f64::max),
        }
    }

    /// Returns the time `ns` on a core that is always shared.
    fn slowed(&self, ns: f64) -> f64 {
        ns * self.most_shared
    }

    fn cost(&self, result: &CaseFinding, estimate: &Estimate) -> Cost {
        let (share, ratio) = shared_fraction(result).unwrap_or((0.0, 1.0));
        let as_it_was = 1.0 + share * (ratio - 1.0);
        // For a negative upper end, the factor would lower the end.
        let high = self.slowed(estimate.high).max(estimate.high);
        Cost {
            ns: estimate.estimate * as_it_was,
            low_ns: estimate.low,
            high_ns: high,
        }
    }
}

/// Returns two numbers for a case: the share of time in which the core was shared, and the cost on
/// the shared core over the reported cost. `None` if the reported cost includes rounds on a shared
/// core, or if the cost on the shared core is not higher.
fn shared_fraction(result: &CaseFinding) -> Option<(f64, f64)> {
    let shared = result.shared.as_ref().filter(|shared| shared.is_left_out)?;
    let (beside, alone) = (shared.cost_ns.as_ref()?, result.deciding()?);
    let ratio = beside.estimate / alone.estimate;
    (ratio.is_finite() && ratio > 1.0).then_some((shared.share, ratio))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::assert_within;

    #[test]
    fn preemptions_are_taken_out_of_what_switches_cost_together() {
        let cost = |ns: f64| Cost {
            ns,
            low_ns: ns * 0.9,
            high_ns: ns * 1.1,
        };
        // Six of ten switches are waits of 2,500 ns, and four are preemptions of 1,000 ns.
        let waits = |share, yielded: Option<f64>| {
            remove_preemptions(cost(1_900.0), share, yielded.map(cost))
        };
        let alone = waits(0.4, Some(1_000.0));
        assert_within(alone.ns, 2_500.0, 1e-6);
        assert_within(alone.low_ns, 2_250.0, 1e-6);
        for unknown in [
            waits(0.4, None),
            waits(0.0, Some(1_000.0)),
            waits(1.0, Some(1_000.0)),
            waits(0.4, Some(2_000.0)),
        ] {
            assert_within(unknown.ns, 1_900.0, 1e-6);
        }
    }
}
