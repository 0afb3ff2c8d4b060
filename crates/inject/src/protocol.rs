//! Messages between this program and the process that carries out one run: JSON, one value per
//! line.

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
    /// File for the command's standard input, with the offset at which reading begins; `None` for
    /// an empty input.
    pub input: Option<(PathBuf, u64)>,
    /// Files and folders of each copy.
    pub places: [Place; 2],
    /// CPU on which both copies run.
    pub cpu: CpuId,
    /// Clock that the process reads.
    pub clock: Clock,
    /// Rate of the clock in ticks per second.
    pub rate: TickRate,
    /// Time that reading the clock adds to a chain of multiplications.
    pub overhead: Ticks,
    /// Time for which a copy runs before each preemption.
    pub period: Nanos,
    /// Length of a copy's time slice.
    pub turn: Nanos,
    /// Number of bytes that the preemptor touches at each preemption.
    pub footprint: Bytes,
    /// Number of the copy that is preempted, 0 or 1.
    pub preempted: u8,
    /// CPU to which the preempted copy moves at every second preemption; `None` if it is not moved.
    pub moves_to: Option<CpuId>,
    /// Whether neither copy is preempted.
    pub preempts_nobody: bool,
    /// Estimated cost of one preemption. The time slices of the preempted copy are longer by this
    /// cost, so that both copies need the same number of time slices.
    pub lost: Nanos,
    /// Time at which the run must end, on CLOCK_MONOTONIC.
    pub latest: Nanos,
}

/// Files and folders of one copy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Folder of the copy for temporary files.
    pub temporary: PathBuf,
    /// File for standard output; `None` if it is discarded.
    pub output: Option<PathBuf>,
    /// File for standard error; `None` if it is discarded.
    pub errors: Option<PathBuf>,
    /// Control group by which the copy is frozen; `None` if signals stop it.
    pub group: Option<PathBuf>,
    /// Folder for the changes to the copy's private working directory; `None` if both copies use
    /// the same directory.
    pub layer: Option<PathBuf>,
}

/// Resources that a copy used, and its exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// Resources that the copy used in the run.
    pub run: TwinRun,
    /// Wait status of the copy, as from wait(2).
    pub status: i32,
}

/// An answer of the process to an order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// Both copies of the command have ended.
    Ended([Outcome; 2]),
    /// The copies had not ended by the latest time.
    TooLong,
    /// A copy ended while processes that it has started still ran.
    LeftBehind,
    /// A copy has started processes outside its process group.
    LeavesGroup,
    /// The operating system refused the run.
    Refused(String),
}

/// Method of counting the work of a service.
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
    /// Identity of the service's thread, which has already been placed on the CPU.
    pub id: ThreadId,
    /// Method of counting the work of the service.
    pub work: Work,
    /// CPU on which the thread and the preemptor run.
    pub cpu: CpuId,
    /// CPUs for the command that counts work.
    pub other_cpus: Vec<CpuId>,
    /// Clock that the process reads.
    pub clock: Clock,
    /// Rate of the clock in ticks per second.
    pub rate: TickRate,
    /// Time that reading the clock adds to a chain of multiplications.
    pub overhead: Ticks,
    /// Periods of preemption, each with the length of a phase.
    pub timings: Vec<Timing>,
    /// Sizes of the footprints, in bytes, that the preemptor touches.
    pub footprints: Vec<Bytes>,
    /// Index of the footprint for the comparison of preemption with no preemption. The preemptor
    /// then spins, at the first period, for the time that touching the footprint takes.
    pub against_idle: usize,
    /// Whether the preemptor spins in both arms, so that no difference is expected. Such a
    /// measurement checks the instrument.
    pub touches_nothing: bool,
    /// Seed of the order of comparisons.
    pub seed: u64,
    /// Time at which the preemption ends, on CLOCK_MONOTONIC.
    pub until: Nanos,
}

/// An answer to the order to preempt a service, one line each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reply {
    /// Counts of a group of four phases.
    Group(Box<Group>),
    /// The requested time is over.
    Over,
    /// The service has ended.
    Ended,
    /// The operating system refused the order.
    Refused(String),
}
