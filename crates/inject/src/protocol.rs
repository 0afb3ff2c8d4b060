//! Messages between the program and the process of one run: JSON, one value per line.

use std::ffi::OsString;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use switchcost_host::clock::Clock;
use switchcost_host::live::ThreadId;
use switchcost_host::perf::Called;
use switchcost_record::injection::{Group, Timing, TwinRun};
use switchcost_units::{Bytes, CpuId, Nanos, TickRate, Ticks};

/// A request to the process that carries out a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Request {
    /// An order for one run of two copies.
    Twins(Box<Order>),
    /// An order to preempt a service until the time is over.
    Service(ServiceOrder),
}

/// An order for one run of two copies of a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// Words of the command: the program and its arguments.
    pub words: Vec<OsString>,
    /// Environment variables to be set for the command.
    pub settings: Vec<(String, String)>,
    /// File for the command's standard input, with the offset at which reading begins; without a
    /// file the input is empty.
    pub input: Option<(PathBuf, u64)>,
    /// Outputs and folders of both copies.
    pub places: [Place; 2],
    /// CPU on which both copies run.
    pub cpu: CpuId,
    /// Clock that the process reads.
    pub clock: Clock,
    /// Rate of the clock.
    pub rate: TickRate,
    /// Time that reading the clock adds to a chain of multiplications.
    pub overhead: Ticks,
    /// Time for which a copy runs until it is preempted.
    pub period: Nanos,
    /// Length of a copy's time slice.
    pub turn: Nanos,
    /// Bytes that the preemptor touches.
    pub footprint: Bytes,
    /// The preempted copy, 0 or 1.
    pub preempted: u8,
    /// CPU to which the preempted copy moves at every second preemption; if absent, the copy is not
    /// moved.
    pub moves_to: Option<CpuId>,
    /// Whether neither copy is preempted.
    pub preempts_nobody: bool,
    /// Estimated cost of a preemption. The time slices of the preempted copy are longer by this
    /// cost, so that both copies need the same number.
    pub lost: Nanos,
    /// Deadline of the run, on CLOCK_MONOTONIC.
    pub latest: Nanos,
}

/// Outputs and folders of a copy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The copy's own folder for temporary files.
    pub temporary: PathBuf,
    /// File for standard output, which is discarded if no file is given.
    pub output: Option<PathBuf>,
    /// File for standard error, which is discarded if no file is given.
    pub errors: Option<PathBuf>,
    /// Control group that freezes the copy; if absent, signals stop the copy.
    pub group: Option<PathBuf>,
    /// Folder for the changes to the copy's own working directory; if absent, both copies share the
    /// directory.
    pub layer: Option<PathBuf>,
}

/// Resources that a copy used, and its exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// Resources that the copy used in the run.
    pub run: TwinRun,
    /// Exit status of the copy, as from wait(2).
    pub status: i32,
}

/// An answer of the process to an order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// Both copies of the command have ended.
    Ended([Outcome; 2]),
    /// The copies have not ended in time.
    TooLong,
    /// A copy has left processes behind.
    LeftBehind,
    /// A copy has processes outside its process group.
    LeavesGroup,
    /// The system refused the run.
    Refused(String),
}

/// Source from which the service's work is counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Work {
    /// Number of times that the thread calls a system call or function.
    Called(Called),
    /// Number that a shell command prints.
    Command(String),
}

impl Work {
    /// Returns the least length of a phase. A command that counts work takes milliseconds, and
    /// reads the count at an unknown moment.
    pub(crate) fn least_phase(&self) -> Nanos {
        match self {
            Work::Called(_) => Nanos::millis(20),
            Work::Command(_) => Nanos::seconds(1),
        }
    }
}

/// An order to preempt a service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServiceOrder {
    /// ID of the thread, which already runs on the CPU.
    pub id: ThreadId,
    /// Source of the count of work.
    pub work: Work,
    /// CPU of the thread and the preemptor.
    pub cpu: CpuId,
    /// CPUs for the command that counts work.
    pub other_cpus: Vec<CpuId>,
    /// Clock that the process reads.
    pub clock: Clock,
    /// Rate of the clock.
    pub rate: TickRate,
    /// Time that reading the clock adds to a chain of multiplications.
    pub overhead: Ticks,
    /// Periods, each with the length of a phase.
    pub timings: Vec<Timing>,
    /// Numbers of bytes that the preemptor touches, by footprint.
    pub footprints: Vec<Bytes>,
    /// Index of the footprint that is used to compare preemption with no preemption: at the first
    /// period, the preemptor spins for as long as touching it would take.
    pub against_idle: usize,
    /// Whether the preemptor spins in both arms, so that no difference is expected: a check of the
    /// instrument.
    pub touches_nothing: bool,
    /// Seed of the order of comparisons.
    pub seed: u64,
    /// End of the time, on CLOCK_MONOTONIC.
    pub until: Nanos,
}

/// A reply to the order for a service; each reply is one line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reply {
    /// Counts of four phases.
    Group(Box<Group>),
    /// The time of the order is over.
    Over,
    /// The service has ended by itself.
    Ended,
    /// The system refused the order.
    Refused(String),
}
