//! What the measuring process and the process of one repetition say to each other: JSON, one value a line.

use serde::{Deserialize, Serialize};
use switchcost_host::clock::Clock;
use switchcost_host::core_clock::CycleEvent;
use switchcost_host::pause::Pause;
use switchcost_record::{Arm, Case, Cycles, Rounds, RuntimeRun, Sample};
use switchcost_units::{Bytes, Nanos, TickRate};

/// Rounds of one timed batch of each arm, once calibrated; 0 means not yet known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchRounds([u64; 4]);

impl BatchRounds {
    /// Rounds of this arm.
    pub fn of(&self, arm: Arm) -> u64 {
        self.0[arm as usize]
    }

    /// Sets the rounds of this arm.
    pub fn set(&mut self, arm: Arm, rounds: u64) {
        self.0[arm as usize] = rounds;
    }
}

/// How a program is started that speaks the protocol of runtimes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launch {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The version that was found, which it shall say itself; empty if that is not known.
    pub version: String,
    /// Whether it runs in an environment and a folder of ours; else in the user's.
    pub is_in_own_environment: bool,
    /// What is added to its environment, `{cpus}` being the number of CPUs that it may use.
    pub environment: Vec<(String, String)>,
    /// How long it runs before anything counts.
    pub warm_up_ns: Nanos,
    /// What it may take of memory.
    pub most_memory: Bytes,
}

/// One repetition of one case, to be run in a fresh process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// The conditions.
    pub case: Case,
    /// Its index in the plan.
    pub case_index: u32,
    /// Which repetition.
    pub repetition: u32,
    /// Seed of this repetition: its order and its random patterns.
    pub seed: u64,
    /// The clock to read.
    pub clock: Clock,
    /// Its rate.
    pub rate: TickRate,
    /// When the run began, on CLOCK_MONOTONIC.
    pub run_start: Nanos,
    /// Intended length of a timed batch.
    pub batch_ns: Nanos,
    /// Intended length of all cycles of a repetition together.
    pub repetition_ns: Nanos,
    /// Rounds found by an earlier repetition.
    pub rounds: BatchRounds,
    /// Whether the run has real-time priority for some of its cases. The process is then started and set up under it, whatever else runs.
    pub has_real_time: bool,
    /// Whether to lock memory.
    pub locks_memory: bool,
    /// What counts the core's cycles beside each batch.
    pub core_counter: Option<CycleEvent>,
    /// Events to run further batches for, by perf's names: those that fit on the CPU's counters together, share by share.
    pub counters: Vec<Vec<String>>,
    /// How the runtime is started whose tasks are measured.
    pub runtime: Option<Launch>,
    /// Length of the made-up switch.
    pub synthetic_switch_ns: Nanos,
    /// What the made-up mechanism adds to each walk of the switching arm.
    pub synthetic_reload_ns: Nanos,
    /// What a timed batch is otherwise than usual.
    pub batches: Rounds,
}

/// What comes back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Message {
    /// A window of cycles.
    Cycles(Box<Cycles>),
    /// A batch for counters or single hand-offs.
    Sample(Box<Sample>),
    /// What a runtime reported of itself.
    Runtime(Box<RuntimeRun>),
    /// The repetition cannot be run, or not to its end.
    Refused(String),
    /// All batches have been sent.
    Done(BatchRounds),
    /// The run was stopped, frozen or suspended for a while. Of the executor, not of the repetition.
    #[serde(skip)]
    Paused(Pause),
}
