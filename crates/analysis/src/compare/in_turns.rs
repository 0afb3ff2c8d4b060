use schemars::JsonSchema;
use serde::Serialize;
use switchcost_units::Nanos;

use super::{Comparison, Difference};

/// Base side or new side of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// The side that is compared with.
    Base,
    /// The side that is tested against the base side.
    New,
}

/// Commands that set up one side, and start its runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Arm {
    /// Shell commands before each run of the side; empty if there are none.
    pub setup: String,
    /// Command that starts `measure` in each run; empty if there is none.
    pub wrapper: String,
    /// Shell commands after each run of the side; empty if there are none.
    pub undo: String,
}

/// Reason why the series of interleaved runs ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// Enough runs were made: a change of the requested size would have been detected.
    Power,
    /// The time budget was used up.
    Budget,
    /// A signal stopped the series.
    Interrupted,
}

/// Result of a comparison of two set-ups by interleaved runs of `measure`.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct InTurns {
    /// Commands that set up the base side and start its runs.
    pub base: Arm,
    /// Commands that set up the new side and start its runs.
    pub new: Arm,
    /// Flags of `measure` in each run.
    pub flags: Vec<String>,
    /// The side of each run, in order.
    pub order: Vec<Side>,
    /// Seed of the random order of runs.
    pub seed: u64,
    /// Path of the folder with the records, which has a folder for each side.
    pub folder: String,
    /// Reason why the series of runs ended.
    pub ended: Ended,
    /// Duration of all runs together in nanoseconds.
    pub elapsed_ns: Nanos,
    /// Time budget for all runs together in nanoseconds.
    pub budget_ns: Nanos,
    /// Change that is to be detected in each cost, as a share.
    pub detect: f64,
    /// Probability with which such a change is to be detected, from 0 to 1.
    pub power: f64,
    /// Smallest change that would have been detected in each cost with this probability, as a
    /// share; `None` if a cost has no interval.
    pub detectable: Option<f64>,
    /// Facts about the machine that differ between before the first and after the last run.
    pub left: Vec<Difference>,
    /// Texts about settings that could not be undone, with the reasons.
    pub complaints: Vec<String>,
    /// Comparison of the records of both sides.
    pub comparison: Comparison,
}
