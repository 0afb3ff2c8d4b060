use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;
use switchcost_record::observation::{KnownBy, Observation, Tasks, ThreadCalls};

use super::cost::{self, Range};
use super::pools::Names;
use super::reloading::Reloaded;
use super::runtimes::{self, Kind};
use super::{
    CauseCost, Latency, MatchedIntervals, UnknownBecause, cause_costs, known, latency, matched,
    observed,
};
use crate::lists::saturating_sum;

/// Switches of one process, or of several processes together, with their cost.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct ProcessFinding {
    /// Name of the process or group; untrusted text that must be escaped before it is shown.
    pub name: String,
    /// Process ID; null if the finding is for several processes.
    pub process: Option<u32>,
    /// Process ID in the process's own PID namespace, if it differs from the ID that the observer
    /// sees.
    pub process_inside: Option<u32>,
    /// Path of the process's control group, unless it is the root; untrusted text that must be
    /// escaped before it is shown.
    pub control_group: Option<String>,
    /// Whether the tasks are kernel threads.
    pub is_kernel: bool,
    /// Number of tasks in this finding.
    pub tasks: u64,
    /// Number of switches, as the kernel counts them.
    pub switches: u64,
    /// Number of involuntary switches, including calls of sched_yield.
    pub involuntary: u64,
    /// Number of involuntary switches as a share of all switches.
    pub involuntary_share: f64,
    /// Number of switches per second of the observation.
    pub per_second: f64,
    /// CPU time in nanoseconds; null if not counted.
    pub cpu_ns: Option<f64>,
    /// CPU time as a number of CPUs: CPU time over the length of the window; null if not counted.
    pub cpus: Option<f64>,
    /// Direct cost of the switches in nanoseconds; null if the cost of a switch on the machine is
    /// unknown.
    pub direct_ns: Option<Range>,
    /// Part of the direct cost that is due to interrupts that preempted the tasks, in nanoseconds;
    /// null if the cost or causes are unknown.
    pub interrupts_ns: Option<Range>,
    /// Indirect cost of the switches in nanoseconds; null if unknown.
    pub indirect_ns: Option<Range>,
    /// Source of most of the indirect cost; null if the cost is unknown.
    pub likely_by: Option<KnownBy>,
    /// Reason why the traced calls do not give the indirect cost; null if they do, or if the cost is
    /// known.
    pub indirect_unknown_because: Option<UnknownBecause>,
    /// Direct and indirect cost together in nanoseconds; null if either is unknown.
    pub cost_ns: Option<Range>,
    /// Direct cost as a share of the CPU time; null if unknown.
    pub direct_share: Option<Range>,
    /// Indirect cost as a share of the CPU time; null if unknown. The upper end is null if only the
    /// CPU time limits the sum of both costs.
    pub indirect_share: Option<Range>,
    /// Direct and indirect cost together as a share of the CPU time; null if unknown.
    pub share: Option<Range>,
    /// Direct and indirect cost together as a number of CPUs: seconds of CPU time per second; null
    /// if unknown.
    pub cost_cpus: Option<Range>,
    /// Waits for a CPU; null if not counted.
    pub wait: Option<Latency>,
    /// Numbers of migrations: to another CPU of the same core, to another core with the same
    /// last-level cache, and to other CPUs.
    pub moved: [u64; 3],
    /// Switches by cause, most frequent first.
    pub causes: Vec<CauseCost>,
}

/// Cost of switches, as a number of CPUs, below which the cost is negligible, however large its
/// share of the CPU time.
const NEGLIGIBLE_CPUS: f64 = 0.01;

/// Least upper end of a share of CPU time that counts as no upper end. An upper end near 1 only
/// says that the cost is at most all of the CPU time.
pub const NO_BOUND: f64 = 0.995;

impl ProcessFinding {
    /// Returns the cost of cold caches as a share of the CPU time; `None` if unknown. There is no
    /// upper end if only the CPU time limits the sum of direct and indirect cost.
    pub fn cold_share(&self) -> Option<Range> {
        self.indirect_share
    }

    /// Whether the direct cost has no upper end because the cost of a preemption was not measured.
    pub fn lacks_preemption(&self, observation: &Observation) -> bool {
        let calibration = observation.calibration.as_ref();
        let cpu_ns = self.cpu_ns.unwrap_or(0.0);
        let is_open = |interrupts: Range| interrupts.high >= NO_BOUND * cpu_ns;
        calibration.is_some_and(|costs| costs.preempted.is_none())
            && self.interrupts_ns.is_none_or(is_open)
    }

    /// Whether the switches cost less than a hundredth of a CPU, even at the upper end.
    pub fn is_negligible(&self) -> bool {
        let most = self.cost_cpus.map(|cost| cost.high).or(self.cpus);
        most.is_some_and(|most| most < NEGLIGIBLE_CPUS)
    }

