use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use switchcost_units::Nanos;

/// One reason why tasks left the CPU.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Cause {
    /// Why the task left the CPU.
    pub why: Why,
    /// Way in which the task had entered the kernel.
    pub entry: Entry,
    /// Number of switches for this reason.
    pub switches: u64,
    /// Total time off the CPU.
    pub off_ns: Nanos,
    /// Part of `off_ns` in which the task was ready and waited for a CPU.
    pub wait_ns: Nanos,
}

/// Reason why a task left its CPU; order and numbers are those of `enum reason` in
/// `observe/bpf/layout.h`.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    JsonSchema,
    Serialize,
    Deserialize,
    strum::Display,
    strum::FromRepr,
)]
#[repr(u32)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Why {
    /// The task waits for something: the kernel counts the switch as voluntary.
    Blocked = 1,
    /// The task was stopped by a signal (SIGSTOP, Ctrl-Z).
    Stopped,
    /// The task was stopped for its tracer, such as a debugger.
    Traced,
    /// The task was frozen, with its control group or for a suspend of the machine.
    Frozen,
    /// The task called sched_yield.
    Yielded,
    /// The task was preempted by a task that was woken while it ran.
    PreemptedByWoken,
    /// The task was preempted before the end of its time slice by a task that had been queued since before it ran.
    PreemptedByQueued,
    /// The task was preempted by a queued task at the end of its time slice.
    SliceEnded,
    /// The task used up its CPU time: the quota of its control group, or its share under SCHED_DEADLINE.
    Throttled,
    /// The task left its CPU because it ended.
    Ended,
}

impl Why {
    /// Returns the reason in words, for a row of a table or a frame of a stack.
    pub fn describe(self) -> &'static str {
        match self {
            Why::Blocked => "waits",
            Why::Yielded => "yields",
            Why::PreemptedByWoken => "preempted by a woken task",
            Why::PreemptedByQueued => "preempted by a queued task",
            Why::SliceEnded => "end of time slice",
            Why::Throttled => "throttled",
            Why::Stopped => "stopped by a signal",
            Why::Traced => "stopped by its debugger",
            Why::Frozen => "frozen",
            Why::Ended => "exits",
        }
    }

    /// Returns all reasons, in the order of their numbers.
    pub fn variants() -> impl Iterator<Item = Why> {
        (Why::Blocked as u32..).map_while(Why::from_repr)
    }

    /// Whether the task could have continued. Switches for such reasons, and no others, count as
    /// involuntary in the kernel's counters.
    pub fn is_involuntary(self) -> bool {
        matches!(self, Why::Yielded | Why::Throttled) || self.is_preemption()
    }

    /// Whether another task took the CPU from this task.
    pub fn is_preemption(self) -> bool {
        matches!(
            self,
            Why::PreemptedByWoken | Why::PreemptedByQueued | Why::SliceEnded
        )
    }
}

/// Name of the system call that resumes an interrupted call after a stop, if the original call is
/// not known.
pub const RESUMED_CALL: &str = "restart_syscall";

/// Entry into the kernel of a task that left its CPU.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Entry {
    /// A system call, by its name, or by its number if this program does not know the name.
    SystemCall(String),
    /// The system call futex, by the purpose of the wait.
    Futex(FutexWait),
    /// A page fault of the task.
    PageFault,
    /// An interrupt while the task executed its own code.
    Interrupt,
    /// No entry: the task is a kernel thread.
    Kernel,
    /// An entry that was not recorded, because the task had too many causes.
    Other,
}

/// Purpose of a wait in futex, as far as the call's arguments show it.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    JsonSchema,
    Serialize,
    Deserialize,
    strum::Display,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum FutexWait {
    /// A wait for a lock that another thread holds: the futex word has the bits of a contended
    /// lock.
    Lock,
    /// Any wait with a timeout.
    Timed,
}
