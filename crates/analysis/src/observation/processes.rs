use std::collections::BTreeMap;

use ::observation::{Observation, Tasks};
use record::{CacheKind, HostManifest};
use serde::Serialize;
use units::Bytes;

use super::cost::{self, Range};
use super::pools::Names;
use super::{CauseCost, Latency, cause_costs, latency, observed};

/// The switches of a process, or of several together, and what they cost.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProcessFinding {
    /// Its name; hostile text until escaped.
    pub name: String,
    /// Its number; none where several are together.
    pub process: Option<u32>,
    /// What its own PID namespace calls it, where that is another than the observer's.
    pub process_inside: Option<u32>,
    /// Its control group, where that is not the root; hostile text until escaped.
    pub control_group: Option<String>,
    /// Whether it is of the kernel's own threads.
    pub is_kernel: bool,
    /// Tasks in it.
    pub tasks: u64,
    /// Switches, as the kernel counts them.
    pub switches: u64,
    /// Of them, those that it did not ask for, and calls of sched_yield.
    pub involuntary: u64,
    /// The same as a share of its switches.
    pub involuntary_share: f64,
    /// Switches a second.
    pub per_second: f64,
    /// CPU time in nanoseconds; none where it is not counted.
    pub cpu_ns: Option<f64>,
    /// The same as a share of one CPU over the window.
    pub cpus: Option<f64>,
    /// Direct cost; none where the machine's is not known.
    pub direct_ns: Option<Range>,
    /// Indirect cost; none where the machine's is not known, or how long others ran.
    pub indirect_ns: Option<Range>,
    /// Both.
    pub cost_ns: Option<Range>,
    /// The direct cost as a share of its CPU time.
    pub direct_share: Option<Range>,
    /// The indirect cost as a share of its CPU time.
    pub indirect_share: Option<Range>,
    /// Both, as a share of its CPU time.
    pub share: Option<Range>,
    /// Wait for a CPU.
    pub wait: Option<Latency>,
    /// Moves to another thread of the core, to another core below the same last-level cache, and further.
    pub moved: [u64; 3],
    /// Its switches by cause, the most frequent first.
    pub causes: Vec<CauseCost>,
}

pub(super) fn all(observation: &Observation) -> ProcessFinding {
    let tasks: Vec<&Tasks> = observed(observation).collect();
    finding(observation, None, String::new(), &tasks)
}

/// One finding for each process, and for each name of those that ended.
pub(super) fn find(observation: &Observation, names: &Names<'_>) -> Vec<ProcessFinding> {
    // The threads of a process have names of their own.
    let key = |tasks: &Tasks| match tasks.process {
        Some(process) if !tasks.is_kernel => (Some(process), String::new()),
        process => (process, names.label(tasks).to_owned()),
    };
    together(observation, key, |process, tasks| {
        let most = tasks.iter().max_by_key(|tasks| tasks.switches()).map(|tasks| tasks.name.clone());
        let name = if process.is_some() { most.unwrap_or_default() } else { names.label(tasks[0]).to_owned() };
        finding(observation, process, name, tasks)
    })
}

/// One finding for each name of tasks, and for each pool of numbered names.
pub(super) fn by_name(observation: &Observation, names: &Names<'_>) -> Vec<ProcessFinding> {
    let key = |tasks: &Tasks| (None, names.label(tasks).to_owned());
    together(observation, key, |_, tasks| finding(observation, None, names.label(tasks[0]).to_owned(), tasks))
}

/// One finding for each control group. Of processes that have ended it is not known.
pub(super) fn by_group(observation: &Observation) -> Vec<ProcessFinding> {
    let key = |tasks: &Tasks| (None, group_of(tasks).to_owned());
    together(observation, key, |_, tasks| finding(observation, None, group_of(tasks[0]).to_owned(), tasks))
}

fn group_of(tasks: &Tasks) -> &str {
    match &tasks.control_group {
        _ if tasks.is_kernel => OF_THE_KERNEL,
        Some(group) => group,
        None => NOT_KNOWN,
    }
}

/// What tasks are told as that are in none, or had ended when it was looked for.
const OF_THE_KERNEL: &str = "(threads of the kernel)";
const NOT_KNOWN: &str = "(not known: ended)";

type Key = (Option<u32>, String);

fn together<'a>(
    observation: &'a Observation,
    key: impl Fn(&'a Tasks) -> Key,
    of: impl Fn(Option<u32>, &[&'a Tasks]) -> ProcessFinding,
) -> Vec<ProcessFinding> {
    let mut groups: BTreeMap<Key, Vec<&Tasks>> = BTreeMap::new();
    for tasks in &observation.tasks {
        groups.entry(key(tasks)).or_default().push(tasks);
    }
    let found = groups.into_iter().map(|((process, _), tasks)| of(process, &tasks));
    let mut found: Vec<ProcessFinding> = found.filter(|found| found.switches > 0).collect();
    let costs = |found: &ProcessFinding| found.cost_ns.map_or(found.switches as f64, |cost| cost.high);
    found.sort_by(|a, b| costs(b).total_cmp(&costs(a)));
    found
}

fn finding(observation: &Observation, process: Option<u32>, name: String, tasks: &[&Tasks]) -> ProcessFinding {
    let sum = |of: fn(&Tasks) -> u64| tasks.iter().fold(0u64, |sum, tasks| sum.saturating_add(of(tasks)));
    let calibration = observation.calibration.as_ref();
    let last_level = last_level(&observation.host);
    let together = |of: &dyn Fn(&Tasks) -> Option<Range>| {
        tasks.iter().map(|tasks| of(tasks)).try_fold(Range::NOTHING, |sum, each| Some(sum.plus(each?)))
    };
    let direct = together(&|tasks| cost::direct(tasks, calibration?));
    let indirect = together(&|tasks| cost::indirect(tasks, calibration?, last_level));
    let cpu = sum(|tasks| tasks.run_ns.0) as f64;
    // Both bounds at once may be more than all that they ran.
    let both = direct.zip(indirect).map(|(direct, indirect)| direct.plus(indirect).up_to(cpu));
    let of_its_cpu = |cost: Option<Range>| cost.filter(|_| cpu > 0.0).map(|cost| cost.over(cpu));
    let (switches, involuntary) = (sum(Tasks::switches), sum(|tasks| tasks.involuntary));
    let window = observation.window_ns.0.max(1) as f64;
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
        indirect_ns: indirect,
        cost_ns: both,
        direct_share: of_its_cpu(direct),
        indirect_share: of_its_cpu(indirect),
        share: of_its_cpu(both),
        wait: latency::find(tasks.iter().map(|tasks| &tasks.wait)),
        moved: [0, 1, 2].map(|at| tasks.iter().fold(0, |sum: u64, tasks| sum.saturating_add(tasks.moved[at]))),
        causes: cause_costs::find(tasks, calibration),
    }
}

/// Size of the largest cache that holds data: more cannot be lost at a switch.
fn last_level(host: &HostManifest) -> Option<Bytes> {
    host.caches.iter().filter(|cache| cache.kind != CacheKind::Instruction).map(|cache| cache.size_bytes).max()
}
