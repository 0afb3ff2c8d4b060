//! Prices the switches of live tasks: their counts times the cost of a switch on this machine, by
//! process and by cause.
//!
//! The direct cost comes from `measure`: the cost of a switch that blocks, and that of a
//! sched_yield. A preemption costs between the two, because it does at least what a yield does and
//! less than a switch that blocks, plus the interrupt if one caused it. The indirect cost is known
//! if calls of the program were traced (`matched.rs`), or if `inject` has measured it.

mod advice;
mod calibration;
mod cause_costs;
mod cost;
mod known;
mod latency;
mod matched;
mod neighbours;
mod payers;
mod pools;
mod processes;
mod reloading;
mod runtimes;
mod spread;
mod stacks;
mod stretches;
mod sums;
#[cfg(test)]
mod tests;
mod waiting;
mod waits;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use switchcost_record::observation::{
    CALL_COST, CountedTurns, Entry, Observation, OwnCost, Source, Tasks, Why,
};

use crate::lists::{find_or_add, saturating_sum};

pub use advice::{Advice, AtMost, Change, NoAdvice};
pub use calibration::calibration;
pub use cause_costs::CauseCost;
pub use cost::{DirectCosts, Range};
pub use latency::Latency;
pub use matched::{
    Check, CheckName, Effect, EffectOfCall, EffectOfRange, Interval, MatchedIntervals, Outcome,
    UnknownBecause,
};
pub use neighbours::NeighbourFinding;
pub use payers::{Bounds, Of, Part, Payer, payers};
use processes::Priced;
pub use processes::{NO_BOUND, ProcessFinding, RuntimeThreads};
pub use spread::{Bin, Spread, spread};
pub use stacks::{Stack, stacks};
pub use stretches::{Stretch, stretches};
pub use sums::{LabelSum, Times, off_times, sum_by_label, wait_times};
pub use waiting::{Waiting, waiting};
pub use waits::{KeptWaitingFinding, WaitBehind, WaitForCpus};

/// All findings of an observation.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Findings {
    /// Length of the window in seconds.
    pub seconds: f64,
    /// Findings of the observed tasks together, without kernel threads.
    pub all: ProcessFinding,
    /// Switches per request; `None` if requests are not known.
    pub switches_a_request: Option<f64>,
    /// Cost of switching per request, in nanoseconds of CPU time; `None` if requests or costs are not known.
    pub cost_a_request_ns: Option<Range>,
    /// Findings by process name, the costliest first; numbered names count as one.
    pub names: Vec<ProcessFinding>,
    /// Findings by thread name, the costliest first; pools of numbered names count as one. Empty if all threads have the names of their
    /// processes.
    pub threads: Vec<ProcessFinding>,
    /// Threads recognised as belonging to language runtimes, those with most switches first.
    pub runtimes: Vec<RuntimeThreads>,
    /// Findings by control group of the processes alive at the end, the costliest first.
    pub groups: Vec<ProcessFinding>,
    /// Findings by process, the costliest first; ended processes are grouped by name.
    pub processes: Vec<ProcessFinding>,
    /// Findings by cause, the most frequent first.
    pub causes: Vec<CauseFinding>,
    /// Other programs that ran between time slices of the observed tasks, preempted them or woke
    /// them; the one that ran longest comes first.
    pub neighbours: Vec<NeighbourFinding>,
    /// Tasks that had the CPU while observed tasks waited for it, the longest waits first.
    pub kept_waiting: Vec<KeptWaitingFinding>,
    /// Time that the observed tasks waited for CPUs; null unless it is a tenth of the window and of
    /// the CPU time, and longer than the switches took.
    pub long_wait: Option<WaitForCpus>,
    /// Time off the CPU per switch; `None` if it was not counted.
    pub off: Option<Latency>,
    /// Wait for a CPU; `None` if it was not counted.
    pub wait: Option<Latency>,
    /// Advice, the most helpful first.
    pub advice: Vec<Advice>,
    /// Why there is no advice; null if there is advice, or if switching costs too little to need any.
    pub no_advice: Option<NoAdvice>,
    /// Hardware counters over the time slices of the observed tasks; `None` if they were not read.
    pub counted: Option<CountedTurns>,
    /// Cost of cold caches to each program, estimated by matched intervals; empty if no call was
    /// traced.
    pub matched: Vec<MatchedIntervals>,
    /// Estimated share of the CPU time that tracing these calls took; `None` if no call was traced.
    pub calls_share: Option<f64>,
    /// Time in the scheduler per switch of the observed tasks; `None` if it was not requested or is
    /// not known.
    pub in_scheduler: Option<Latency>,
    /// Mean time in the scheduler per switch, in nanoseconds.
    pub in_scheduler_ns: Option<f64>,
    /// CPU time that observing took on all CPUs, as a share of one CPU; `None` if it is not known.
    pub own_share: Option<f64>,
    /// CPU time that observing took per switch on any CPU, in nanoseconds, including the kernel's
    /// accounting.
    pub own_ns_a_switch: Option<f64>,
}

