use switchcost_record::observation::{Entry, Observation, Why};

use super::{cost, known, observed};

/// The switches of tasks for one cause: who, why, where; for tools that show stacks.
#[derive(Clone, Debug, PartialEq)]
pub struct Stack<'a> {
    /// The process; none for processes that ended.
    pub process: Option<u32>,
    /// The name of its threads; hostile text until escaped.
    pub name: &'a str,
    /// Why they left their CPUs.
    pub why: Why,
    /// Where in the kernel.
    pub entry: &'a Entry,
    /// How often.
    pub switches: u64,
    /// Time off the CPU, in nanoseconds.
    pub off_ns: u64,
    /// Of it, time ready to run and waiting for a CPU.
    pub wait_ns: u64,
    /// The centre of the direct cost, in nanoseconds; none where the machine's costs are not known. What reloading caches costs belongs
    /// to no cause.
    pub direct_ns: Option<f64>,
}

/// All causes of the observed, without the kernel's threads.
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
