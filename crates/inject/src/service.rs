//! Preempts one thread of a running service on its CPU. Compares the CPU time that the thread uses
//! for its work between phases in which the preempting task touches memory and phases in which it
//! spins for as long; also between spinning and no preemption.
//!
//! ```text
//!  find ──> Placed (the thread on one CPU) ──> a fresh process: preempt ──> phases ──(Reply)──> follow
//! ```
//!
//! The service is never stopped. If this process is killed, the preemptor ends, too, and a cleanup
//! helper gives the thread its former CPUs back.

mod fault;
mod find;
mod follow;
mod phases;
mod preempt;
mod work;

pub use fault::ServiceFault;
pub use find::{Found, find};
pub use follow::{Followed, Follower, ProcessFollower, follow};
pub(crate) use preempt::preempt;

pub use crate::protocol::{Reply, ServiceOrder, Work};
