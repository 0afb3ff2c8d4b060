use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use switchcost_units::Nanos;

/// One reason to leave a CPU.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Cause {
    /// Why.
    pub why: Why,
    /// How it had entered the kernel.
    pub entry: Entry,
    /// How often.
    pub switches: u64,
    /// Time off the CPU, together.
    pub off_ns: Nanos,
    /// Of it, time ready to run and waiting for a CPU.
    pub wait_ns: Nanos,
}

/// Why a task left its CPU, in the order and with the numbers of `enum reason` in `observe/bpf/layout.h`.
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
    /// It waits for something: the kernel counts the switch as voluntary.
    Blocked = 1,
    /// It was stopped by a signal (SIGSTOP, Ctrl-Z).
    Stopped,
    /// It was stopped for its tracer, such as a debugger.
    Traced,
    /// It was frozen, with its control group or for a suspend of the machine.
    Frozen,
    /// It called sched_yield.
    Yielded,
    /// It was preempted by a task that was woken while it ran.
    PreemptedByWoken,
    /// It was preempted before the end of its time slice by a task that had been queued since before it ran: another task was woken,
    /// and it was the queued one's turn.
    PreemptedByQueued,
    /// The same at the end of its time slice.
    SliceEnded,
    /// It could have continued, but its CPU time is used up: the quota of its control group, or its share under SCHED_DEADLINE.
    Throttled,
    /// It ended.
    Ended,
}

impl Why {
    /// In words, as a row of a table or a frame of a stack has it.
    pub fn in_words(self) -> &'static str {
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
            Why::Ended => "ends",
        }
    }

    /// All of them, by their numbers.
    pub fn all() -> impl Iterator<Item = Why> {
        (Why::Blocked as u32..).map_while(Why::from_repr)
    }

    /// Whether the task could have continued. The kernel counts exactly these as involuntary.
    pub fn is_involuntary(self) -> bool {
        matches!(self, Why::Yielded | Why::Throttled) || self.is_preemption()
    }

    /// Whether another task took the CPU from it.
    pub fn is_preemption(self) -> bool {
        matches!(
            self,
            Why::PreemptedByWoken | Why::PreemptedByQueued | Why::SliceEnded
        )
    }
}

/// The system call by whose name others go on that a stop interrupted, if they are known by no name of their own.
pub const RESUMED_CALL: &str = "restart_syscall";

/// How the task had entered the kernel when it left its CPU.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Entry {
    /// A system call, by its name, or its number if it has no name here.
    SystemCall(String),
    /// The system call futex, by what its arguments wait for.
    Futex(FutexWait),
    /// A page fault.
    PageFault,
    /// An interrupt that came while its own code ran.
    Interrupt,
    /// It is a kernel thread, which never enters.
    Kernel,
    /// Not recorded: the task had too many causes.
    Other,
}

/// What a wait in futex is for, as far as its arguments show.
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
    /// A lock that another thread holds: its word has the bits of a contended lock.
    Lock,
    /// Something, with a timeout.
    Timed,
}
