//! Waits for a CPU: tasks that could have run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use switchcost_units::Nanos;

/// What a task waited behind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Behind {
    /// A process, by its name; hostile text until escaped.
    Process(String),
    /// A thread of the kernel.
    Kernel,
    /// No task ran on that CPU: it was leaving its idle loop, or the task was not yet allowed on it.
    Nobody,
    /// Its own CPU time was used up.
    Throttled,
    /// It was in the queue of another CPU, and was moved from there.
    Moved,
    /// Others that were not recorded: there were too many processes meanwhile, or too many runs since it was woken.
    Others,
}

/// Time that the tasks of a process waited for a CPU, but behind none of the processes in `pairs` (see their `kept_waiting_ns`).
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Waits {
    /// The process.
    pub process: u32,
    /// Its name; hostile text until escaped, empty if there were too many.
    pub process_name: String,
    /// The CPU was idle.
    pub nobody_ns: Nanos,
    /// A quota was used up.
    pub throttled_ns: Nanos,
    /// Queued on another CPU.
    pub moved_ns: Nanos,
    /// Behind others that were not recorded.
    pub others_ns: Nanos,
}

impl Waits {
    /// All of it.
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
    /// The process of the task that waited.
    pub process: u32,
    /// The task.
    pub thread: u32,
    /// Its name; hostile text until escaped.
    pub name: String,
    /// When it began, since the start of the observation.
    pub since_ns: Nanos,
    /// How long it was.
    pub wait_ns: Nanos,
    /// What it was behind for most of the time.
    pub behind: Behind,
    /// The number of that process, if it is one.
    pub behind_process: Option<u32>,
    /// For how long it was behind that.
    pub behind_ns: Nanos,
}
