//! Estimates the cost of the switches of running tasks: their number times the cost of a switch on
//! this machine, by process and by cause.
//!
//! The direct cost comes from `measure`, which measures a switch that blocks and a sched_yield. A
//! preemption costs at least as much as a yield, and at most as much as a switch that blocks and a
//! timer interrupt together. The indirect cost is known if calls of the program were traced
//! (`matched.rs`), or if `inject` has measured it.

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
pub(crate) mod tests;
mod waiting;
mod waits;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use switchcost_record::observation::{
    CALL_COST, Cause, CountedTurns, Entry, Observation, OwnCost, Source, Subject, Tasks, Why,
};

use crate::lists::{find_or_add, saturating_sum};

pub use advice::{Advice, AtMost, Change, NoAdvice};
pub use calibration::calibration;
pub use cause_costs::CauseCost;
pub use cost::{DirectCosts, Range};
pub use latency::Latency;
pub use matched::{
    Check, CheckName, Effect, EffectOfCall, EffectOfRange, MatchedIntervals, Outcome,
    UnknownBecause,
};
pub use neighbours::NeighbourFinding;
pub use payers::{Of, Part, Payer, payers};
use processes::Priced;
pub use processes::{NO_BOUND, ProcessFinding, RuntimeThreads};
pub use spread::{Bin, Spread, spread};
pub use stacks::{Stack, stacks};
pub use stretches::{Stretch, stretches};
pub use sums::{LabelSum, Times, off_times, sum_by_label, wait_times};
pub use waiting::{Waiting, waiting};
pub use waits::{KeptWaitingFinding, WaitBehind, WaitForCpus};

/// Findings from the record of an observation.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Findings {
    /// Length of the observed window in seconds.
    pub seconds: f64,
    /// Findings for all observed tasks together, without kernel threads unless they were named.
    pub all: ProcessFinding,
    /// Number of switches per request; `None` if the number of requests is unknown.
    pub switches_a_request: Option<f64>,
    /// Cost of switches per request, in nanoseconds of CPU time; `None` if the number of requests
    /// or the cost is unknown.
    pub cost_a_request_ns: Option<Range>,
    /// Findings by process name, highest cost first. Names that differ only by a number count as
    /// one.
    pub names: Vec<ProcessFinding>,
    /// Findings by thread name, highest cost first. Names that differ only by a number count as
    /// one. Empty if all threads have the names of their processes.
    pub threads: Vec<ProcessFinding>,
    /// Threads that were recognised as those of language runtimes, most switches first.
    pub runtimes: Vec<RuntimeThreads>,
    /// Findings by control group of the processes that existed at the end, highest cost first.
    pub groups: Vec<ProcessFinding>,
    /// Findings by process, highest cost first. Ended processes are grouped by name.
    pub processes: Vec<ProcessFinding>,
    /// Findings by cause of the switch, most frequent first.
    pub causes: Vec<CauseFinding>,
    /// Other programs that ran between time slices of the observed tasks, preempted them or woke
    /// them. The one that ran longest comes first.
    pub neighbours: Vec<NeighbourFinding>,
    /// Tasks that had the CPU while observed tasks waited for it, longest waits first.
    pub kept_waiting: Vec<KeptWaitingFinding>,
    /// Total time for which the observed tasks waited for CPUs. Null unless this time is at least a
    /// tenth of the window and of the CPU time, and longer than the switches took.
    pub long_wait: Option<WaitForCpus>,
    /// Time off the CPU after a switch; `None` if not counted.
    pub off: Option<Latency>,
    /// Wait for a CPU per switch; `None` if not counted.
    pub wait: Option<Latency>,
    /// Advice to the user, most effective first.
    pub advice: Vec<Advice>,
    /// Reason why there is no advice; null if there is advice, or if switches cost too little.
    pub no_advice: Option<NoAdvice>,
    /// Readings of hardware counters over the time slices of the observed tasks; `None` without
    /// counters.
    pub counted: Option<CountedTurns>,
    /// Cost of cold caches for each program, estimated by comparing matched intervals between
    /// system calls; empty if no call was traced.
    pub matched: Vec<MatchedIntervals>,
    /// Estimated share of CPU time that tracing system calls took; `None` if no call was traced.
    pub calls_share: Option<f64>,
    /// Number of traced calls that were lost for lack of memory, or whose program is unknown;
    /// `None` if no call was traced.
    pub calls_lost: Option<u64>,
    /// Time inside the scheduler per switch of the observed tasks; `None` if not requested or
    /// unknown.
    pub in_scheduler: Option<Latency>,
    /// Mean time inside the scheduler per switch, in nanoseconds; `None` if not requested or
    /// unknown.
    pub in_scheduler_ns: Option<f64>,
    /// CPU time of the observation itself on all CPUs together, as a share of one CPU; `None` if
    /// unknown.
    pub own_share: Option<f64>,
    /// CPU time of the observation itself per switch on any CPU, in nanoseconds, including the
    /// kernel's accounting; `None` if unknown.
    pub own_ns_a_switch: Option<f64>,
}

