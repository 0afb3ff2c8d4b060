//! Waits for a CPU: tasks that could have run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Nanos;

/// What a task waited behind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Behind {
    /// A process, by its name; hostile text until escaped.
    Process(String),
    /// A thread of the kernel.
    Kernel,
    /// No task ran on that CPU: it was idle and on its way to the task, or the task was not let onto it yet.
    Nobody,
    /// Its own CPU time was used up.
    Throttled,
    /// It was in the queue of another CPU, and was moved from there.
    Moved,
    /// Others that are not remembered: there were too many runs meanwhile, or too many processes.
    Others,
}

/// Time that the tasks of a process waited for a CPU behind no process that is remembered. What is behind one is in
/// [`crate::Pair::kept_waiting_ns`]; together they are the process's `wait_ns`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waits {
    /// The process.
    pub process: u32,
    /// Its name; hostile text until escaped, and empty where there were too many to remember.
    pub process_name: String,
    /// [`Behind::Nobody`].
    pub nobody_ns: Nanos,
    /// [`Behind::Throttled`].
    pub throttled_ns: Nanos,
    /// [`Behind::Moved`].
    pub moved_ns: Nanos,
    /// [`Behind::Others`].
    pub others_ns: Nanos,
}

impl Waits {
    /// All of it.
    pub fn sum(&self) -> Nanos {
        let parts = [self.nobody_ns, self.throttled_ns, self.moved_ns, self.others_ns];
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
    /// When it began, since the beginning of the observation.
    pub since_ns: Nanos,
    /// How long it was.
    pub wait_ns: Nanos,
    /// What it was behind for the most of it ...
    pub behind: Behind,
    /// ... which is the process of this number ...
    pub behind_process: Option<u32>,
    /// ... and for so long.
    pub behind_ns: Nanos,
}
