use schemars::JsonSchema;
use serde::Serialize;
use switchcost_units::Nanos;

use super::{Comparison, Difference};

/// One of the two compared sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// The side compared with.
    Base,
    /// The side under test.
    New,
}

/// Set-up of one of the two sides.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Arm {
    /// Commands before each run of the side; empty if there are none.
    pub setup: String,
    /// Command that starts each run; empty if there is none.
    pub wrapper: String,
    /// Commands after each run; empty if there are none.
    pub undo: String,
}

/// Why alternating runs ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// A change of the requested size would have been detected.
    Power,
    /// The budget was used up.
    Budget,
    /// A signal stopped the runs.
    Interrupted,
}

/// A comparison of two sides that were measured in interleaved runs.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct InTurns {
    /// Set-up of the base side.
    pub base: Arm,
    /// Set-up of the new side.
    pub new: Arm,
    /// Flags passed to `measure` in each run.
    pub flags: Vec<String>,
    /// Side of each run, in order.
    pub order: Vec<Side>,
    /// Random seed of the order of runs.
    pub seed: u64,
    /// Folder of the records, with a folder for each side.
    pub folder: String,
    /// Why no further runs followed.
    pub ended: Ended,
    /// Time that all runs took.
    pub elapsed_ns: Nanos,
    /// Time budget of all runs.
    pub budget_ns: Nanos,
    /// Change to be detected in each cost, as a share.
    pub detect: f64,
    /// Power with which the change is to be detected.
    pub power: f64,
    /// Smallest change that would have been shown in each cost with this power; `None` if a cost has no interval.
    pub detectable: Option<f64>,
    /// Facts of the machine that differ after the last run from those before the first.
    pub left: Vec<Difference>,
    /// Settings that could not be undone, with the reason.
    pub complaints: Vec<String>,
    /// Comparison of both sides.
    pub comparison: Comparison,
}
