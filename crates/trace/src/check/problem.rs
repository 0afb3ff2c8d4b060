use std::fmt;

use crate::{ProcessId, TaskId, UnfitBlock};

/// A violation of a rule, with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Number of the chunk, from 0.
    pub chunk: u64,
    /// Byte of the file at which the chunk's record begins.
    pub offset: u64,
    /// Index in the chunk of the block at or after the violation's place.
    pub block: u32,
    /// The violated rule.
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
    #[error("found a chunk that begins with task {found} running, need task {need}")]
    Running {
        /// Running task according to the chunk.
        found: TaskId,
        /// Running task according to the marks.
        need: TaskId,
    },
    /// A block that cannot be executed.
    #[error("{0}")]
    Unfit(UnfitBlock),
    /// Undefined bits in the flags of a block.
    #[error("found flags {0:#04x} of a block, need 0 (user) or 1 (kernel)")]
    Flags(u8),
    /// A task that has ended runs user code.
    #[error("found code of the user run by task {0}, need a task that has not ended")]
    RunsEnded(TaskId),
    /// Blocks and references do not belong together.
    #[error("found {found} references, need {need} as the blocks claim together")]
    References {
        /// The number found.
        found: u64,
        /// The number claimed.
        need: u64,
    },
    /// A mark out of order.
    #[error("found a mark before block {found}, need ascending order up to the last block")]
    Order {
        /// The block number in the mark.
        found: u32,
    },
    /// A task that does not get the next number.
    #[error(
        "found the birth of task {found}, need task {need}: tasks are numbered in order of birth"
    )]
    TaskNumber {
        /// The task that the mark names.
        found: TaskId,
        /// The next task number.
        need: TaskId,
    },
    /// An address space that is neither known nor the next.
    #[error(
        "found address space {found}, need {need}: address spaces are numbered in order and never reused"
    )]
    ProcessNumber {
        /// The address space that the mark names.
        found: ProcessId,
        /// The next address space.
        need: ProcessId,
    },
    /// A task that was not born, or has ended.
    #[error("found {what} task {task}, need one that was born and has not ended")]
    NotAlive {
        /// Action of the task, for the message.
        what: &'static str,
        /// The task.
        task: TaskId,
    },
    /// A parent task that was never born.
    #[error("found parent {0}, need a task that was born")]
    Parent(TaskId),
    /// A task in an address space that has ended.
    #[error(
        "found a task born into address space {0}, whose tasks have all ended, need a number of its own"
    )]
    EndedProcess(ProcessId),
    /// A switch says that another task leaves the CPU than the one that has it.
    #[error("found a switch from task {from}, need one from task {running}, which runs")]
    From {
        /// The task that leaves, according to the switch.
        from: TaskId,
        /// The running task, according to the marks before.
        running: TaskId,
    },
    /// An action that only the running task can do.
    #[error("found {what} of task {task}, need it of task {running}, which runs")]
    NotRunning {
        /// Action of the task, for the message.
        what: &'static str,
        /// The task.
        task: TaskId,
        /// The running task.
        running: TaskId,
    },
    /// A range of memory that is empty or goes beyond the address space.
    #[error(
        "found {what} of {bytes} bytes at {start:#x}, need one that is not empty and ends in the address space"
    )]
    Range {
        /// Kind of range, for the message.
        what: &'static str,
        /// First address of the range.
        start: u64,
        /// Length of the range in bytes.
        bytes: u64,
    },
    /// An impossible page.
    #[error(
        "found a page of {bytes} bytes at {start:#x}, need a power of two and addresses that are multiples of it"
    )]
    Page {
        /// Virtual address of the page.
        start: u64,
        /// Length of the page in bytes.
        bytes: u64,
    },
    /// An index of another trace, or a damaged one.
    #[error("found an index that does not fit the chunks, need the one that was written with them")]
    Index,
}
