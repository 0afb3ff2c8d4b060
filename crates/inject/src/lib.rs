//! What one preemption costs an unmodified program: two copies of it run on one CPU in turns, and one of them is preempted.
//!
//! What comes in: a command that does the same each time it is run. What goes out: what each copy used, run by run. No
//! statistics and no printing: how many runs are enough is decided by the caller.
//!
//! ```text
//!  run ──(Order)──> a fresh process: serve ──> the first process of a PID namespace: stage ──> turns
//!   ^                                                       │            twin, twin
//!   └──────────────────(Answer)────────────────────────────┘
//! ```
//!
//! The preemptor is the parent of the twins and the first process of a PID namespace: when it is gone, however it went, the kernel ends
//! both of them, stopped or not, and whatever they have started.
//!
//! A service that runs already is preempted where it is ([`mod@service`]): in phases of two arms, in one of which the preemptor touches
//! memory, while it spins for as long in the other.

mod ask;
mod command;
mod fault;
mod preemptor;
mod protocol;
mod run;
mod serve;
pub mod service;
mod stage;
mod turns;

pub use ask::{INJECTION_ARGUMENT, ProcessExecutor};
pub use command::{Instruments, Subject};
pub use fault::Fault;
pub use protocol::{Answer, Order, Outcome, Place};
pub use run::{Executor, Progress, Stop, Undisturbed, inject, undisturbed};
pub use serve::serve;