    /// Returns the likely cost of the switches in nanoseconds, or the likely direct cost if the
    /// indirect cost is unknown; `None` if both are unknown.
    pub fn likely_ns(&self) -> Option<f64> {
        let both = self.cost_ns.and_then(|cost| cost.likely);
        both.or_else(|| {
            self.direct_ns
                .map(|direct| direct.likely.unwrap_or(direct.low))
        })
    }
}

impl Range {
    /// Whether the range of a share of CPU time has an upper end below [`NO_BOUND`].
    pub fn is_bounded(&self) -> bool {
        self.high < NO_BOUND
    }
}

/// An observation, with the comparisons of traced calls and the names under which tasks are
/// reported.
pub(super) struct Priced<'a> {
    observation: &'a Observation,
    names: &'a Names<'a>,
    matched: Vec<MatchedIntervals>,
}

impl<'a> Priced<'a> {
    pub(super) fn new(
        observation: &'a Observation,
        names: &'a Names<'a>,
        matched: Vec<MatchedIntervals>,
    ) -> Priced<'a> {
        Priced {
            observation,
            names,
            matched,
        }
    }

    pub(super) fn into_matched(self) -> Vec<MatchedIntervals> {
        self.matched
    }

    fn reloaded(&self, tasks: &Tasks) -> Option<Reloaded> {
        let costs = known::costs(self.observation, tasks);
        let direct = costs.and_then(|costs| cost::direct(tasks, costs))?;
        let matched = self.matched_intervals(tasks);
        let injected = known::injected(self.observation, tasks);
        Reloaded::new(tasks, direct, matched, injected)
    }

    fn matched_intervals(&self, tasks: &Tasks) -> Option<&MatchedIntervals> {
        let label = self.names.process_label(tasks);
        self.matched.iter().find(|found| found.program == label)
    }

    /// Returns the reason why the traced calls do not give the cost of cold caches, for the program
    /// among `tasks` with most waits; `None` if there is no such reason.
    fn unknown_because(&self, tasks: &[&Tasks]) -> Option<UnknownBecause> {
        let matched = tasks.iter().map(|tasks| self.matched_intervals(tasks));
        let reason = |matched: Option<&MatchedIntervals>| match matched {
            Some(matched) => Some((matched.waits, matched.unknown_because?)),
            None => Some((0, UnknownBecause::NotTraced)),
        };
        let (_, why) = matched.filter_map(reason).max_by_key(|(waits, _)| *waits)?;
        Some(why)
    }
}

/// Returns the comparison of traced calls for each program.
pub(super) fn compare_calls(observation: &Observation, names: &Names<'_>) -> Vec<MatchedIntervals> {
    let Some(traced) = &observation.calls else {
        return Vec::new();
    };
    matched::find(traced, |thread| {
        Some(names.process_label(traced_tasks(observation, thread)?))
    })
}

/// Returns the number of traced calls that were lost: for lack of memory, or because their thread
/// belongs to no observed program. `None` if no calls were traced.
pub(super) fn lost_calls(observation: &Observation) -> Option<u64> {
    let traced = observation.calls.as_ref()?;
    let threads = traced.slices.iter().flat_map(|slice| &slice.threads);
    let unknown = threads.filter(|thread| traced_tasks(observation, thread).is_none());
    let lost: usize = unknown.map(|thread| thread.site.len()).sum();
    Some(traced.lost + lost as u64)
}

/// Returns the tasks to which a traced thread belongs. A process that has ended is identified by
/// its name.
fn traced_tasks<'a>(observation: &'a Observation, thread: &ThreadCalls) -> Option<&'a Tasks> {
    let name = match thread.process_name.as_str() {
        "" => &thread.name,
        name => name,
    };
    observation.tasks.iter().find(|tasks| match tasks.process {
        Some(process) => process == thread.process,
        None => tasks.process_name() == name,
    })
}

/// Returns the finding for all observed tasks together, without kernel threads.
pub(super) fn sum_all(priced: &Priced<'_>) -> ProcessFinding {
    let tasks: Vec<&Tasks> = observed(priced.observation).collect();
    finding(priced, None, String::new(), &tasks)
}

/// Returns one finding for each process, and one for each name of ended processes.
pub(super) fn find(priced: &Priced<'_>) -> Vec<ProcessFinding> {
    let names = priced.names;
    // The threads of a process may have different names.
    let key = |tasks: &Tasks| match tasks.process {
        Some(process) if !tasks.is_kernel => (Some(process), String::new()),
        process => (process, names.process_label(tasks).to_owned()),
    };
    together(priced, key, |process, tasks| {
        let name = match process {
            Some(_) => tasks[0].process_name(),
            None => names.process_label(tasks[0]),
        };
        finding(priced, process, name.to_owned(), tasks)
    })
}

