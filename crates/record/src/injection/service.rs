//! Records of a running service that was preempted in phases.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use switchcost_units::{CpuId, Nanos};

/// The service that was preempted, and the thread that was measured.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Service {
    /// Process ID of the service's process.
    pub process: u32,
    /// ID of the measured thread, the only one that was moved to the measured CPU.
    pub thread: u32,
    /// Name of the measured thread, as the kernel stores it; untrusted text that must be escaped
    /// before it is shown.
    pub name: String,
    /// The user's words for the unit in which the service's work is counted.
    pub work: String,
    /// CPUs on which the thread may run before and after the injection.
    pub allowed: Vec<CpuId>,
    /// CPU time and work of the service before it was preempted.
    pub look: Look,
}

/// CPU time and work of a service while it was watched, before it was moved and preempted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Look {
    /// Length of the watched time in nanoseconds.
    pub wall_ns: Nanos,
    /// CPU time of the measured thread in nanoseconds.
    pub cpu_ns: Nanos,
    /// CPU time of all other threads of the process and of its child processes, in nanoseconds.
    pub others_cpu_ns: Nanos,
    /// Number of units of work that were counted.
    pub work: u64,
    /// Number of voluntary switches of the measured thread.
    pub voluntary: u64,
    /// Number of involuntary switches of the measured thread.
    pub involuntary: u64,
}

/// What the preempting task does while it has the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arm {
    /// The preempting task touches memory.
    Touching,
    /// The preempting task spins for as long as touching memory takes.
    Spinning,
    /// The preempting task does not take the CPU.
    Idle,
}

/// Results of four phases of two arms, in the order ABBA.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Group {
    /// Number of the block of groups. Each block has every comparison once.
    pub block: u32,
    /// Index of the footprint in [`Plan::footprints_bytes`](super::Plan::footprints_bytes). The
    /// preempting task touches that footprint, or spins for as long as touching takes.
    pub footprint: u32,
    /// Index of the period in [`Plan::timings`](super::Plan::timings).
    pub timing: u32,
    /// Start of this group in nanoseconds since the start of the first group.
    pub since_start_ns: Nanos,
    /// Results of the four phases, in the order in which they were run.
    pub phases: [Phase; 4],
}

impl Group {
    /// Whether the group compares phases with and without preemptions.
    pub fn is_against_idle(&self) -> bool {
        self.phases.iter().any(|phase| phase.arm == Arm::Idle)
    }

    /// Returns the two phases of an arm.
    pub fn phases(&self, arm: Arm) -> impl Iterator<Item = &Phase> {
        self.phases.iter().filter(move |phase| phase.arm == arm)
    }
}

/// CPU time and work of the service in one phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Phase {
    /// What the preempting task did in the phase.
    pub arm: Arm,
    /// Wall time of the phase in nanoseconds.
    pub wall_ns: Nanos,
    /// CPU time of the measured thread in nanoseconds.
    pub cpu_ns: Nanos,
    /// Time of a fixed chain of multiplications on the core, as a harmonic mean over the thread's
    /// CPU time, in picoseconds. This time is inversely proportional to the rate of the core's
    /// clock.
    pub chain_ps: u64,
    /// Number of units of work that were counted in the phase.
    pub work: u64,
    /// Number of time slices of the service, each between two preemptions.
    pub turns: u64,
    /// Number of time slices of the service in which the measured thread ran.
    pub turns_run: u64,
    /// Total time for which the preempting task had the CPU, in nanoseconds.
    pub away_ns: Nanos,
    /// Number of voluntary switches of the measured thread.
    pub voluntary: u64,
    /// Number of involuntary switches of the measured thread.
    pub involuntary: u64,
}
