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

/// Switches of a process, or of several processes together, with their cost.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct ProcessFinding {
    /// Name of the process; hostile text until escaped.
    pub name: String,
    /// Process number; null if the finding sums up several processes.
    pub process: Option<u32>,
    /// Process number in the process's own PID namespace, if that is not the observer's.
    pub process_inside: Option<u32>,
    /// Control group of the process, if it is not the root; hostile text until escaped.
    pub control_group: Option<String>,
    /// Whether the tasks are the kernel's own threads.
    pub is_kernel: bool,
    /// Number of tasks in the group.
    pub tasks: u64,
    /// Number of switches, by the kernel's count.
    pub switches: u64,
    /// Number of involuntary switches, including calls of sched_yield.
    pub involuntary: u64,
    /// Involuntary switches as a share of all switches.
    pub involuntary_share: f64,
    /// Number of switches per second.
    pub per_second: f64,
    /// CPU time in nanoseconds; null if it is not counted.
    pub cpu_ns: Option<f64>,
    /// CPU time as a share of one CPU over the window.
    pub cpus: Option<f64>,
    /// Direct cost; null if the machine's cost of a switch is not known.
    pub direct_ns: Option<Range>,
    /// Part of the direct cost due to the interrupts that preempted the tasks; null also if causes are not known.
    pub interrupts_ns: Option<Range>,
    /// Indirect cost; null if it is not known.
    pub indirect_ns: Option<Range>,
    /// Source of most of the indirect cost; null if the cost is not known.
    pub likely_by: Option<KnownBy>,
    /// Why the traced calls do not show the indirect cost; null if it is known, or if no call was traced.
    pub indirect_unknown_because: Option<UnknownBecause>,
    /// Direct and indirect cost together.
    pub cost_ns: Option<Range>,
    /// Direct cost as a share of the CPU time.
    pub direct_share: Option<Range>,
    /// Indirect cost as a share of the CPU time; its upper end is null if nothing but the CPU time bounds the sum of costs.
    pub indirect_share: Option<Range>,
    /// Direct and indirect cost together as a share of the CPU time.
    pub share: Option<Range>,
    /// Direct and indirect cost together in CPUs: seconds of CPU time per second.
    pub cost_cpus: Option<Range>,
    /// Time waited for a CPU.
    pub wait: Option<Latency>,
    /// Number of moves to another thread of the core, to another core under the same last-level
    /// cache, and further away.
    pub moved: [u64; 3],
    /// Switches by cause, the most frequent first.
    pub causes: Vec<CauseCost>,
}

/// CPU use, in CPUs, below which switches do not matter, however large their share.
const NEGLIGIBLE_CPUS: f64 = 0.01;

/// Share of the CPU time from which an upper end counts as unbounded, because it says only that the
/// cost is at most all of it.
pub const NO_BOUND: f64 = 0.995;

impl ProcessFinding {
    /// Returns the cost of cold caches as a share of the CPU time; without an upper end if only the
    /// CPU time bounds the sum of costs.
    pub fn cold_share(&self) -> Option<Range> {
        self.indirect_share
    }

    /// Whether switching costs less than a hundredth of a CPU, even at most.
    pub fn is_negligible(&self) -> bool {
        let most = self.cost_cpus.map(|cost| cost.high).or(self.cpus);
        most.is_some_and(|most| most < NEGLIGIBLE_CPUS)
    }

    /// Returns the likely cost of switching, or the likely direct cost if no more is known; `None` if the machine's costs are not known.
    pub fn likely_ns(&self) -> Option<f64> {
        let both = self.cost_ns.and_then(|cost| cost.likely);
        both.or_else(|| {
            self.direct_ns
                .map(|direct| direct.likely.unwrap_or(direct.low))
        })
    }
}

impl Range {
    /// Whether the upper end of a share of CPU time says more than that the share is at most 1.
    pub fn is_bounded(&self) -> bool {
        self.high < NO_BOUND
    }
}

/// An observation together with the known costs of its tasks.
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

    /// Returns why the traced calls do not show the cost, for the program among `tasks` that waits
    /// most.
    fn unknown_because(&self, tasks: &[&Tasks]) -> Option<UnknownBecause> {
        let matched = tasks
            .iter()
            .filter_map(|tasks| self.matched_intervals(tasks));
        let unknown = matched.filter(|matched| matched.unknown_because.is_some());
        unknown.max_by_key(|matched| matched.waits)?.unknown_because
    }
}

/// Compares the traced calls of each program.
pub(super) fn compare_calls(observation: &Observation, names: &Names<'_>) -> Vec<MatchedIntervals> {
    let Some(traced) = &observation.calls else {
        return Vec::new();
    };
    // Of an ended process only the name is known.
    matched::find(traced, |thread: &ThreadCalls| {
        let is_its = |tasks: &&Tasks| match tasks.process {
            Some(process) => process == thread.process,
            None => tasks.process_name() == thread.name,
        };
        let tasks = observation.tasks.iter().find(is_its)?;
        Some(names.process_label(tasks))
    })
}

/// Returns the finding for all observed tasks together.
pub(super) fn sum_all(priced: &Priced<'_>) -> ProcessFinding {
    let tasks: Vec<&Tasks> = observed(priced.observation).collect();
    finding(priced, None, String::new(), &tasks)
}

/// Returns one finding for each process, and one for each name of ended processes.
pub(super) fn find(priced: &Priced<'_>) -> Vec<ProcessFinding> {
    let names = priced.names;
    // Threads of one process may have different names.
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

/// Returns one finding for each process name; names that differ only in a number count as one.
pub(super) fn group_by_name(priced: &Priced<'_>) -> Vec<ProcessFinding> {
    group_by_label(priced, |tasks| priced.names.process_label(tasks))
}

/// Returns one finding for each thread name, with each pool of numbered names as one; empty if all threads have the names of their
/// processes.
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

/// Threads of one kind in a language runtime, over all observed processes.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct RuntimeThreads {
    /// Name of the runtime, such as `tokio`.
    pub runtime: &'static str,
    /// Role of the threads, such as `workers`.
    pub role: &'static str,
    /// Switches of the threads, with their cost.
    #[serde(flatten)]
    pub found: ProcessFinding,
}

/// Returns one finding for each known kind of threads of a language runtime.
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

/// Returns one finding for each control group. The group of ended processes is not known.
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

/// Label of tasks without a control group, or whose group was not looked up before they ended.
const OF_THE_KERNEL: &str = "(threads of the kernel)";
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
    // Upper ends may exceed the whole CPU time.
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

/// Largest share of the switches by tasks of unknown cost with which the sum still counts as known.
const FEW: f64 = 0.1;

/// Returns the cost of reloading for the tasks together.
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

/// Returns the source of most of the cost.
fn most_of(reloaded: &[(&Tasks, Option<Reloaded>)]) -> Option<KnownBy> {
    let mut sums: BTreeMap<KnownBy, f64> = BTreeMap::new();
    for each in reloaded.iter().filter_map(|(_, each)| each.as_ref()) {
        *sums.entry(each.by).or_default() += each.cost.likely.unwrap_or(each.cost.low);
    }
    // Among equals the first is chosen.
    let most = sums.into_iter().rev().max_by(|a, b| a.1.total_cmp(&b.1));
    most.map(|(by, _)| by)
}