/// Switches of all observed tasks for one reason, from one kind of kernel entry.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct CauseFinding {
    /// Reason why the tasks left their CPUs.
    pub why: Why,
    /// How the tasks had entered the kernel.
    pub entry: Entry,
    /// Number of switches with this reason and kernel entry.
    pub switches: u64,
    /// Number of switches with this reason and kernel entry, as a share of all switches.
    pub share: f64,
    /// Mean time off the CPU after a switch with this reason and kernel entry, in nanoseconds;
    /// `None` if not counted.
    pub off_ns: Option<f64>,
    /// Part of `off_ns` in which the task was ready and waited for a CPU, in nanoseconds; `None` if
    /// not counted.
    pub wait_ns: Option<f64>,
    /// Name of the program that made most switches with this reason and kernel entry.
    pub mostly: String,
}

/// Returns the findings from an observation.
pub fn analyse(observation: &Observation) -> Findings {
    analyse_with(observation, compare_calls(observation))
}

/// Returns a comparison of the traced system calls for each program; empty if no call was traced.
/// The computation takes seconds.
pub fn compare_calls(observation: &Observation) -> Vec<MatchedIntervals> {
    processes::compare_calls(observation, &pools::Names::new(observation))
}

/// Returns the findings from an observation, given the comparison of traced calls. The calls may be
/// those of a longer observation.
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
        calls_lost: processes::lost_calls(observation),
        advice,
        no_advice,
        all,
    }
}

fn calls_share(observation: &Observation, all: &ProcessFinding) -> Option<f64> {
    let traced = observation.calls.as_ref()?.traced as f64;
    Some(traced * CALL_COST.0 as f64 / all.cpu_ns?)
}

/// Returns the tasks whose cost is reported: all observed tasks except kernel threads, which work
/// for all programs, unless the user named them by their IDs.
fn observed(observation: &Observation) -> impl Iterator<Item = &Tasks> {
    let are_named = matches!(observation.subject, Subject::Processes(_));
    let tasks = observation.tasks.iter();
    tasks.filter(move |tasks| are_named || !tasks.is_kernel)
}

fn causes<'a>(observation: &'a Observation, names: &'a pools::Names<'_>) -> Vec<CauseFinding> {
    let mut sums: Vec<(CauseFinding, f64, BTreeMap<&str, u64>)> = Vec::new();
    for tasks in observed(observation) {
        for cause in &tasks.causes {
            let is_it = |(sum, ..): &(CauseFinding, _, _)| {
                (sum.why, &sum.entry) == (cause.why, &cause.entry)
            };
            let new = || CauseFinding {
                why: cause.why,
                entry: cause.entry.clone(),
                switches: 0,
                share: 0.0,
                off_ns: None,
                wait_ns: None,
                mostly: String::new(),
            };
            let new = || (new(), 0.0, BTreeMap::new());
            let (sum, away, switches) = find_or_add(&mut sums, is_it, new);
            *away += away_at_end(tasks, cause);
            sum.switches = sum.switches.saturating_add(cause.switches);
            sum.off_ns = Some(sum.off_ns.unwrap_or(0.0) + cause.off_ns.0 as f64);
            sum.wait_ns = Some(sum.wait_ns.unwrap_or(0.0) + cause.wait_ns.0 as f64);
            let of_these = switches.entry(names.label(tasks)).or_default();
            *of_these = of_these.saturating_add(cause.switches);
        }
    }
    let has_times = observation.source != Source::BpfCounts;
    let all = saturating_sum(sums.iter().map(|(sum, ..)| sum.switches));
    for (cause, away, switches) in &mut sums {
        cause.mostly = switches
            .iter()
            .max_by_key(|(_, switches)| **switches)
            .map_or(String::new(), |(name, _)| (*name).to_owned());
        let count = (cause.switches as f64 - *away).max(1.0);
        cause.share = cause.switches as f64 / all.max(1) as f64;
        // A task that has ended does not return. A cause without any time off the CPU has tasks
        // that have not returned yet.
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
    let mut causes: Vec<CauseFinding> = sums.into_iter().map(|(cause, ..)| cause).collect();
    causes.sort_by_key(|cause| std::cmp::Reverse(cause.switches));
    causes
}

/// Returns the number of tasks that left their CPU for this cause and had not returned at the end.
/// Tasks that left for several causes are divided in proportion to the time off the CPU of each.
fn away_at_end(tasks: &Tasks, cause: &Cause) -> f64 {
    let weigh = |cause: &Cause| match cause.why {
        why if why.is_involuntary() || why == Why::Ended => 0.0,
        _ => cause.off_ns.0 as f64 + f64::from(u8::from(cause.switches > 0)),
    };
    let all: f64 = tasks.causes.iter().map(weigh).sum();
    tasks.off_at_end as f64 * weigh(cause) / all.max(1.0)
}
