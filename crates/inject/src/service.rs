//! A service that runs and goes on: one thread of it is preempted where it is, and what it uses for its work is compared.
//!
//! ```text
//!  find ──> Placed (the thread on one CPU) ──> a fresh process: preempt ──> phases ──(Reply)──> follow
//! ```
//!
//! The service is never stopped. Where this process is killed, the preemptor ends with it, and another process lets the thread run
//! where it could before.

mod fault;
mod find;
mod follow;
mod phases;
mod preempt;
mod work;

pub use fault::ServiceFault;
pub use find::{Found, find};
pub use follow::{Followed, Follower, ServantFollower, follow};
pub(crate) use preempt::preempt;
pub use work::Work;

use serde::{Deserialize, Serialize};
use switchcost_host::clock::Clock;
use switchcost_host::live::ThreadId;
use switchcost_injection::{Group, Timing};
use switchcost_units::{Bytes, CpuId, Nanos, TickRate, Ticks};

/// How a service is preempted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServiceOrder {
    /// The thread, which is on the CPU already.
    pub id: ThreadId,
    /// What is counted.
    pub work: Work,
    /// The CPU.
    pub cpu: CpuId,
    /// Those for a command that counts.
    pub other_cpus: Vec<CpuId>,
    /// The clock to read.
    pub clock: Clock,
    /// Its rate.
    pub rate: TickRate,
    /// What reading it adds to a chain.
    pub overhead: Ticks,
    /// How long the service has its CPU until it is preempted, and in a phase.
    pub timings: Vec<Timing>,
    /// What is touched.
    pub footprints: Vec<Bytes>,
    /// For how long as touching this one takes the preemptor spins where that is compared with not preempting, at the first period.
    pub against_idle: usize,
    /// Whether nothing is touched: it spins in both arms.
    pub touches_nothing: bool,
    /// Of the order of what is compared.
    pub seed: u64,
    /// When it ends, on CLOCK_MONOTONIC.
    pub until: Nanos,
}

/// What comes back, line by line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reply {
    /// Four phases.
    Group(Box<Group>),
    /// The time is over.
    Over,
    /// The service has ended.
    Ended,
    /// It could not be done.
    Refused(String),
}
