//! What the program and the process of one run say to each other: JSON, one value a line.

use std::ffi::OsString;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use switchcost_host::clock::Clock;
use switchcost_host::live::ThreadId;
use switchcost_host::perf::Called;
use switchcost_record::injection::{Group, Timing, TwinRun};
use switchcost_units::{Bytes, CpuId, Nanos, TickRate, Ticks};

/// What a process is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Request {
    /// One run.
    Twins(Box<Order>),
    /// A service, to the end.
    Service(ServiceOrder),
}

/// One run of two copies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// The command.
    pub words: Vec<OsString>,
    /// Variables to be set for it.
    pub settings: Vec<(String, String)>,
    /// A file that it reads as its standard input, from a place on; else there is nothing to read.
    pub input: Option<(PathBuf, u64)>,
    /// Where each of the two writes.
    pub places: [Place; 2],
    /// The CPU.
    pub cpu: CpuId,
    /// The clock to read.
    pub clock: Clock,
    /// Its rate.
    pub rate: TickRate,
    /// What reading it adds to a chain.
    pub overhead: Ticks,
    /// How long a twin runs until it is preempted.
    pub period: Nanos,
    /// How long until it is the other's turn.
    pub turn: Nanos,
    /// What the preemptor touches.
    pub footprint: Bytes,
    /// Which twin is preempted.
    pub preempted: u8,
    /// Where it is moved then, and back the next time; it stays where it is without.
    pub moves_to: Option<CpuId>,
    /// Whether neither is.
    pub preempts_nobody: bool,
    /// About what a preemption costs: the turns of who loses it are so much longer, so that both have equally many.
    pub lost: Nanos,
    /// When it has to end, on CLOCK_MONOTONIC.
    pub latest: Nanos,
}

/// Where a twin writes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Its own folder for temporary files.
    pub temporary: PathBuf,
    /// The file for its standard output; nowhere without.
    pub output: Option<PathBuf>,
    /// The file for its standard error; nowhere without.
    pub errors: Option<PathBuf>,
    /// Its control group; signals stop it without.
    pub group: Option<PathBuf>,
    /// A folder for the changes to its own working directory; without, it is shared.
    pub layer: Option<PathBuf>,
}

/// What a twin used, and how it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// What it used.
    pub run: TwinRun,
    /// How it ended, as wait(2) reports it.
    pub status: i32,
}

/// What comes back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// Both have ended.
    Ended([Outcome; 2]),
    /// They have not within their time.
    TooLong,
    /// One has left processes behind that go on.
    LeftBehind,
    /// One has processes that are not in its process group.
    LeavesGroup,
    /// It could not be run.
    Refused(String),
}

/// What is counted as its work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Work {
    /// Calls of the thread.
    Called(Called),
    /// What a shell command prints.
    Command(String),
}

impl Work {
    /// How long a phase has to be at least: a command takes milliseconds, at a moment that is not known.
    pub(crate) fn least_phase(&self) -> Nanos {
        match self {
            Work::Called(_) => Nanos::millis(20),
            Work::Command(_) => Nanos::seconds(1),
        }
    }
}

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
    /// For how long as touching this one takes the preemptor spins if that is compared with not preempting, at the first period.
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
