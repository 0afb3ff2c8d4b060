use ::observation::{Calibration, Cost, Reload};
use record::{Arm, Between, Case, MeasureRecord, Mechanism, Policy};

use crate::{CaseFinding, Estimate, Findings};

/// What a measurement tells about the cost of switches in general; none where it did not measure a switch that blocks.
///
/// A switch that blocks is that over a pipe between processes, under the ordinary scheduler where that was measured, with
/// which programs run. The reload is the indirect cost between processes with arrays that they read and write throughout.
pub fn calibration(record: &MeasureRecord, findings: &Findings) -> Option<Calibration> {
    let direct = |mechanism, policy| {
        let is_it = |result: &&CaseFinding| {
            let case = &result.case;
            is_of_two_processes(case)
                && case.mechanism == mechanism
                && case.working_set.is_empty()
                && case.policy == policy
        };
        findings.results.iter().find(is_it).and_then(|result| result.direct_ns.as_ref()).map(cost)
    };
    let fifo_or = |mechanism| direct(mechanism, Policy::Other).or_else(|| direct(mechanism, Policy::Fifo));
    let blocked = fifo_or(Mechanism::Pipe)?;
    let reload = |(place, result): (usize, &CaseFinding)| {
        let set = result.case.working_set;
        let is_it =
            is_of_two_processes(&result.case) && result.case.mechanism == Mechanism::Pipe && result.case.away.is_none();
        let cost = cost(result.indirect_ns.as_ref().filter(|_| is_it && set.stride_bytes.0 == 8)?);
        Some(Reload { size_bytes: set.size_bytes, walk_ns: walk_ns(record, place)?, cost })
    };
    let mut reloads: Vec<Reload> = findings.results.iter().enumerate().filter_map(reload).collect();
    reloads.sort_by_key(|reload| reload.size_bytes);
    reloads.dedup_by_key(|reload| reload.size_bytes);
    Some(Calibration {
        measured_at: record.header.started_at.clone(),
        blocked: Some(blocked),
        yielded: fifo_or(Mechanism::Yield),
        reloads,
    })
}

/// A walk without a switch before it: the median of those of a case.
fn walk_ns(record: &MeasureRecord, case: usize) -> Option<f64> {
    let rate = record.header.clock.ticks_per_second.0 as f64;
    let batches =
        record.cycles.iter().filter(|window| window.case as usize == case).flat_map(|window| window.batches.iter());
    let walks = batches.filter(|batch| batch.arm == Arm::BaselineTotal && batch.handoffs > 0);
    let mut walks: Vec<f64> =
        walks.map(|batch| batch.walk_ticks.0 as f64 / f64::from(batch.handoffs) / rate * 1e9).collect();
    walks.sort_by(f64::total_cmp);
    walks.get(walks.len() / 2).copied()
}

fn is_of_two_processes(case: &Case) -> bool {
    case.between == Between::Process && case.tasks == 2 && case.placement.is_one_cpu()
}

fn cost(estimate: &Estimate) -> Cost {
    Cost { ns: estimate.estimate, low_ns: estimate.low, high_ns: estimate.high }
}
