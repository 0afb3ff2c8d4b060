//! Which samples are clean: one small rule for each way in which a batch is disturbed.
//!
//! What comes in: a sample, and what is usual in its case. What goes out: the name of a reason, or nothing. A reason
//! leaves the sample out of the estimates and is counted; the sample stays in the record.

use switchcost_record::{Between, Case, Cycles, Evidence, Mechanism, Sample};
use switchcost_units::{Nanos, Ticks};

use crate::order_statistics::median;

/// CPU time that went to none of our tasks, beyond what the reading of the clocks takes: 1 % of the window is what a kernel tick takes at
/// 1000 Hz (Tsafrir 2007: 0.5 to 1.5 %).
const FOREIGN_SHARE: u64 = 100;
/// In a shorter window the distance between the reading of the wall clock and of each task's clock weighs more ...
const SHORT_WINDOW: Nanos = Nanos::millis(2);
/// ... and this much is not held against it.
const FOREIGN_FLOOR: Nanos = Nanos::micros(50);
/// Of a window of cycles as a whole: the trimmed mean leaves out single turns of others, not a tenth of the time.
const FOREIGN_WINDOW_SHARE: u64 = 10;
/// USER_HZ is 100 on every Linux.
const STEAL_STEP: Nanos = Nanos::millis(10);
/// Linux takes the CPU from real-time tasks for 50 ms of each second (sched_rt_runtime_us = 950000).
const THROTTLED: std::ops::RangeInclusive<Nanos> = Nanos::millis(40)..=Nanos::millis(60);
/// More than twice the usual number of interrupts is a burst; few of them are still noise.
const INTERRUPT_FACTOR: f64 = 2.0;
const INTERRUPT_SLACK: f64 = 16.0;
/// Soft interrupts come in larger bunches (timers, RCU).
const SOFTIRQ_SLACK: f64 = 64.0;
/// Minor faults of a warm process: none but for a stack page or a copied page a task now and then.
const FAULTS_PER_TASK: u64 = 4;
const FAULT_SLACK: u64 = 16;
/// A window of cycles may have a fault in so many of its batches, all of which the trimmed mean leaves out: the allocator
/// gives memory back and takes it again.
const BATCHES_PER_FAULT: u64 = 20;
/// A step of the frequency governor is about 100 MHz in 3 GHz.
const KHZ_SHARE: f64 = 0.03;
/// A probe read twice in peace differs by less.
const PROBE_SHARE: f64 = 0.05;
/// Slower than the same CPU usually is in this run.
const SLOW_FACTOR: f64 = 1.10;
/// Switches without a fault: a kernel thread or a tick, one in 200 hand-offs.
const STRAY_SHARE: f64 = 0.005;
/// At the two ends of a window each task may have one switch more or less.
const EDGE_PER_TASK: f64 = 2.0;
const EDGE_SLACK: f64 = 4.0;
/// In a baseline each task is passed the turn, and the leader waits for it.
const TURN_PER_TASK: f64 = 4.0;
const TURN_SLACK: f64 = 8.0;
/// A single thread that hands over in user space has no reason to switch at all.
const USER_SLACK: f64 = 8.0;

/// Across CPUs a wait of more than a fifth of the window is more than wake-ups.
const WAIT_SHARE: u64 = 5;

pub(crate) const FOREIGN_TIME: &str = "foreign-time";
pub(crate) const RT_THROTTLED: &str = "rt-throttled";
pub(crate) const STEAL: &str = "steal";
pub(crate) const INTERRUPTS: &str = "interrupts";
pub(crate) const SOFTIRQS: &str = "softirqs";
pub(crate) const FAULTS: &str = "faults";
pub(crate) const MIGRATION: &str = "migration";
pub(crate) const FREQUENCY: &str = "frequency";
pub(crate) const CLOCK_BACKWARDS: &str = "clock-backwards";
pub(crate) const SWITCH_COUNT: &str = "switch-count";
pub(crate) const NO_HANDOFFS: &str = "no-handoffs";

/// What is usual where a sample was taken.
#[derive(Clone, Debug)]
pub(crate) struct Context<'a> {
    case: &'a Case,
    /// Median interrupts and soft interrupts of each arm.
    usual: [Usual; 4],
    /// Median probe of the case.
    case_probe: Option<f64>,
    /// Median probe of the record on the same CPU.
    cpu_probe: Option<f64>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Usual {
    interrupts: Option<f64>,
    softirqs: Option<f64>,
}

