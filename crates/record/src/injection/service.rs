//! A service that runs and goes on, preempted in phases.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use switchcost_units::{CpuId, Nanos};

/// Who was preempted.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Service {
    /// The process ...
    pub process: u32,
    /// ... and the one thread of it that was placed on the CPU.
    pub thread: u32,
    /// The thread's name, as the kernel keeps it; hostile text until escaped.
    pub name: String,
    /// What was counted as its work, as the user said.
    pub work: String,
    /// The CPUs that the thread was allowed before, and is again.
    pub allowed: Vec<CpuId>,
    /// What it did before.
    pub look: Look,
}

/// What a service did by itself, before it was placed and preempted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Look {
    /// For so long.
    pub wall_ns: Nanos,
    /// CPU time of the thread.
    pub cpu_ns: Nanos,
    /// CPU time of all other threads of the process and of what it has started.
    pub others_cpu_ns: Nanos,
    /// What was counted.
    pub work: u64,
    /// Switches that the thread asked for by waiting.
    pub voluntary: u64,
    /// Switches that it did not ask for.
    pub involuntary: u64,
}

/// What the preemptor does with the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arm {
    /// Touches memory.
    Touching,
    /// Spins for as long, and touches nothing.
    Spinning,
    /// Does not take it.
    Idle,
}

/// Four phases in two arms: the one, the other, the other, the one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Group {
    /// Which pass through what is compared.
    pub block: u32,
    /// Which footprint of the plan: touched, or spun for as long as that takes.
    pub footprint: u32,
    /// Which period: 0 is the plan's first, 1 the first of the further ones.
    pub timing: u32,
    /// When it began, from the first on.
    pub since_start_ns: Nanos,
    /// In their order.
    pub phases: [Phase; 4],
}

impl Group {
    /// Whether it compares being preempted with not being preempted.
    pub fn is_against_idle(&self) -> bool {
        self.phases.iter().any(|phase| phase.arm == Arm::Idle)
    }

    /// Both phases of an arm.
    pub fn of(&self, arm: Arm) -> impl Iterator<Item = &Phase> {
        self.phases.iter().filter(move |phase| phase.arm == arm)
    }
}

/// What a service used and did in a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Phase {
    /// What the preemptor did.
    pub arm: Arm,
    /// How long it was.
    pub wall_ns: Nanos,
    /// CPU time of the thread.
    pub cpu_ns: Nanos,
    /// What a chain of multiplications took, as a harmonic mean over that time.
    pub chain_ps: u64,
    /// What was counted.
    pub work: u64,
    /// Turns between two preemptions.
    pub turns: u64,
    /// Those in which the thread ran.
    pub turns_run: u64,
    /// For how long the preemptor had the CPU, all together.
    pub away_ns: Nanos,
    /// Switches that the thread asked for by waiting.
    pub voluntary: u64,
    /// Switches that it did not ask for.
    pub involuntary: u64,
}
