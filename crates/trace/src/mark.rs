use std::fmt;

use serde::{Deserialize, Serialize};

/// A task: one thread of control that the scheduler can switch to. Counted from 1 in order of birth, and never reused
/// within a trace, unlike the kernel's thread ids.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct TaskId(pub u32);

impl TaskId {
    /// Number of no task: the state before the first switch, and while every task sleeps.
    pub const NONE: TaskId = TaskId(0);
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// An address space, which a cache with process tags distinguishes. Counted from 1, never reused within a trace. A fork and an exec
/// each make a new one, because addresses then name other memory.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct ProcessId(pub u32);

impl fmt::Display for ProcessId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Kernel entry by which a task left the CPU. Whether the switch was voluntary is stored separately, because a task can be preempted
/// inside a system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// The task waited, or was preempted, in this system call.
    Syscall(u16),
    /// The task had a page fault.
    PageFault,
    /// The task's time slice was over.
    Quantum,
    /// The task was preempted for a task that woke up.
    WakeUp,
    /// The task was interrupted by something other than the end of a time slice.
    Interrupt,
    /// The task left its CPU because it ended.
    Exit,
    /// The source of the trace does not know the cause.
    Unknown,
}

/// A part of an address space to which a file is mapped; it turns addresses into functions and lines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mapping {
    /// First address of the mapping.
    pub start: u64,
    /// Length of the mapping in bytes.
    pub bytes: u64,
    /// Offset in the file at which the mapping begins.
    pub offset: u64,
    /// Path as the program saw it; hostile bytes, not necessarily UTF-8.
    pub path: Vec<u8>,
    /// GNU build ID of the file; empty if it has none.
    pub build_id: Vec<u8>,
    /// Whether the mapping may be executed.
    pub is_executable: bool,
}

/// An event between two blocks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mark {
    /// A task begins. A task of a new `process` has a copy of its parent's memory, or empty memory without a parent.
    Birth {
        /// Number of the new task.
        task: TaskId,
        /// Address space of the task.
        process: ProcessId,
        /// Task that started the new one; [`TaskId::NONE`] for a command of the user.
        parent: TaskId,
        /// Name of the task (the kernel's `comm`, or the last part of the command). It is untrusted: escape it before display.
        name: Vec<u8>,
    },
    /// The running task executes another program from here on, in a new address space.
    Exec {
        /// Number of the task.
        task: TaskId,
        /// New address space of the task.
        process: ProcessId,
        /// New name of the task; untrusted: escape it before display.
        name: Vec<u8>,
    },
    /// A task of the trace ended.
    Exit {
        /// Number of the task.
        task: TaskId,
    },
    /// Another task runs from here on, or the same task after a time in which every task slept ([`Mark::is_switch`]).
    Switch {
        /// The task that ran until here; [`TaskId::NONE`] at the start of a trace.
        from: TaskId,
        /// The task that runs from here on.
        to: TaskId,
        /// Whether `from` gave up the CPU voluntarily.
        is_voluntary: bool,
        /// Cause for which `from` left the CPU.
        cause: Cause,
    },
    /// The running task enters the kernel.
    SyscallEnter {
        /// Number of the call on the traced architecture.
        number: u16,
    },
    /// The running task returns from the kernel.
    SyscallExit {
        /// Number of the call on the traced architecture.
        number: u16,
    },
    /// The kernel reads or writes memory of the running task in a system call of that task.
    KernelTouch {
        /// First address of the memory.
        address: u64,
        /// Number of bytes that are mapped.
        bytes: u64,
        /// Whether the kernel writes.
        is_store: bool,
    },
    /// The running task faults on a page.
    Fault {
        /// Address that the task touched.
        address: u64,
    },
    /// A file is mapped into the running task's address space.
    Map(Mapping),
    /// A part of the running task's address space is unmapped.
    Unmap {
        /// First address of the part.
        start: u64,
        /// Length of the part in bytes.
        bytes: u64,
    },
    /// The physical page of a virtual page of the running task, from here on. Sources that know it record it before the first
    /// reference, and whenever it changes.
    Page {
        /// Virtual address of the page.
        virtual_address: u64,
        /// Physical address of the page.
        physical_address: u64,
        /// Size of the page in bytes.
        bytes: u64,
    },
}

impl Mark {
    /// Whether the mark is a switch from one task to another. The start of the first run takes the CPU from no task, so it is no
    /// switch.
    pub fn is_switch(&self) -> bool {
        matches!(self, Mark::Switch { from, .. } if *from != TaskId::NONE)
    }
}
