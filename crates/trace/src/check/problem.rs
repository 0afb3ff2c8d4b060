use std::fmt;

use crate::{ProcessId, TaskId, UnfitBlock};

/// A violation of a rule, with its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Number of the chunk, from 0.
    pub chunk: u64,
    /// Byte of the file at which the record of the chunk begins.
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
    /// The chunk's head names another running task than the marks before it.
    #[error("the chunk begins with task {found} running, but task {need} was running before it")]
    Running {
        /// Running task according to the chunk's head.
        found: TaskId,
        /// Running task according to the marks.
        need: TaskId,
    },
    /// No processor can have executed the block as described.
    #[error("{0}")]
    Unfit(UnfitBlock),
    /// A block's flags have undefined bits.
    #[error("the block has flags {0:#04x}, not 0 (user) or 1 (kernel)")]
    Flags(u8),
    /// A task that has ended runs user code.
    #[error("task {0} runs user code after its end")]
    RunsEnded(TaskId),
    /// The chunk has more or fewer references than its blocks state.
    #[error("the chunk has {found} references, but its blocks claim {need}")]
    References {
        /// Number of references in the chunk.
        found: u64,
        /// Number of references that the blocks state together.
        need: u64,
    },
    /// A mark is out of order.
    #[error("the mark before block {found} is out of order")]
    Order {
        /// Block before which the mark is placed.
        found: u32,
    },
    /// The event that starts a task does not give the task the next number.
    #[error("task {found} is born where task {need} is next")]
    TaskNumber {
        /// Number that the event gives to the new task.
        found: TaskId,
        /// Number that the new task must have: the next free one.
        need: TaskId,
    },
    /// A mark names an address space that is neither known nor the next one.
    #[error("address space {found} is used where {need} is next")]
    ProcessNumber {
        /// Address space in the mark.
        found: ProcessId,
        /// Number of the next address space.
        need: ProcessId,
    },
    /// A task acts before its birth or after its end.
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
    /// A task is born into an address space whose tasks have all ended.
    #[error("a task is born into address space {0}, whose tasks have all ended")]
    EndedProcess(ProcessId),
    /// A switch names a leaving task that was not running.
    #[error("a switch leaves task {from}, but task {running} is running")]
    From {
        /// Task that leaves the CPU according to the switch.
        from: TaskId,
        /// Running task according to the marks before.
        running: TaskId,
    },
    /// A task acts in a way that only the running task can.
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
    /// The index does not match the chunks before it.
    #[error("the index does not match the chunks")]
    Index,
}
