//! What the program and the process of one run say to each other: JSON, one value a line.

use std::ffi::OsString;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use switchcost_host::clock::Clock;
use switchcost_injection::TwinRun;
use switchcost_units::{Bytes, CpuId, Nanos, TickRate, Ticks};

use crate::service::ServiceOrder;

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
