//! A switch or a wake-up, one by one. They are not in the record: what is made of them is a trace of its own.

use switchcost_units::{CpuId, Nanos};

/// What happened on a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// By CLOCK_MONOTONIC.
    pub at: Nanos,
    /// On which CPU.
    pub cpu: CpuId,
    /// What it was.
    pub kind: EventKind,
    /// Who left the CPU, or who ran as another was woken.
    pub from: Thread,
    /// Who got the CPU, or who was woken.
    pub to: Thread,
}

/// What an event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// One left the CPU, and another got it.
    Switch {
        /// Why the one left, in the bits of the kernel's own event (`prev_state` of sched_switch): 0 and 0x100 could have run on.
        state: u32,
    },
    /// One was woken.
    Wakeup,
}

/// A side of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thread {
    /// Its number; 0 is the idle thread.
    pub thread: u32,
    /// The number of its process.
    pub process: u32,
    /// As the kernel has it: 0 to 99 real-time, 100 to 139 ordinary.
    pub priority: i32,
    /// Its name, up to the first 0; hostile bytes until escaped.
    pub name: [u8; 16],
}

impl Thread {
    /// Its name as text, what is no UTF-8 replaced.
    pub fn name(&self) -> std::borrow::Cow<'_, str> {
        let end = self
            .name
            .iter()
            .position(|&byte| byte == 0)
            .unwrap_or(self.name.len());
        String::from_utf8_lossy(&self.name[..end])
    }
}
