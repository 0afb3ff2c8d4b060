//! A running service, preempted in phases.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use switchcost_units::{CpuId, Nanos};

/// The service that was preempted.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Service {
    /// Process ID of the service.
    pub process: u32,
    /// The one thread of the process that was placed on the CPU.
    pub thread: u32,
    /// The thread's name, as the kernel keeps it; hostile text until escaped.
    pub name: String,
    /// The user's description of what counts as work.
    pub work: String,
    /// CPUs on which the thread could run before, and can again.
    pub allowed: Vec<CpuId>,
    /// Activity of the service before it was preempted.
    pub look: Look,
}

/// Activity of a service by itself, before it was placed and preempted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Look {
    /// Length of the time for which the service was watched.
    pub wall_ns: Nanos,
    /// CPU time of the thread.
    pub cpu_ns: Nanos,
    /// CPU time of all other threads of the process and of its child processes.
    pub others_cpu_ns: Nanos,
    /// Amount of work that was counted.
    pub work: u64,
    /// Voluntary switches of the thread.
    pub voluntary: u64,
    /// Involuntary switches of the thread.
    pub involuntary: u64,
}

/// Activity of the preemptor while it has the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arm {
    /// The preemptor touches memory.
    Touching,
    /// The preemptor spins for as long as touching takes, and touches nothing.
    Spinning,
    /// The preemptor does not take the CPU.
    Idle,
}

/// Four phases of two arms, in the order ABBA.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Group {
    /// Number of the pass through all comparisons.
    pub block: u32,
    /// Index of the footprint in the plan: the preemptor touches that footprint, or spins for as
    /// long as touching takes.
    pub footprint: u32,
    /// Index of the period: 0 is the plan's first, 1 the first of the further ones.
    pub timing: u32,
    /// Start of this group, since the start of the first group.
    pub since_start_ns: Nanos,
    /// Phases of the group, in order.
    pub phases: [Phase; 4],
}

impl Group {
    /// Whether the group compares preemption with no preemption.
    pub fn is_against_idle(&self) -> bool {
        self.phases.iter().any(|phase| phase.arm == Arm::Idle)
    }

    /// Returns both phases of an arm.
    pub fn phases(&self, arm: Arm) -> impl Iterator<Item = &Phase> {
        self.phases.iter().filter(move |phase| phase.arm == arm)
    }
}

/// CPU time and work of a service in a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Phase {
    /// Activity of the preemptor in the phase.
    pub arm: Arm,
    /// Wall time of the phase.
    pub wall_ns: Nanos,
    /// CPU time of the thread.
    pub cpu_ns: Nanos,
    /// Time of a chain of multiplications, as a harmonic mean over the thread's CPU time, in picoseconds.
    pub chain_ps: u64,
    /// Amount of work that was counted in the phase.
    pub work: u64,
    /// Number of stretches between two preemptions.
    pub turns: u64,
    /// Number of stretches between two preemptions in which the thread ran.
    pub turns_run: u64,
    /// Total time for which the preemptor had the CPU.
    pub away_ns: Nanos,
    /// Voluntary switches of the thread.
    pub voluntary: u64,
    /// Involuntary switches of the thread.
    pub involuntary: u64,
}