/// Switches of all observed tasks for one reason and one kernel entry.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct CauseFinding {
    /// Reason for which the tasks left their CPUs.
    pub why: Why,
    /// Kernel entry in which the tasks left their CPUs.
    pub entry: Entry,
    /// Number of switches for this reason.
    pub switches: u64,
    /// Share of all switches.
    pub share: f64,
    /// Mean time off the CPU, in nanoseconds; `None` if it was not counted.
    pub off_ns: Option<f64>,
    /// Part of `off_ns` that is the mean wait for a CPU.
    pub wait_ns: Option<f64>,
    /// Program that made most of these switches.
    pub mostly: String,
}

/// Analyses an observation, and returns its findings.
pub fn analyse(observation: &Observation) -> Findings {
    analyse_with(observation, compare_calls(observation))
}

/// Compares the traced calls of each program, which takes seconds; returns nothing if no call was
/// traced.
pub fn compare_calls(observation: &Observation) -> Vec<MatchedIntervals> {
    processes::compare_calls(observation, &pools::Names::new(observation))
}

/// Analyses an observation whose traced calls were already compared, possibly those of a longer
/// observation.
pub fn analyse_with(observation: &Observation, matched: Vec<MatchedIntervals>) -> Findings {
    let seconds = observation.window_ns.0 as f64 / 1e9;
    let names = pools::Names::new(observation);
    let priced = Priced::new(observation, &names, matched);
    let all = processes::sum_all(&priced);
    let processes = processes::find(&priced);
    let causes = causes(observation, &names);
    let neighbours = neighbours::find(observation);
    let (advice, no_advice) = advice::find(observation, &all, &causes, &neighbours);
    let has_all = |own: &&OwnCost| own.measured_ns.0 > 0 || observation.source == Source::Proc;
    let own = observation.own_cost.as_ref().filter(has_all);
    let user = own.map_or(0.0, |own| {
        own.user_ns.0 as f64 / observation.window_ns.0.max(1) as f64
    });
    let requests = observation
        .requests
        .filter(|requests| *requests > 0)
        .map(|requests| requests as f64);
    let inside = observation
        .in_scheduler
        .as_ref()
        .filter(|inside| inside.times.count() > 0);
    let kept_waiting = waits::find(observation);
    Findings {
        seconds,
        long_wait: waits::long_wait(&kept_waiting, &all, observation.window_ns.0 as f64),
        switches_a_request: requests.map(|requests| all.switches as f64 / requests),
        cost_a_request_ns: all
            .cost_ns
            .zip(requests)
            .map(|(cost, requests)| cost.over(requests)),
        off: latency::find(observed(observation).map(|tasks| &tasks.off)),
        wait: latency::find(observed(observation).map(|tasks| &tasks.wait)),
        counted: observed(observation)
            .filter_map(|tasks| tasks.counted.clone())
            .reduce(|mut sum, more| {
                sum.add(&more);
                sum
            })
            .filter(|counted| counted.instructions.count() > 0),
        in_scheduler: inside.and_then(|inside| latency::find(std::iter::once(&inside.times))),
        in_scheduler_ns: inside.map(|inside| inside.ns.0 as f64 / inside.times.count() as f64),
        own_share: own.map(|own| own.kernel_ns.0 as f64 / own.measured_ns.0.max(1) as f64 + user),
        own_ns_a_switch: own
            .filter(|own| own.switches > 0)
            .map(|own| own.kernel_ns.0 as f64 / own.switches as f64),
        names: processes::group_by_name(&priced),
        threads: processes::group_by_thread(&priced),
        runtimes: processes::threads_by_runtime(&priced),
        groups: processes::findings_by_group(&priced),
        processes,
        causes,
        neighbours,
        kept_waiting,
        matched: priced.into_matched(),
        calls_share: calls_share(observation, &all),
        advice,
        no_advice,
        all,
    }
}

