//! Waits of runnable tasks for a CPU.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use switchcost_units::Nanos;

/// Process that had the CPU while a task waited for one, or another reason for the wait.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Behind {
    /// A process had the CPU; the name is hostile text until escaped.
    Process(String),
    /// A kernel thread had the CPU.
    Kernel,
    /// No task ran on that CPU: it was leaving its idle loop, or the waiting task was not yet allowed on it.
    Nobody,
    /// The waiting task's own CPU time was used up.
    Throttled,
    /// The waiting task was in the queue of another CPU, and was moved from there.
    Moved,
    /// Unknown tasks: there were too many processes meanwhile, or too many runs since the task was woken.
    Others,
}

/// Time for which the tasks of a process waited for a CPU while no process in `pairs` had that CPU;
/// waits behind a process are in `kept_waiting_ns` of the pair.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Waits {
    /// ID of the process whose tasks waited.
    pub process: u32,
    /// Name of the process; hostile text until escaped, empty if there were too many.
    pub process_name: String,
    /// Time for which the CPU was idle.
    pub nobody_ns: Nanos,
    /// Time for which a CPU quota was used up.
    pub throttled_ns: Nanos,
    /// Time for which the waiting task was in the queue of another CPU.
    pub moved_ns: Nanos,
    /// Time for which unrecorded tasks had the CPU.
    pub others_ns: Nanos,
}

impl Waits {
    /// Returns the sum of all waits.
    pub fn sum(&self) -> Nanos {
        let parts = [
            self.nobody_ns,
            self.throttled_ns,
            self.moved_ns,
            self.others_ns,
        ];
        Nanos(parts.iter().fold(0, |sum, part| sum.saturating_add(part.0)))
    }
}

/// A wait for a CPU that is among the longest.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct LongWait {
    /// Process ID of the waiting task.
    pub process: u32,
    /// Thread ID of the waiting task.
    pub thread: u32,
    /// Name of the task; hostile text until escaped.
    pub name: String,
    /// Start of the wait, since the start of the observation.
    pub since_ns: Nanos,
    /// Length of the wait.
    pub wait_ns: Nanos,
    /// Process that had the CPU for most of the wait, or another reason.
    pub behind: Behind,
    /// Process ID of the process that had the CPU, if `behind` is a process.
    pub behind_process: Option<u32>,
    /// Part of the wait during which `behind` had the CPU.
    pub behind_ns: Nanos,
}
