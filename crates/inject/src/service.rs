//! A service that runs and goes on: one thread of it is preempted where it is, and what it uses for its work is compared.
//!
//! ```text
//!  find ──> Placed (the thread on one CPU) ──> a fresh process: preempt ──> phases ──(Reply)──> follow
//! ```
//!
//! The service is never stopped. If this process is killed, the preemptor ends with it, and another process lets the thread run
//! where it could before.

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
