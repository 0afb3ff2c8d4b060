//! Judges which windows of rounds are clean, with one rule for each kind of disturbance.
//!
//! The result for a window is a list of reasons to leave the window out of the estimates, which is
//! empty for a clean window. A window that is left out is counted, and stays in the record.

use switchcost_record::{Between, Case, Cycles, Evidence};
use switchcost_units::Nanos;

/// Divisor of a window's length for the largest time that may go to other tasks. The trimmed mean
/// excludes single time slices of other tasks, but not a tenth of the time.
const FOREIGN_SHARE: u64 = 10;
/// Granularity of the kernel's stolen time: USER_HZ is 100 on every Linux.
const STEAL_STEP: Nanos = Nanos::millis(10);
/// Shortest pause that is detected. The kernel's counts of CPU time may be late by less than this.
const LEAST_PAUSE: Nanos = Nanos::millis(20);
/// Number of minor page faults per task and window that are tolerated. A warm process has only an
/// occasional fault for a stack page or a copied page.
const FAULTS_PER_TASK: u64 = 4;
const FAULT_SLACK: u64 = 16;
/// Number of batches for each further page fault that is tolerated. The trimmed mean excludes
/// batches in which the allocator returns memory to the kernel and requests memory again.
const BATCHES_PER_FAULT: u64 = 20;
/// Number of additional switches that are tolerated, as a share of the hand-offs: one in 200, for
/// kernel threads and ticks.
const STRAY_SHARE: f64 = 0.005;
/// Number of additional or missing switches per task that are tolerated at the two ends of a
/// window.
const EDGE_PER_TASK: f64 = 2.0;
const EDGE_SLACK: f64 = 4.0;
/// Number of switches that are tolerated for a thread without a reason to switch, because its
/// hand-offs are in user space.
const USER_SLACK: f64 = 8.0;

/// Divisor of a window's length for the longest wait for a CPU in cases across CPUs. Wake-ups
/// explain only shorter waits.
const WAIT_SHARE: u64 = 5;

pub(crate) const FOREIGN_TIME: &str = "foreign-time";
pub(crate) const PAUSED: &str = "paused";
pub(crate) const FAULTS: &str = "faults";
pub(crate) const MIGRATION: &str = "migration";
pub(crate) const CLOCK_BACKWARDS: &str = "clock-backwards";
pub(crate) const SWITCH_COUNT: &str = "switch-count";
pub(crate) const NO_HANDOFFS: &str = "no-handoffs";

/// Returns the length of the pauses in a window: no task ran or waited for a CPU, and no other
/// guest had the CPU. Reasons are a signal that stopped the tasks, a frozen control group, or a
/// suspended machine. The result is 0 for pauses up to 20 ms, and if the length is unknown: unless
/// all tasks are on one CPU, for language runtimes, and after a major page fault.
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

/// Returns the largest time that may have been stolen in a window. The kernel counts stolen time in
/// steps, and may count a step only in the next window. The result is 0 if stolen time was not
/// counted.
fn stolen(evidence: &Evidence) -> Nanos {
    evidence
        .steal_ns
        .map_or(Nanos(0), |steal| steal + STEAL_STEP)
}

/// Returns the time of a window in which other tasks ran. If all tasks are on one CPU, this is the
/// time that the measured tasks did not use, without pauses. If each task has its own CPU, this is
/// the time for which the tasks waited for a CPU. `None` in other cases.
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

/// Whether page faults disturbed a timed window. `more` is the number of minor faults that are
/// tolerated because the batches themselves cause them. For language runtimes only major faults
/// count, because the minor faults of their allocators belong to the measured work.
fn has_faults(evidence: &Evidence, case: &Case, more: u64) -> bool {
    if case.runtime.is_some() {
        return evidence.major_faults > 0;
    }
    let limit = FAULTS_PER_TASK * u64::from(case.tasks) + FAULT_SLACK + more;
    evidence.major_faults > 0 || evidence.minor_faults > limit
}

/// Whether the first task was not on the first CPU of the placement. Always false for tasks that
/// are not pinned, whose migrations are a part of what is measured.
fn has_migrated(evidence: &Evidence, case: &Case) -> bool {
    let seen = [evidence.cpu_before, evidence.cpu_after];
    case.placement
        .cpus
        .first()
        .is_some_and(|home| seen.into_iter().flatten().any(|cpu| cpu != *home))
}

/// Returns all reasons to leave out a window. Some disturbances are no reason, because probes and
/// the trimmed mean handle them round by round: a change of the core clock, a shared core, an
/// interrupt, and stolen time. Other tasks that run between the rounds of ordinary tasks are no
/// reason either. Their share of the time is reported, and the rounds in which they ran are left
/// out.
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
        // Another task that runs in between adds switches of its own.
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

/// Whether the number of switches in a timed window differs from the planned number. The tasks' own
/// count is used if there is one. Otherwise the kernel's count is used, which includes the switches
/// by which tasks receive commands.
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
