use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why a task left its CPU.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize, strum::Display,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Why {
    /// It waits for something: the kernel counts the switch as voluntary.
    Blocked,
    /// It called sched_yield.
    Yielded,
    /// It was preempted by a task that was woken while it ran.
    PreemptedByWoken,
    /// It was preempted by a task that had been waiting for the CPU since before it ran, before its time slice was over: somebody was
    /// woken, and it was that one's turn.
    PreemptedByQueued,
    /// The same at the end of its time slice.
    SliceEnded,
    /// It could have run on, but its CPU time is used up: the quota of its control group, or its share under SCHED_DEADLINE.
    Throttled,
    /// It was stopped by a signal (SIGSTOP, Ctrl-Z).
    Stopped,
    /// It was stopped for who traces it, as a debugger does.
    Traced,
    /// It was frozen, with its control group or for a suspend of the machine.
    Frozen,
    /// It ended.
    Ended,
}

impl Why {
    /// Whether the task could have run on. The kernel counts all of these, and no other, as involuntary.
    pub fn is_involuntary(self) -> bool {
        matches!(self, Why::Yielded | Why::Throttled) || self.is_preemption()
    }

    /// Whether another task took the CPU from it.
    pub fn is_preemption(self) -> bool {
        matches!(self, Why::PreemptedByWoken | Why::PreemptedByQueued | Why::SliceEnded)
    }
}

/// By which way the task had entered the kernel when it left its CPU.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Entry {
    /// A system call, by its name, or its number where that has no name here.
    SystemCall(String),
    /// The system call futex, to wait for something that its arguments tell.
    Futex(FutexWait),
    /// A page fault.
    PageFault,
    /// An interrupt that came while its own code ran.
    Interrupt,
    /// It is a thread of the kernel and enters from nowhere.
    Kernel,
    /// Not told apart any more: the task had too many causes.
    Other,
}

/// What a wait in futex is for, as far as its arguments tell.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize, strum::Display,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum FutexWait {
    /// A lock that another thread holds: the word says that it is taken and waited for.
    Lock,
    /// Something, for no longer than a time.
    Timed,
}
