//! Times for which runnable tasks waited for a CPU.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use switchcost_units::Nanos;

/// Reason why a task waited for a CPU: usually the process that had the CPU.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Behind {
    /// A process had the CPU. Its name is untrusted text that must be escaped before it is shown.
    Process(String),
    /// A kernel thread had the CPU.
    Kernel,
    /// No task ran on the CPU: the CPU was leaving its idle loop, or the waiting task was not yet
    /// allowed on the CPU.
    Nobody,
    /// The CPU quota or runtime of the waiting task was used up.
    Throttled,
    /// The waiting task was in the run queue of another CPU, and was moved from there.
    Moved,
    /// Unknown tasks had the CPU, because there were too many processes, or too many runs since the
    /// task was woken.
    Others,
}

/// Times for which the tasks of one process waited for a CPU, by reason, while no process in
/// `pairs` had that CPU. Other waits are in `kept_waiting_ns` of the pairs.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Waits {
    /// ID of the process whose tasks waited.
    pub process: u32,
    /// Name of the process; untrusted text that must be escaped before it is shown. Empty if there
    /// were too many processes.
    pub process_name: String,
    /// Time for which the CPU was idle, in nanoseconds.
    pub nobody_ns: Nanos,
    /// Time for which the tasks' CPU quota was used up, in nanoseconds.
    pub throttled_ns: Nanos,
    /// Time for which a waiting task was in the run queue of another CPU, in nanoseconds.
    pub moved_ns: Nanos,
    /// Time for which unknown tasks had the CPU, in nanoseconds.
    pub others_ns: Nanos,
}

impl Waits {
    /// Returns the sum over all reasons.
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

/// One of the longest waits of an observed task for a CPU.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct LongWait {
    /// Process ID of the waiting task.
    pub process: u32,
    /// Thread ID of the waiting task.
    pub thread: u32,
    /// Name of the waiting task; untrusted text that must be escaped before it is shown.
    pub name: String,
    /// Start of the wait in nanoseconds since the start of the observation.
    pub since_ns: Nanos,
    /// Length of the wait in nanoseconds.
    pub wait_ns: Nanos,
    /// Main reason for the wait, usually the process that had the CPU longest.
    pub behind: Behind,
    /// ID of the process that had the CPU; `None` if `behind` is not a process.
    pub behind_process: Option<u32>,
    /// Part of the wait that `behind` explains, in nanoseconds.
    pub behind_ns: Nanos,
}
