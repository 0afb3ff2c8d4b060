//! Messages between the measuring process and the process of one repetition: JSON, one value per
//! line.

use serde::{Deserialize, Serialize};
use switchcost_host::clock::Clock;
use switchcost_host::core_clock::CycleEvent;
use switchcost_host::pause::Pause;
use switchcost_record::{Arm, Case, Cycles, Rounds, RuntimeRun, Sample};
use switchcost_units::{Bytes, Nanos, TickRate};

/// Number of round trips in a timed batch of each arm; 0 before calibration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchRounds([u64; 4]);

impl BatchRounds {
    /// Returns the number of round trips in a batch of an arm.
    pub fn rounds(&self, arm: Arm) -> u64 {
        self.0[arm as usize]
    }

    /// Sets the number of round trips in a batch of an arm.
    pub fn set(&mut self, arm: Arm, rounds: u64) {
        self.0[arm as usize] = rounds;
    }
}

/// Command that starts a runtime's program, which speaks the protocol of runtimes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launch {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Version that the runtime reported, and that its program must report, too; empty if not
    /// known.
    pub version: String,
    /// Whether the program runs in a clean environment and folder instead of the user's.
    pub is_in_own_environment: bool,
    /// Variables to be added to the program's environment. `{cpus}` stands for the number of CPUs
    /// that the program may use.
    pub environment: Vec<(String, String)>,
    /// Time for which the program runs before measurements count.
    pub warm_up_ns: Nanos,
    /// Limit on the memory of the program.
    pub most_memory: Bytes,
}

/// An order to run one repetition of one case in a new process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// Conditions of the case.
    pub case: Case,
    /// Index of the case in the plan.
    pub case_index: u32,
    /// Number of the repetition among those of its case.
    pub repetition: u32,
    /// Seed of the repetition's order of arms and of its random patterns.
    pub seed: u64,
    /// The clock to read.
    pub clock: Clock,
    /// Rate of the clock in ticks per second.
    pub rate: TickRate,
    /// Start of the run, by CLOCK_MONOTONIC.
    pub run_start: Nanos,
    /// Intended length of a timed batch.
    pub batch_ns: Nanos,
    /// Intended length of all rounds of the repetition together.
    pub repetition_ns: Nanos,
    /// Number of round trips per batch, calibrated by an earlier repetition of the case.
    pub rounds: BatchRounds,
    /// Whether the run has real-time priority in some case. If so, the process starts and sets up
    /// with real-time priority, whatever other tasks run.
    pub has_real_time: bool,
    /// Whether the process locks its memory.
    pub locks_memory: bool,
    /// Counter of the core's cycles that is read around each batch; `None` if there is none.
    pub core_counter: Option<CycleEvent>,
    /// Events that additional batches count, by their names in perf, in groups that fit on the
    /// CPU's counters together.
    pub counters: Vec<Vec<String>>,
    /// Command that starts the measured runtime; `None` for other cases.
    pub runtime: Option<Launch>,
    /// Time that the synthetic mechanism adds to each hand-off.
    pub synthetic_switch_ns: Nanos,
    /// Time that the synthetic mechanism adds to each walk of the switching arm.
    pub synthetic_reload_ns: Nanos,
    /// Unusual conditions of timed batches: a fixed number of round trips, a cache flush, a pause.
    pub batches: Rounds,
}

/// A message from the process that runs a repetition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Message {
    /// Times of a window: rounds of batches with and without switches, for up to about 25 ms.
    Cycles(Box<Cycles>),
    /// A batch for hardware counters or single hand-offs.
    Sample(Box<Sample>),
    /// Facts that a runtime's program reports about itself.
    Runtime(Box<RuntimeRun>),
    /// The repetition could not be started, or broke off; contains the reason.
    Refused(String),
    /// All batches of the repetition have been sent. Contains the number of round trips per batch,
    /// for later repetitions.
    Done(BatchRounds),
    /// The whole run was stopped, frozen or suspended for a time. The executor sends this message,
    /// not the repetition.
    #[serde(skip)]
    Paused(Pause),
}
