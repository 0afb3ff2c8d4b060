//! Reorders the tasks of a trace, to simulate another scheduler or another quantum.
//!
//! The input is a trace with its index, and a [`Schedule`]. The output is the [`Chunk`]s of a
//! reordered trace: each task executes the same blocks in the same order, but tasks alternate at
//! other times. No file is written. Memory does not grow with the trace, except for some 60 bytes
//! per switch, because chunks are decoded as tasks reach them.
//!
//! *Which task may run.* A preempted task may run again at any time. A task that left the CPU
//! voluntarily waited for something, and the trace does not say for what. Only a system call (or
//! the end) of another task can have woken it. The task therefore stays blocked until every other
//! task has made all calls that it made in the trace during the wait. If no other task made a call,
//! the task waited for something external (a timer, a disk): it stays blocked while the others
//! execute as many instructions as they did during the wait. In the trace, all of these events
//! precede the task's return, so there is always a task that may run.
//!
//! *Page faults.* If requested, a task also leaves the CPU at the first use of each page of a file,
//! and is away while the disk reads.
//!
//! *What does not change.* A call that did not block in the trace does not block in another order:
//! a reader whose pipe had data may come before the writer. If the trace has no system calls at
//! all, whole time slices take their place.

mod decoded;
mod paging;
mod pieces;
mod queue;
mod replay;
mod schedule;
#[cfg(test)]
pub(crate) mod tests;
mod waits;

pub use pieces::{Streams, StreamsReader};
pub use replay::Reordered;
pub use schedule::{ParseScheduleError, Schedule};
