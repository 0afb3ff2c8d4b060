use switchcost_record::observation::{Entry, Observation, Why};

use super::{cost, known, observed};

/// Switches of tasks for one cause, with task, reason and kernel entry, for tools that display
/// stacks.
#[derive(Clone, Debug, PartialEq)]
pub struct Stack<'a> {
    /// Process number; `None` for ended processes.
    pub process: Option<u32>,
    /// Name of the threads; hostile text until escaped.
    pub name: &'a str,
    /// Reason for which the tasks left their CPUs.
    pub why: Why,
    /// Kernel entry in which the tasks left their CPUs.
    pub entry: &'a Entry,
    /// Number of switches for this reason.
    pub switches: u64,
    /// Time off the CPU, in nanoseconds.
    pub off_ns: u64,
    /// Part of `off_ns` for which the tasks were runnable and waited for a CPU.
    pub wait_ns: u64,
    /// Likely direct cost, in nanoseconds; `None` if the machine's costs are not known. The cost of reloading caches belongs to no cause.
    pub direct_ns: Option<f64>,
}

/// Returns all causes of the observed tasks, without kernel threads.
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
