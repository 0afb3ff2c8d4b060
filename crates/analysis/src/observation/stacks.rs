use switchcost_record::observation::{Entry, Observation, Why};

use super::{cost, known, observed};

/// Switches of some tasks with one cause, for tools that display stacks: task, reason and kernel
/// entry are the frames.
#[derive(Clone, Debug, PartialEq)]
pub struct Stack<'a> {
    /// Process ID; `None` for ended processes.
    pub process: Option<u32>,
    /// Name of the threads; untrusted text that must be escaped before it is shown.
    pub name: &'a str,
    /// Reason why the tasks left their CPUs.
    pub why: Why,
    /// How the tasks had entered the kernel.
    pub entry: &'a Entry,
    /// Number of switches with this cause.
    pub switches: u64,
    /// Total time off the CPU after the switches with this cause, in nanoseconds.
    pub off_ns: u64,
    /// Part of `off_ns` in which the tasks were ready and waited for a CPU, in nanoseconds.
    pub wait_ns: u64,
    /// Likely direct cost of the switches with this cause, in nanoseconds; `None` if the cost of a
    /// switch on the machine is unknown. The cost of reloading caches is not included, because
    /// reloading has no cause.
    pub direct_ns: Option<f64>,
}

/// Returns all causes of switches of the observed tasks, without kernel threads.
pub fn stacks(observation: &Observation) -> Vec<Stack<'_>> {
    let causes = observed(observation)
        .flat_map(|tasks| tasks.causes.iter().map(move |cause| (tasks, cause)));
    causes
        .map(|(tasks, cause)| Stack {
            process: tasks.process,
            name: &tasks.name,
            why: cause.why,
            entry: &cause.entry,
            switches: cause.switches,
            off_ns: cause.off_ns.0,
            wait_ns: cause.wait_ns.0,
            direct_ns: known::costs(observation, tasks)
                .and_then(|costs| cost::cost_of_cause(cause, costs)?.likely),
        })
        .collect()
}