type Rule = fn(&Sample, &Context<'_>) -> Option<&'static str>;

const RULES: [Rule; 10] = [
    no_handoffs,
    clock_backwards,
    foreign_time,
    steal,
    interrupts,
    softirqs,
    faults,
    migration,
    frequency,
    switch_count,
];

impl<'a> Context<'a> {
    /// What is usual among the plain samples of one case. Without `cpu_probe` the case is its own measure.
    pub(crate) fn new(case: &'a Case, plain: &[&Sample], cpu_probe: Option<f64>) -> Self {
        let of_arm = |arm: usize| plain.iter().filter(move |sample| sample.arm as usize == arm);
        let median_of = |arm, read: fn(&Sample) -> Option<u64>| {
            median(&mut of_arm(arm).filter_map(|sample| read(sample)).map(|count| count as f64).collect::<Vec<_>>())
        };
        let usual = [0, 1, 2, 3].map(|arm| Usual {
            interrupts: median_of(arm, |sample| sample.evidence.interrupts),
            softirqs: median_of(arm, |sample| sample.evidence.softirqs),
        });
        let case_probe = median_probe(plain.iter().copied());
        Context { case, usual, case_probe, cpu_probe: cpu_probe.or(case_probe) }
    }

    /// Every reason to leave the sample out.
    pub(crate) fn reasons(&self, sample: &Sample) -> Vec<&'static str> {
        RULES.iter().filter_map(|rule| rule(sample, self)).collect()
    }
}

/// The median of all probes, before and after; `None` where no probe was taken.
pub(crate) fn median_probe<'a>(samples: impl Iterator<Item = &'a Sample>) -> Option<f64> {
    let probes = samples.flat_map(|sample| [sample.evidence.probe_before, sample.evidence.probe_after]);
    median(&mut probes.filter(|probe| *probe > Ticks(0)).map(|probe| probe.0 as f64).collect::<Vec<_>>())
}

/// All switches that the kernel counted.
pub(crate) fn kernel_switches(sample: &Sample) -> f64 {
    sample.kernel_switches.voluntary as f64 + sample.kernel_switches.involuntary as f64
}

