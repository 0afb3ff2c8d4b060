//! Decides which windows of cycles are clean, with one small rule for each kind of disturbance.
//!
//! The input is a window with its case; the output is the list of reasons to leave the window out,
//! empty for a clean window. A window with a reason enters no estimate and is counted, but stays in
//! the record.

use switchcost_record::{Between, Case, Cycles, Evidence};
use switchcost_units::Nanos;

/// Largest share of the time that may go to other tasks, as a divisor: the trimmed mean leaves out
/// single time slices of other tasks, but not a tenth of the time.
const FOREIGN_SHARE: u64 = 10;
/// Step of the kernel's stolen time: USER_HZ is 100 on every Linux.
const STEAL_STEP: Nanos = Nanos::millis(10);
/// Shortest pause that is recognised: the kernel's accounts may be late by less.
const LEAST_PAUSE: Nanos = Nanos::millis(20);
/// Tolerated minor page faults per task: a warm process has none but for a stack page or a copied
/// page now and then.
const FAULTS_PER_TASK: u64 = 4;
const FAULT_SLACK: u64 = 16;
/// Batches per tolerated page fault: the trimmed mean leaves out the batches in which the allocator
/// returns memory and takes it again.
const BATCHES_PER_FAULT: u64 = 20;
/// Tolerated share of additional switches, by a kernel thread or a tick: one in 200 hand-offs.
const STRAY_SHARE: f64 = 0.005;
/// Tolerated difference of switches per task at the two ends of a window.
const EDGE_PER_TASK: f64 = 2.0;
const EDGE_SLACK: f64 = 4.0;
/// Tolerated switches of a single thread that hands over in user space and has no reason to switch.
const USER_SLACK: f64 = 8.0;

/// Largest wait for a CPU across CPUs, as a divisor of the window: a longer wait is more than
/// wake-ups.
const WAIT_SHARE: u64 = 5;

pub(crate) const FOREIGN_TIME: &str = "foreign-time";
pub(crate) const PAUSED: &str = "paused";
pub(crate) const FAULTS: &str = "faults";
pub(crate) const MIGRATION: &str = "migration";
pub(crate) const CLOCK_BACKWARDS: &str = "clock-backwards";
pub(crate) const SWITCH_COUNT: &str = "switch-count";
pub(crate) const NO_HANDOFFS: &str = "no-handoffs";

/// Returns the time of a window in which no task ran or waited for a CPU and no other machine had
/// the CPU: a signal had stopped the tasks, their control group was frozen, or the machine was
/// suspended. On one CPU there is no other such time, except for reading a page; across CPUs the
/// time is not known.
pub(crate) fn pause(case: &Case, evidence: &Evidence) -> Nanos {
    let Some(run_delay) = evidence.run_delay_ns.filter(|_| {
        case.placement.cpus.len() == 1 && case.runtime.is_none() && evidence.major_faults == 0
    }) else {
        return Nanos(0);
    };
    let accounted = evidence.task_cpu_ns + run_delay + stolen(evidence);
    let missing = evidence.wall_ns.saturating_sub(accounted);
    if missing > LEAST_PAUSE {
        missing
    } else {
        Nanos(0)
    }
}

/// Returns the stolen time that counts. The kernel counts it in steps, and may show it in the next
/// window only.
fn stolen(evidence: &Evidence) -> Nanos {
    evidence
        .steal_ns
        .map_or(Nanos(0), |steal| steal + STEAL_STEP)
}

/// Returns the time of a window that went to other tasks. On one CPU the measured tasks leave no
/// time unused, so other tasks had the time that is missing. On CPUs of their own the tasks never
/// wait for each other, so other tasks had the time for which they waited for a CPU. Without
/// pinning the time is not known.
pub(crate) fn time_of_others(case: &Case, evidence: &Evidence) -> Option<Nanos> {
    match (case.placement.cpus.len(), case.tasks) {
        (1, _) => {
            let used = evidence.task_cpu_ns + pause(case, evidence);
            Some(evidence.wall_ns.saturating_sub(used))
        }
        (cpus, tasks) if cpus >= tasks as usize => evidence.run_delay_ns,
        _ => None,
    }
}

