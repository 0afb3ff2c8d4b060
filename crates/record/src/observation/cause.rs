use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use switchcost_units::Nanos;

/// One reason why some tasks left the CPU, with the number of switches and times.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Cause {
    /// Reason why the tasks left the CPU.
    pub why: Why,
    /// How the tasks had entered the kernel.
    pub entry: Entry,
    /// Number of switches for this reason.
    pub switches: u64,
    /// Total time off the CPU after the switches for this reason, in nanoseconds.
    pub off_ns: Nanos,
    /// Part of `off_ns` in which a task was ready and waited for a CPU, in nanoseconds.
    pub wait_ns: Nanos,
}

/// Reason why a task left its CPU. Order and numbers are those of `enum reason` in
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
    /// The task waits for an event. The kernel counts the switch as voluntary.
    Blocked = 1,
    /// The task was stopped by a signal (SIGSTOP, Ctrl-Z).
    Stopped,
    /// The task was stopped for its tracer, such as a debugger.
    Traced,
    /// The task was frozen, together with its control group or for a suspend of the machine.
    Frozen,
    /// The task called sched_yield.
    Yielded,
    /// The task was preempted by a task that was woken in the meantime.
    PreemptedByWoken,
    /// The task was preempted before the end of its time slice by a task that had been in the run
    /// queue before.
    PreemptedByQueued,
    /// The task was preempted at the end of its time slice by a task in the run queue.
    SliceEnded,
    /// The task used up its CPU time: the quota of its control group, or its runtime under
    /// SCHED_DEADLINE.
    Throttled,
    /// The task ended.
    Ended,
}

impl Why {
    /// Returns a phrase for the reason, for tables and stacks.
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

    /// Whether the kernel counts switches for this reason as involuntary. The task is still in the
    /// state TASK_RUNNING at these switches.
    pub fn is_involuntary(self) -> bool {
        matches!(self, Why::Yielded | Why::Throttled) || self.is_preemption()
    }

    /// Whether another task preempted the task.
    pub fn is_preemption(self) -> bool {
        matches!(
            self,
            Why::PreemptedByWoken | Why::PreemptedByQueued | Why::SliceEnded
        )
    }
}

/// Name of the system call that resumes an interrupted call after a stop. The name is used if the
/// interrupted call is unknown.
pub const RESUMED_CALL: &str = "restart_syscall";

/// How a task that left its CPU had entered the kernel.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Entry {
    /// The task had made a system call: its name, or its number if this program does not know the
    /// name.
    SystemCall(String),
    /// The task had made the system call futex; the purpose of the wait is given.
    Futex(FutexWait),
    /// The task had a page fault.
    PageFault,
    /// The task was interrupted while it executed its own code.
    Interrupt,
    /// The task is a kernel thread, which does not enter the kernel.
    Kernel,
    /// The entry is unknown, because the task had too many causes to record.
    Other,
}

/// Purpose of a wait in the system call futex, as far as the arguments show it.
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
    /// The wait is for a lock that another thread holds: the futex word has the bits of a contended
    /// lock.
    Lock,
    /// The wait has a timeout.
    Timed,
}