/// Returns one finding for each process name. Names that differ only by a number count as one.
pub(super) fn group_by_name(priced: &Priced<'_>) -> Vec<ProcessFinding> {
    group_by_label(priced, |tasks| priced.names.process_label(tasks))
}

/// Returns one finding for each thread name. Names that differ only by a number count as one. Empty
/// if all threads have the names of their processes.
pub(super) fn group_by_thread(priced: &Priced<'_>) -> Vec<ProcessFinding> {
    let names = priced.names;
    let has_own = |tasks: &Tasks| names.label(tasks) != names.process_label(tasks);
    if observed(priced.observation).any(has_own) {
        group_by_label(priced, |tasks| names.label(tasks))
    } else {
        Vec::new()
    }
}

fn group_by_label<'a>(
    priced: &'a Priced<'_>,
    label: impl Fn(&'a Tasks) -> &'a str,
) -> Vec<ProcessFinding> {
    let key = |tasks: &'a Tasks| (None, label(tasks).to_owned());
    together(priced, key, |_, tasks| {
        finding(priced, None, label(tasks[0]).to_owned(), tasks)
    })
}

/// Threads with one role in a language runtime, over all observed processes.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct RuntimeThreads {
    /// Name of the language runtime, such as `tokio`.
    pub runtime: &'static str,
    /// Role of the threads in the runtime, such as `workers`.
    pub role: &'static str,
    /// Switches of these threads, with their cost.
    #[serde(flatten)]
    pub found: ProcessFinding,
}

/// Returns one finding for each known role of threads in a language runtime, most switches first.
pub(super) fn threads_by_runtime(priced: &Priced<'_>) -> Vec<RuntimeThreads> {
    let known: Vec<(Kind, &Tasks)> = observed(priced.observation)
        .filter_map(|tasks| Some((runtimes::kind(tasks)?, tasks)))
        .collect();
    let kinds: BTreeSet<Kind> = known.iter().map(|(kind, _)| *kind).collect();
    let of = |kind: Kind| {
        let tasks: Vec<&Tasks> = known
            .iter()
            .filter(|(other, _)| *other == kind)
            .map(|(_, tasks)| *tasks)
            .collect();
        let Kind { runtime, role } = kind;
        RuntimeThreads {
            runtime,
            role,
            found: finding(priced, None, format!("{runtime}: {role}"), &tasks),
        }
    };
    let mut found: Vec<RuntimeThreads> = kinds
        .into_iter()
        .map(of)
        .filter(|of| of.found.switches > 0)
        .collect();
    found.sort_by_key(|of| std::cmp::Reverse(of.found.switches));
    found
}

/// Returns one finding for each control group. Kernel threads have one finding together, and so
/// have processes that ended before their group was read.
pub(super) fn findings_by_group(priced: &Priced<'_>) -> Vec<ProcessFinding> {
    let key = |tasks: &Tasks| (None, group_of(tasks).to_owned());
    together(priced, key, |_, tasks| {
        finding(priced, None, group_of(tasks[0]).to_owned(), tasks)
    })
}

fn group_of(tasks: &Tasks) -> &str {
    match &tasks.control_group {
        _ if tasks.is_kernel => OF_THE_KERNEL,
        Some(group) => group,
        None => NOT_KNOWN,
    }
}

/// Label in place of a control group for kernel threads.
const OF_THE_KERNEL: &str = "(threads of the kernel)";
/// Label in place of a control group for processes that ended before their group was read.
const NOT_KNOWN: &str = "(not known: ended)";

type Key = (Option<u32>, String);

