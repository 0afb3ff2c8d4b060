//! Messages between the measuring process and the process of one repetition: JSON, one value per line.

use serde::{Deserialize, Serialize};
use switchcost_host::clock::Clock;
use switchcost_host::core_clock::CycleEvent;
use switchcost_host::pause::Pause;
use switchcost_record::{Arm, Case, Cycles, Rounds, RuntimeRun, Sample};
use switchcost_units::{Bytes, Nanos, TickRate};

/// Number of round trips in a timed batch of each arm, after calibration; 0 before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchRounds([u64; 4]);

impl BatchRounds {
    /// Returns the number of round trips in a batch of this arm.
    pub fn rounds(&self, arm: Arm) -> u64 {
        self.0[arm as usize]
    }

    /// Sets the number of round trips in a batch of this arm.
    pub fn set(&mut self, arm: Arm, rounds: u64) {
        self.0[arm as usize] = rounds;
    }
}

/// Command that starts a program that speaks the protocol of runtimes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launch {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Version that was found, which the program must also report; empty if not known.
    pub version: String,
    /// Whether the program runs in a clean environment and folder instead of the user's.
    pub is_in_own_environment: bool,
    /// Variables added to the program's environment; `{cpus}` stands for the number of CPUs that it may use.
    pub environment: Vec<(String, String)>,
    /// Time that the program runs before measurements count.
    pub warm_up_ns: Nanos,
    /// Limit on the program's memory.
    pub most_memory: Bytes,
}

/// An order for one repetition of one case, which is run in a fresh process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// Conditions of the case.
    pub case: Case,
    /// Index of the case in the plan.
    pub case_index: u32,
    /// Number of this repetition of the case.
    pub repetition: u32,
    /// Seed of this repetition: its order and its random patterns.
    pub seed: u64,
    /// The clock to read.
    pub clock: Clock,
    /// Rate of the clock.
    pub rate: TickRate,
    /// Start of the run, on CLOCK_MONOTONIC.
    pub run_start: Nanos,
    /// Intended length of a timed batch.
    pub batch_ns: Nanos,
    /// Intended length of all cycles of a repetition together.
    pub repetition_ns: Nanos,
    /// Round trips per batch, as an earlier repetition of the case has calibrated them.
    pub rounds: BatchRounds,
    /// Whether the run has real-time priority for some cases. If so, the process is started and set
    /// up with real-time priority, whatever else runs.
    pub has_real_time: bool,
    /// Whether to lock the process's memory.
    pub locks_memory: bool,
    /// Counter of the core's cycles, read around each batch.
    pub core_counter: Option<CycleEvent>,
    /// Events that additional batches count, by perf's names, in groups that fit on the CPU's
    /// counters together.
    pub counters: Vec<Vec<String>>,
    /// Command that starts the measured runtime.
    pub runtime: Option<Launch>,
    /// Time that the synthetic mechanism adds to each hand-off.
    pub synthetic_switch_ns: Nanos,
    /// Time that the synthetic mechanism adds to each walk of the switching arm.
    pub synthetic_reload_ns: Nanos,
    /// Requests that make timed batches unusual: a fixed number of round trips, a flush, a pause.
    pub batches: Rounds,
}

/// A message from the process of a repetition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Message {
    /// A window of cycles.
    Cycles(Box<Cycles>),
    /// A batch for counters or single hand-offs.
    Sample(Box<Sample>),
    /// Report of a runtime on itself.
    Runtime(Box<RuntimeRun>),
    /// The repetition could not be started, or broke off, for this reason.
    Refused(String),
    /// All batches of the repetition have been sent; the round trips per batch follow, for later
    /// repetitions.
    Done(BatchRounds),
    /// The whole run was stopped, frozen or suspended for a while. The executor sends this, not the
    /// repetition.
    #[serde(skip)]
    Paused(Pause),
}
