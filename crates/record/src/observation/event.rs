//! Single switches and wake-ups, which are written to a trace and are not part of the record.

use switchcost_units::{CpuId, Nanos};

/// A switch or a wake-up on a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Time of the event by CLOCK_MONOTONIC, in nanoseconds.
    pub at: Nanos,
    /// CPU on which the event occurred.
    pub cpu: CpuId,
    /// Whether the event is a switch or a wake-up.
    pub kind: EventKind,
    /// Thread that left the CPU at a switch, or that was running at a wake-up.
    pub from: Thread,
    /// Thread that got the CPU at a switch, or that was woken.
    pub to: Thread,
}

/// Kind of an event: switch or wake-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// A task left the CPU, and another task got it.
    Switch {
        /// State of the task that left the CPU, as the kernel's `prev_state` of sched_switch.
        /// States 0 and 0x100 mean that the task could have continued to run.
        state: u32,
    },
    /// A thread was woken.
    Wakeup,
}

/// One of the two threads of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thread {
    /// Thread ID; 0 is the idle thread.
    pub thread: u32,
    /// ID of the process to which the thread belongs.
    pub process: u32,
    /// Priority in the kernel's numbers: 0 to 99 for real-time tasks, 100 to 139 for ordinary ones.
    pub priority: i32,
    /// Name of the thread, which ends at the first zero byte; untrusted text that must be escaped
    /// before it is shown.
    pub name: [u8; 16],
}

impl Thread {
    /// Returns the name of the thread as text. Invalid UTF-8 is replaced.
    pub fn name(&self) -> std::borrow::Cow<'_, str> {
        let end = self
            .name
            .iter()
            .position(|&byte| byte == 0)
            .unwrap_or(self.name.len());
        String::from_utf8_lossy(&self.name[..end])
    }
}
