//! The same streams in another order, to simulate another scheduler or another quantum.
//!
//! What comes in: a trace with its index, and a [`Schedule`]. What goes out: the [`Chunk`]s of a trace in which each task
//! does what it did, in its own order, to the last reference, while other tasks run at other times. No file is written, and
//! memory does not grow with the trace, but for some 60 bytes a switch: chunks are decoded as the tasks come to them.
//!
//! *Who may run.* A task that lost the CPU against its will may have it again at any time. One that left it by itself waited for something,
//! and the trace does not say for what. Only a system call (or the end) of another task can have woken it; so it stays off until every task
//! that made calls while it was away has made the last of them. If no other task made one, it waited for something outside (a timer, a
//! disk): it stays off while the others execute as many instructions as they did then. All this had happened in the trace before the task
//! came back, so there is always a task that may run.
//!
//! *Page faults.* If they are asked for, a task also leaves at the first use of each page of a file, and is away while the disk reads.
//!
//! *What does not change.* A call that did not block in the trace does not block in another order: a reader that found its
//! pipe filled may come before the writer. If the trace has no system calls at all, whole turns take their place.

mod decoded;
mod paging;
mod pieces;
mod queue;
mod replay;
mod schedule;
#[cfg(test)]
mod tests;
mod waits;

pub use pieces::{Streams, StreamsReader};
pub use replay::Reordered;
pub use schedule::{ParseScheduleError, Schedule};