fn calls_share(observation: &Observation, all: &ProcessFinding) -> Option<f64> {
    let traced = observation.calls.as_ref()?.traced as f64;
    Some(traced * CALL_COST.0 as f64 / all.cpu_ns?)
}

/// Returns the tasks whose cost is reported: all observed tasks but the kernel's own threads, which
/// work for all programs.
fn observed(observation: &Observation) -> impl Iterator<Item = &Tasks> {
    observation.tasks.iter().filter(|tasks| !tasks.is_kernel)
}

fn causes<'a>(observation: &'a Observation, names: &'a pools::Names<'_>) -> Vec<CauseFinding> {
    let mut sums: Vec<(CauseFinding, BTreeMap<&str, u64>)> = Vec::new();
    for tasks in observed(observation) {
        for cause in &tasks.causes {
            let is_it =
                |(sum, _): &(CauseFinding, _)| (sum.why, &sum.entry) == (cause.why, &cause.entry);
            let new = || CauseFinding {
                why: cause.why,
                entry: cause.entry.clone(),
                switches: 0,
                share: 0.0,
                off_ns: None,
                wait_ns: None,
                mostly: String::new(),
            };
            let (sum, switches) = find_or_add(&mut sums, is_it, || (new(), BTreeMap::new()));
            sum.switches = sum.switches.saturating_add(cause.switches);
            sum.off_ns = Some(sum.off_ns.unwrap_or(0.0) + cause.off_ns.0 as f64);
            sum.wait_ns = Some(sum.wait_ns.unwrap_or(0.0) + cause.wait_ns.0 as f64);
            let of_these = switches.entry(names.label(tasks)).or_default();
            *of_these = of_these.saturating_add(cause.switches);
        }
    }
    let has_times = observation.source != Source::BpfCounts;
    let all = saturating_sum(sums.iter().map(|(sum, _)| sum.switches));
    let with_most = |(sum, switches): (CauseFinding, BTreeMap<&str, u64>)| CauseFinding {
        mostly: switches
            .into_iter()
            .max_by_key(|(_, switches)| *switches)
            .map_or(String::new(), |(name, _)| name.to_owned()),
        ..sum
    };
    let mut causes: Vec<CauseFinding> = sums.into_iter().map(with_most).collect();
    for cause in &mut causes {
        let count = cause.switches.max(1) as f64;
        cause.share = cause.switches as f64 / all.max(1) as f64;
        // A task that has ended does not return, and one without any time off the CPU has not returned yet.
        cause.off_ns = cause
            .off_ns
            .filter(|sum| *sum > 0.0 && has_times)
            .map(|sum| sum / count);
        let has_come = cause.off_ns.is_some() || !has_times;
        cause.wait_ns = cause
            .wait_ns
            .filter(|_| cause.why != Why::Ended && has_come)
            .map(|sum| sum / count);
    }
    causes.sort_by_key(|cause| std::cmp::Reverse(cause.switches));
    causes
}
