//! Single switches and wake-ups. They are not part of the record, but are written as a separate
//! trace.

use switchcost_units::{CpuId, Nanos};

/// A switch or wake-up on a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Time of the event, by CLOCK_MONOTONIC.
    pub at: Nanos,
    /// CPU of the event.
    pub cpu: CpuId,
    /// Kind of the event.
    pub kind: EventKind,
    /// Thread that left the CPU, or that ran when another was woken.
    pub from: Thread,
    /// Thread that got the CPU, or that was woken.
    pub to: Thread,
}

/// Kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// A task left the CPU, and another task got it.
    Switch {
        /// State of the task that left, in the bits of the kernel's event (`prev_state` of
        /// sched_switch). With 0 and 0x100 the task could have continued.
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
    /// Process ID of the thread.
    pub process: u32,
    /// Priority as the kernel numbers it: 0 to 99 real-time, 100 to 139 ordinary.
    pub priority: i32,
    /// Name of the thread, up to the first 0; hostile bytes until escaped.
    pub name: [u8; 16],
}

impl Thread {
    /// Returns the name of the thread as text; invalid UTF-8 is replaced.
    pub fn name(&self) -> std::borrow::Cow<'_, str> {
        let end = self
            .name
            .iter()
            .position(|&byte| byte == 0)
            .unwrap_or(self.name.len());
        String::from_utf8_lossy(&self.name[..end])
    }
}
