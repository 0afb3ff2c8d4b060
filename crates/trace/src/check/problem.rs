use std::fmt;

use crate::{ProcessId, TaskId, UnfitBlock};

/// A violation of a rule, with its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Number of the chunk, from 0.
    pub chunk: u64,
    /// Byte of the file at which the chunk's record begins.
    pub offset: u64,
    /// Index in the chunk of the block at or after the violation.
    pub block: u32,
    /// Rule that was violated.
    pub trouble: Violation,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "chunk {} at byte {}, block {}: {}",
            self.chunk, self.offset, self.block, self.trouble
        )
    }
}

/// A violated rule of the stream.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// The chunk claims another running task than the marks before it.
    #[error("the chunk begins with task {found} running, but task {need} was running before it")]
    Running {
        /// Running task according to the chunk.
        found: TaskId,
        /// Running task according to the marks.
        need: TaskId,
    },
    /// A block cannot have been executed.
    #[error("{0}")]
    Unfit(UnfitBlock),
    /// A block's flags have undefined bits.
    #[error("the block has flags {0:#04x}, not 0 (user) or 1 (kernel)")]
    Flags(u8),
    /// A task that has ended runs user code.
    #[error("task {0} runs user code after its end")]
    RunsEnded(TaskId),
    /// The blocks and references do not belong together.
    #[error("the chunk has {found} references, but its blocks claim {need}")]
    References {
        /// Number of references found.
        found: u64,
        /// Number of references claimed by the blocks.
        need: u64,
    },
    /// A mark is out of order.
    #[error("the mark before block {found} is out of order")]
    Order {
        /// The block number in the mark.
        found: u32,
    },
    /// A new task does not have the next number.
    #[error("task {found} is born where task {need} is next")]
    TaskNumber {
        /// The task that the mark names.
        found: TaskId,
        /// The next task number.
        need: TaskId,
    },
    /// An address space is neither known nor the next.
    #[error("address space {found} is used where {need} is next")]
    ProcessNumber {
        /// The address space that the mark names.
        found: ProcessId,
        /// The next address space.
        need: ProcessId,
    },
    /// A task acts that was not born, or has ended.
    #[error("{what} task {task}, which was not born or has ended")]
    NotAlive {
        /// Action of the task, for the message.
        what: &'static str,
        /// Number of the task.
        task: TaskId,
    },
    /// A task's parent was never born.
    #[error("parent {0} was never born")]
    Parent(TaskId),
    /// A task is in an address space that has ended.
    #[error("a task is born into address space {0}, whose tasks have all ended")]
    EndedProcess(ProcessId),
    /// A switch names a task that leaves the CPU but did not run.
    #[error("a switch leaves task {from}, but task {running} is running")]
    From {
        /// The task that leaves, according to the switch.
        from: TaskId,
        /// The running task, according to the marks before.
        running: TaskId,
    },
    /// A task acts as only the running task can.
    #[error("{what} of task {task}, but task {running} is running")]
    NotRunning {
        /// Action of the task, for the message.
        what: &'static str,
        /// Number of the task.
        task: TaskId,
        /// Number of the running task.
        running: TaskId,
    },
    /// A range of memory is empty or extends beyond the address space.
    #[error("{what} of {bytes} bytes at {start:#x} is empty or exceeds the address space")]
    Range {
        /// Kind of range, for the message.
        what: &'static str,
        /// First address of the range.
        start: u64,
        /// Length of the range in bytes.
        bytes: u64,
    },
    /// A page has an impossible size or address.
    #[error(
        "a page of {bytes} bytes at {start:#x} is no power of two, or its addresses are not aligned"
    )]
    Page {
        /// Virtual address of the page.
        start: u64,
        /// Length of the page in bytes.
        bytes: u64,
    },
    /// The index belongs to another trace, or is damaged.
    #[error("the index does not match the chunks")]
    Index,
}
