//! Messages between the program and the process of one run: JSON, one value per line.

use std::ffi::OsString;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use switchcost_host::clock::Clock;
use switchcost_host::live::ThreadId;
use switchcost_host::perf::Called;
use switchcost_record::injection::{Group, Timing, TwinRun};
use switchcost_units::{Bytes, CpuId, Nanos, TickRate, Ticks};

/// A request to a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Request {
    /// An order for one run of two copies.
    Twins(Box<Order>),
    /// An order to preempt a service until the time is over.
    Service(ServiceOrder),
}

/// An order for one run of two copies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// The command, with arguments.
    pub words: Vec<OsString>,
    /// Variables to be set for the command.
    pub settings: Vec<(String, String)>,
    /// File for the command's standard input, and the offset to read from; without it the input is empty.
    pub input: Option<(PathBuf, u64)>,
    /// Outputs and folders of both copies.
    pub places: [Place; 2],
    /// The CPU on which both copies run.
    pub cpu: CpuId,
    /// The clock to read.
    pub clock: Clock,
    /// Rate of the clock.
    pub rate: TickRate,
    /// Time that reading the clock adds to a chain of multiplications.
    pub overhead: Ticks,
    /// Time that a copy runs until it is preempted.
    pub period: Nanos,
    /// Length of a copy's time slice.
    pub turn: Nanos,
    /// Bytes that the preemptor touches.
    pub footprint: Bytes,
    /// The preempted copy, 0 or 1.
    pub preempted: u8,
    /// CPU to which the preempted copy is moved at each second preemption; without it, the copy is not moved.
    pub moves_to: Option<CpuId>,
    /// Whether neither copy is preempted.
    pub preempts_nobody: bool,
    /// Estimated cost of a preemption. The time slices of the preempted copy are longer by this cost, so that both copies need equally
    /// many.
    pub lost: Nanos,
    /// Deadline of the run, on CLOCK_MONOTONIC.
    pub latest: Nanos,
}

/// Outputs and folders of a copy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The copy's own folder for temporary files.
    pub temporary: PathBuf,
    /// File for standard output; discarded if absent.
    pub output: Option<PathBuf>,
    /// File for standard error; discarded if absent.
    pub errors: Option<PathBuf>,
    /// Control group of the copy; signals stop it if absent.
    pub group: Option<PathBuf>,
    /// Folder for the changes to the copy's own working directory; the directory is shared if absent.
    pub layer: Option<PathBuf>,
}

/// Resources that a copy used, and its exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// Resources that the copy used.
    pub run: TwinRun,
    /// Exit status, as from wait(2).
    pub status: i32,
}

/// An answer to an order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// Both copies have ended.
    Ended([Outcome; 2]),
    /// The copies have not ended in time.
    TooLong,
    /// A copy has left processes behind.
    LeftBehind,
    /// A copy has processes outside its process group.
    LeavesGroup,
    /// The run could not be made.
    Refused(String),
}

/// Source of the count of the service's work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Work {
    /// Calls of a system call or function by the thread.
    Called(Called),
    /// The number that a shell command prints.
    Command(String),
}

impl Work {
    /// The least length of a phase. A command that counts work takes milliseconds, at an unknown moment.
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
    /// The thread, which is already on the CPU.
    pub id: ThreadId,
    /// Source of the count of work.
    pub work: Work,
    /// The CPU of the thread and the preemptor.
    pub cpu: CpuId,
    /// CPUs for the command that counts.
    pub other_cpus: Vec<CpuId>,
    /// The clock to read.
    pub clock: Clock,
    /// Rate of the clock.
    pub rate: TickRate,
    /// Time that reading the clock adds to a chain of multiplications.
    pub overhead: Ticks,
    /// Periods, and lengths of phases.
    pub timings: Vec<Timing>,
    /// Bytes that the preemptor touches, by footprint.
    pub footprints: Vec<Bytes>,
    /// Index of the footprint for whose duration the preemptor spins when compared with no preemption, at the first period.
    pub against_idle: usize,
    /// Whether the preemptor spins in both arms, as a check of the instrument.
    pub touches_nothing: bool,
    /// Seed of the order of comparisons.
    pub seed: u64,
    /// End of the time, on CLOCK_MONOTONIC.
    pub until: Nanos,
}

/// A reply to an order, one per line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reply {
    /// Four phases.
    Group(Box<Group>),
    /// The time is over.
    Over,
    /// The service has ended by itself.
    Ended,
    /// The order could not be carried out.
    Refused(String),
}
