use std::fmt;

use serde::{Deserialize, Serialize};

/// Number of a task, one thread of control that the scheduler can switch to. Tasks are counted from
/// 1 in order of birth. Unlike the kernel's thread IDs, numbers are never reused within a trace.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct TaskId(pub u32);

impl TaskId {
    /// Number that stands for no task: before the first switch, and while every task sleeps.
    pub const NONE: TaskId = TaskId(0);
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Number of an address space, which a cache with process tags distinguishes. Address spaces are
/// counted from 1, and numbers are never reused within a trace. A fork and an exec each make a new
/// address space, because addresses then refer to other memory.
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

/// Kind of kernel entry at which a task left the CPU. A switch stores separately whether it was
/// voluntary, because a task can be preempted inside a system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// The task waited, or was preempted, in a system call, given by its number.
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

/// Part of an address space to which a file is mapped. The mapping gives the function and line of
/// an address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mapping {
    /// First address of the mapping.
    pub start: u64,
    /// Length of the mapping in bytes.
    pub bytes: u64,
    /// Offset in the file at which the mapping begins.
    pub offset: u64,
    /// Path of the file as the program saw it: untrusted bytes, not necessarily UTF-8.
    pub path: Vec<u8>,
    /// GNU build ID of the file; empty if it has none.
    pub build_id: Vec<u8>,
    /// Whether the mapping may be executed.
    pub is_executable: bool,
}

/// An event of a trace other than a block of executed instructions, such as a switch or a system
/// call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mark {
    /// A task begins. If the task's address space is new, the address space is a copy of the
    /// parent's, or empty without a parent.
    Birth {
        /// Number of the new task.
        task: TaskId,
        /// Address space of the task.
        process: ProcessId,
        /// Task that started the new one; [`TaskId::NONE`] for a command of the user.
        parent: TaskId,
        /// Name of the task (the kernel's `comm`, or the last part of the command). Untrusted:
        /// escape it before display.
        name: Vec<u8>,
    },
    /// The running task executes another program from this mark on, in a new address space.
    Exec {
        /// Number of the task.
        task: TaskId,
        /// New address space of the task.
        process: ProcessId,
        /// New name of the task. Untrusted: escape it before display.
        name: Vec<u8>,
    },
    /// A task ends.
    Exit {
        /// Number of the task.
        task: TaskId,
    },
    /// Another task runs from this mark on, the same task runs again after a time in which every
    /// task slept, or no task runs.
    Switch {
        /// The task that ran until this mark; [`TaskId::NONE`] if no task ran, as at the start of a
        /// trace.
        from: TaskId,
        /// The task that runs from this mark on; [`TaskId::NONE`] if every task sleeps.
        to: TaskId,
        /// Whether `from` gave up the CPU voluntarily.
        is_voluntary: bool,
        /// Kind of kernel entry at which `from` left the CPU.
        cause: Cause,
    },
    /// The running task enters a system call.
    SyscallEnter {
        /// Number of the system call on the traced architecture.
        number: u16,
    },
    /// The running task returns from a system call.
    SyscallExit {
        /// Number of the system call on the traced architecture.
        number: u16,
    },
    /// The kernel reads or writes memory of the running task in a system call.
    KernelTouch {
        /// First address of the memory.
        address: u64,
        /// Length of the memory in bytes; only mapped pages count.
        bytes: u64,
        /// Whether the kernel writes the memory.
        is_store: bool,
    },
    /// The running task has a page fault.
    Fault {
        /// Address that caused the fault.
        address: u64,
    },
    /// A file is mapped into the running task's address space.
    Map(Mapping),
    /// A part of the running task's address space is unmapped.
    Unmap {
        /// First address of the unmapped range.
        start: u64,
        /// Length of the unmapped range in bytes.
        bytes: u64,
    },
    /// A page of the running task has the given physical address from this mark on. Sources that
    /// know physical addresses record each page before its first reference, and whenever the
    /// address changes.
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
    /// Whether a task leaves the CPU at this mark. The start of the first task, or of a task after
    /// a time without one, does not count as a switch.
    pub fn is_switch(&self) -> bool {
        matches!(self, Mark::Switch { from, .. } if *from != TaskId::NONE)
    }
}