fn no_handoffs(sample: &Sample, _: &Context<'_>) -> Option<&'static str> {
    (sample.handoffs == 0).then_some(NO_HANDOFFS)
}

fn clock_backwards(sample: &Sample, _: &Context<'_>) -> Option<&'static str> {
    sample.evidence.is_clock_backwards.then_some(CLOCK_BACKWARDS)
}

/// Time of a window that went to other tasks. On one CPU our tasks leave no time unused, so it is what is missing; on CPUs of their own
/// they never wait for one, so it is what they waited. Without pinning it is not known.
pub(crate) fn time_of_others(case: &Case, evidence: &Evidence) -> Option<Nanos> {
    match (case.placement.cpus.len(), case.tasks) {
        (1, _) => Some(evidence.wall_ns.saturating_sub(evidence.task_cpu_ns)),
        (cpus, tasks) if cpus >= tasks as usize => evidence.run_delay_ns,
        _ => None,
    }
}

fn foreign_time(sample: &Sample, context: &Context<'_>) -> Option<&'static str> {
    let wall = sample.evidence.wall_ns;
    let foreign = time_of_others(context.case, &sample.evidence)?;
    // A wake-up on another CPU is a short wait too: only if it adds up does another task have the CPU.
    if !context.case.placement.is_one_cpu() {
        return (foreign.0 > wall.0 / WAIT_SHARE).then_some(FOREIGN_TIME);
    }
    let floor = if wall < SHORT_WINDOW { FOREIGN_FLOOR } else { Nanos(0) };
    if foreign <= floor.max(Nanos(wall.0 / FOREIGN_SHARE)) {
        return None;
    }
    let is_throttled = context.case.policy.is_real_time() && THROTTLED.contains(&foreign);
    Some(if is_throttled { RT_THROTTLED } else { FOREIGN_TIME })
}

fn steal(sample: &Sample, _: &Context<'_>) -> Option<&'static str> {
    (sample.evidence.steal_ns? > Nanos(0)).then_some(STEAL)
}

fn interrupts(sample: &Sample, context: &Context<'_>) -> Option<&'static str> {
    let usual = context.usual[sample.arm as usize].interrupts?;
    is_burst(sample.evidence.interrupts?, usual, INTERRUPT_SLACK).then_some(INTERRUPTS)
}

/// TCP hands its packets over in soft interrupts: there they are the work itself.
fn softirqs(sample: &Sample, context: &Context<'_>) -> Option<&'static str> {
    if context.case.mechanism == Mechanism::Tcp {
        return None;
    }
    let usual = context.usual[sample.arm as usize].softirqs?;
    is_burst(sample.evidence.softirqs?, usual, SOFTIRQ_SLACK).then_some(SOFTIRQS)
}

fn is_burst(count: u64, usual: f64, slack: f64) -> bool {
    count as f64 > INTERRUPT_FACTOR * usual + slack
}

fn faults(sample: &Sample, context: &Context<'_>) -> Option<&'static str> {
    has_faults(&sample.evidence, context.case, 0).then_some(FAULTS)
}

/// What the allocator and the collector of a runtime touch is a part of what it does.
fn has_faults(evidence: &Evidence, case: &Case, more: u64) -> bool {
    if case.runtime.is_some() {
        return evidence.major_faults > 0;
    }
    let limit = FAULTS_PER_TASK * u64::from(case.tasks) + FAULT_SLACK + more;
    evidence.major_faults > 0 || evidence.minor_faults > limit
}

/// The first task sits on the first CPU of the placement. Where nothing is pinned, moving is what is measured.
fn migration(sample: &Sample, context: &Context<'_>) -> Option<&'static str> {
    has_migrated(&sample.evidence, context.case).then_some(MIGRATION)
}

fn has_migrated(evidence: &Evidence, case: &Case) -> bool {
    let seen = [evidence.cpu_before, evidence.cpu_after];
    case.placement.cpus.first().is_some_and(|home| seen.into_iter().flatten().any(|cpu| cpu != *home))
}

fn frequency(sample: &Sample, context: &Context<'_>) -> Option<&'static str> {
    (has_khz_step(sample) || has_other_speed(sample, context)).then_some(FREQUENCY)
}

fn has_khz_step(sample: &Sample) -> bool {
    let Some((before, after)) = sample.evidence.khz_before.zip(sample.evidence.khz_after) else { return false };
    before.abs_diff(after) as f64 > KHZ_SHARE * before.max(after) as f64
}

/// An interrupt lengthens one probe of a sample; another frequency changes both.
fn has_other_speed(sample: &Sample, context: &Context<'_>) -> bool {
    let (before, after) = (sample.evidence.probe_before.0 as f64, sample.evidence.probe_after.0 as f64);
    let (low, high) = (before.min(after), before.max(after));
    if low == 0.0 {
        return false;
    }
    let differs = |usual: f64| low > usual * (1.0 + PROBE_SHARE) || high < usual * (1.0 - PROBE_SHARE);
    context.case_probe.is_some_and(differs) || context.cpu_probe.is_some_and(|usual| low > usual * SLOW_FACTOR)
}

/// Switches are counted, never assumed: a count other than planned means that something else was measured.
fn switch_count(sample: &Sample, context: &Context<'_>) -> Option<&'static str> {
    let case = context.case;
    let is_idle = case.between == Between::User && sample.arm.switches() && sample.user_switches == 0;
    let is_off =
        planned_switches(sample, case).is_some_and(|(low, high)| !(low..=high).contains(&kernel_switches(sample)));
    (is_idle || is_off).then_some(SWITCH_COUNT)
}

/// Every reason to leave out a window of cycles as a whole. Ordinary tasks run beside others as it comes: what those take between two
/// cycles is reported as their share, and what they take within one is left out with that cycle. A clock that changes its speed, a
/// neighbour on the core, an interrupt or a turn of another machine are no such reason: the probes and the trimmed mean see to them cycle
/// by cycle.
pub(crate) fn reasons_of_window(window: &Cycles, case: &Case) -> Vec<&'static str> {
    let evidence = &window.evidence;
    // Stolen time is counted in steps, and may show in the next window only.
    let stolen = evidence.steal_ns.map_or(Nanos(0), |steal| steal + STEAL_STEP);
    let foreign = time_of_others(case, evidence).unwrap_or_default().saturating_sub(stolen);
    let limit = Nanos(evidence.wall_ns.0 / if case.placement.is_one_cpu() { FOREIGN_WINDOW_SHARE } else { WAIT_SHARE });
    let is_foreign = foreign > limit;
    let is_beside = is_foreign && !case.policy.is_real_time();
    let reasons = [
        (window.batches.is_empty(), NO_HANDOFFS),
        (evidence.is_clock_backwards, CLOCK_BACKWARDS),
        (is_foreign && !is_beside, FOREIGN_TIME),
        (has_faults(evidence, case, window.batches.len() as u64 / BATCHES_PER_FAULT), FAULTS),
        (has_migrated(evidence, case), MIGRATION),
        // Somebody else who runs in between makes switches of his own.
        (!is_foreign && has_other_switch_count(window, case), SWITCH_COUNT),
    ];
    reasons.into_iter().filter(|(is_found, _)| *is_found).map(|(_, reason)| reason).collect()
}

/// Switches are counted, never assumed: those that the tasks counted while the token went round, or else in a window all that its
/// batches and the commands between them take.
fn has_other_switch_count(window: &Cycles, case: &Case) -> bool {
    let Some(plan) = case.switches else { return false };
    let (counted, handoffs, control) = match window.counted {
        Some(counted) => (counted.switches.total(), counted.handoffs, 0),
        None => (window.kernel_switches.total(), window.switching_handoffs, window.control_switches),
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

/// How many switches the kernel may count in a sample's window; `None` where they are not judged.
fn planned_switches(sample: &Sample, case: &Case) -> Option<(f64, f64)> {
    let plan = case.switches?;
    let (handoffs, tasks) = (sample.handoffs as f64, f64::from(case.tasks));
    let stray = STRAY_SHARE * handoffs;
    if case.between == Between::User {
        return Some((0.0, USER_SLACK + stray));
    }
    if !sample.arm.switches() {
        return Some((0.0, TURN_PER_TASK * tasks + TURN_SLACK + stray));
    }
    let slack = EDGE_PER_TASK * tasks + EDGE_SLACK + stray;
    let planned = |per_mille: u64| per_mille as f64 * handoffs / 1000.0;
    Some((planned(plan.low_per_mille) - slack, planned(plan.high_per_mille) + slack))
}

#[cfg(test)]
mod tests;