fn together<'a>(
    priced: &'a Priced<'_>,
    key: impl Fn(&'a Tasks) -> Key,
    of: impl Fn(Option<u32>, &[&'a Tasks]) -> ProcessFinding,
) -> Vec<ProcessFinding> {
    let mut groups: BTreeMap<Key, Vec<&Tasks>> = BTreeMap::new();
    for tasks in &priced.observation.tasks {
        groups.entry(key(tasks)).or_default().push(tasks);
    }
    let found = groups
        .into_iter()
        .map(|((process, _), tasks)| of(process, &tasks));
    let mut found: Vec<ProcessFinding> = found.filter(|found| found.switches > 0).collect();
    let costs = |found: &ProcessFinding| found.likely_ns().unwrap_or(found.switches as f64);
    found.sort_by(|a, b| costs(b).total_cmp(&costs(a)));
    found
}

fn finding(
    priced: &Priced<'_>,
    process: Option<u32>,
    name: String,
    tasks: &[&Tasks],
) -> ProcessFinding {
    let sum = |of: fn(&Tasks) -> u64| saturating_sum(tasks.iter().map(|tasks| of(tasks)));
    let cpu = sum(|tasks| tasks.run_ns.0) as f64;
    let together = |of: &dyn Fn(&Tasks) -> Option<Range>| {
        tasks
            .iter()
            .map(|tasks| of(tasks))
            .try_fold(Range::NOTHING, |sum, each| Some(sum.plus(each?)))
    };
    // Upper ends are limited to the CPU time, because sums of upper ends may exceed it.
    let no_more = |cost: Range| if cpu > 0.0 { cost.up_to(cpu) } else { cost };
    let costs = |tasks: &Tasks| known::costs(priced.observation, tasks);
    let direct = together(&|tasks| cost::direct(tasks, costs(tasks)?)).map(no_more);
    let interrupts = together(&|tasks| cost::interrupts(tasks, costs(tasks)?)).map(no_more);
    let reloaded: Vec<(&Tasks, Option<Reloaded>)> = tasks
        .iter()
        .map(|tasks| (*tasks, priced.reloaded(tasks)))
        .collect();
    let indirect = sum_of_reloads(&reloaded);
    let both = direct
        .zip(indirect)
        .map(|(direct, indirect)| no_more(direct.plus(indirect)));
    let is_bounded = both.is_none_or(|both| cpu > 0.0 && both.over(cpu).is_bounded());
    let open = |share: Range| Range {
        high: f64::INFINITY,
        ..share
    };
    let of_its_cpu = |cost: Option<Range>| cost.filter(|_| cpu > 0.0).map(|cost| cost.over(cpu));
    let (switches, involuntary) = (sum(Tasks::switches), sum(|tasks| tasks.involuntary));
    let window = priced.observation.window_ns.0.max(1) as f64;
    ProcessFinding {
        name,
        process,
        process_inside: process.and_then(|_| tasks.iter().find_map(|tasks| tasks.process_inside)),
        control_group: process
            .and_then(|_| tasks.iter().find_map(|tasks| tasks.control_group.clone()))
            .filter(|group| group != "/"),
        is_kernel: tasks.iter().any(|tasks| tasks.is_kernel),
        tasks: sum(|tasks| tasks.count),
        switches,
        involuntary,
        involuntary_share: involuntary as f64 / switches.max(1) as f64,
        per_second: switches as f64 / (window / 1e9),
        cpu_ns: (cpu > 0.0).then_some(cpu),
        cpus: (cpu > 0.0).then_some(cpu / window),
        direct_ns: direct,
        interrupts_ns: interrupts,
        indirect_ns: indirect,
        likely_by: indirect.and_then(|_| most_of(&reloaded)),
        indirect_unknown_because: match indirect {
            Some(_) => None,
            None => priced.unknown_because(tasks),
        },
        cost_ns: both,
        direct_share: of_its_cpu(direct),
        indirect_share: of_its_cpu(indirect)
            .map(|share| if is_bounded { share } else { open(share) }),
        share: of_its_cpu(both),
        cost_cpus: both.map(|cost| cost.over(window)),
        wait: latency::find(tasks.iter().map(|tasks| &tasks.wait)),
        moved: [0, 1, 2].map(|at| saturating_sum(tasks.iter().map(|tasks| tasks.moved[at]))),
        causes: cause_costs::find(tasks, priced.observation),
    }
}

/// Largest share of switches without a known cost at which the sum still counts as known.
const FEW: f64 = 0.1;

/// Returns the cost of reloading caches for all these tasks together; `None` if too many of their
/// switches have no known cost.
fn sum_of_reloads(reloaded: &[(&Tasks, Option<Reloaded>)]) -> Option<Range> {
    let switches = |is_counted: &dyn Fn(&Option<Reloaded>) -> bool| -> f64 {
        let counted = reloaded.iter().filter(|(_, each)| is_counted(each));
        counted.map(|(tasks, _)| tasks.switches() as f64).sum()
    };
    let all = switches(&|_| true);
    if all > 0.0 && switches(&Option::is_none) > FEW * all {
        return None;
    }
    let known = reloaded.iter().filter_map(|(_, each)| each.as_ref());
    known.map(|each| each.cost).reduce(Range::plus)
}

/// Returns the source from which most of the cost is known; `None` if nothing is known.
fn most_of(reloaded: &[(&Tasks, Option<Reloaded>)]) -> Option<KnownBy> {
    let mut sums: BTreeMap<KnownBy, f64> = BTreeMap::new();
    for each in reloaded.iter().filter_map(|(_, each)| each.as_ref()) {
        *sums.entry(each.by).or_default() += each.cost.likely.unwrap_or(each.cost.low);
    }
    // The order is reversed, so that the first of several equal sources is chosen.
    let most = sums.into_iter().rev().max_by(|a, b| a.1.total_cmp(&b.1));
    most.map(|(by, _)| by)
}
