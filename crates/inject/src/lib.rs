//! Measures the cost of one preemption to an unmodified program: two copies of the program run
//! alternately on one CPU, and one of the two is preempted.
//!
//! The input is a deterministic command; the output is the CPU time of each copy, run by run. This
//! crate has no statistics and no printing: the caller decides on the number of runs.
//!
//! ```text
//!  run ──(Order)──> a fresh process: serve ──> the first process of a PID namespace: stage ──> turns
//!   ^                                                       │            twin, twin
//!   └──────────────────(Answer)────────────────────────────┘
//! ```
//!
//! The preemptor is the parent of the twins and the first process of a PID namespace: when it ends,
//! for whatever reason, the kernel ends both twins, stopped or not, and all their descendants.
//!
//! A running service is preempted on its own CPU ([`mod@service`]), in phases of two arms. In one
//! arm the preemptor touches memory; in the other arm it spins for the same time.

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