/// Whether a window has too many page faults. Faults of a runtime's allocator and collector belong to its work.
fn has_faults(evidence: &Evidence, case: &Case, more: u64) -> bool {
    if case.runtime.is_some() {
        return evidence.major_faults > 0;
    }
    let limit = FAULTS_PER_TASK * u64::from(case.tasks) + FAULT_SLACK + more;
    evidence.major_faults > 0 || evidence.minor_faults > limit
}

/// Whether a task migrated. The first task sits on the first CPU of the placement. If nothing is
/// pinned, migration is part of what is measured.
fn has_migrated(evidence: &Evidence, case: &Case) -> bool {
    let seen = [evidence.cpu_before, evidence.cpu_after];
    case.placement
        .cpus
        .first()
        .is_some_and(|home| seen.into_iter().flatten().any(|cpu| cpu != *home))
}

/// Returns all reasons to leave out a whole window. Time that ordinary tasks lose to others between
/// two cycles is reported as a share; a cycle in which they lost time is left out by itself.
/// Changes of the clock, a shared core, an interrupt or stolen time are no reason here, because the
/// probes and the trimmed mean handle them cycle by cycle.
pub(crate) fn reasons_of_window(window: &Cycles, case: &Case) -> Vec<&'static str> {
    let evidence = &window.evidence;
    let pause = pause(case, evidence);
    let foreign = time_of_others(case, evidence)
        .unwrap_or_default()
        .saturating_sub(stolen(evidence));
    let limit = Nanos(
        evidence.wall_ns.saturating_sub(pause).0
            / if case.placement.is_one_cpu() {
                FOREIGN_SHARE
            } else {
                WAIT_SHARE
            },
    );
    let is_foreign = foreign > limit;
    let is_beside = is_foreign && !case.policy.is_real_time();
    let reasons = [
        (window.batches.is_empty(), NO_HANDOFFS),
        (evidence.is_clock_backwards, CLOCK_BACKWARDS),
        (pause.0 > 0, PAUSED),
        (pause.0 == 0 && is_foreign && !is_beside, FOREIGN_TIME),
        (
            has_faults(
                evidence,
                case,
                window.batches.len() as u64 / BATCHES_PER_FAULT,
            ),
            FAULTS,
        ),
        (has_migrated(evidence, case), MIGRATION),
        // Another task that runs in between adds its own switches.
        (
            !is_foreign && pause.0 == 0 && has_other_switch_count(window, case),
            SWITCH_COUNT,
        ),
    ];
    reasons
        .into_iter()
        .filter(|(is_found, _)| *is_found)
        .map(|(_, reason)| reason)
        .collect()
}

/// Whether the number of switches differs from the plan. The tasks' own count between commands is
/// used if there is one, else the count over the whole window, commands included.
fn has_other_switch_count(window: &Cycles, case: &Case) -> bool {
    let Some(plan) = case.switches else {
        return false;
    };
    let (counted, handoffs, control) = match window.counted {
        Some(counted) => (counted.switches.total(), counted.handoffs, 0),
        None => (
            window.kernel_switches.total(),
            window.switching_handoffs,
            window.control_switches,
        ),
    };
    let (counted, handoffs, control) = (counted as f64, handoffs as f64, control as f64);
    let stray = STRAY_SHARE * (handoffs + control);
    if case.between == Between::User {
        let is_idle = window.user_switches == 0 && handoffs > 0.0;
        return is_idle || counted > USER_SLACK + stray;
    }
    let slack = EDGE_PER_TASK * f64::from(case.tasks) + EDGE_SLACK + stray;
    let planned = |per_mille: u64| per_mille as f64 * handoffs / 1000.0 + control;
    !(planned(plan.low_per_mille) - slack..=planned(plan.high_per_mille) + slack).contains(&counted)
}

#[cfg(test)]
mod tests;
