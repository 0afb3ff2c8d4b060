use schemars::JsonSchema;
use serde::Serialize;
use switchcost_units::Nanos;

use super::{Comparison, Difference};

/// One of two that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// What is compared with.
    Base,
    /// What is compared.
    New,
}

/// How one side was set up.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Arm {
    /// Commands before each of its runs; empty for none.
    pub setup: String,
    /// The command that each run is started with; empty for none.
    pub wrapper: String,
    /// Commands after each run; empty for none.
    pub undo: String,
}

/// Why runs in turns ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// A change of the size asked for would have been shown.
    Power,
    /// Time was up.
    Budget,
    /// A signal asked it to stop.
    Interrupted,
}

/// Two sides that were measured in turns, and what comparing them comes to.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct InTurns {
    /// The base.
    pub base: Arm,
    /// The new side.
    pub new: Arm,
    /// What each run measured, as flags of `measure`.
    pub flags: Vec<String>,
    /// The runs in their order.
    pub order: Vec<Side>,
    /// Seed of that order.
    pub seed: u64,
    /// Folder of the records, with a folder for each side.
    pub folder: String,
    /// Why no further runs followed.
    pub ended: Ended,
    /// Time that all of it took.
    pub elapsed_ns: Nanos,
    /// Time that it was given.
    pub budget_ns: Nanos,
    /// The change that was to be shown in each cost, as a share.
    pub detect: f64,
    /// How probable that was to be.
    pub power: f64,
    /// The smallest change that would have been shown in each cost with this probability; `None` if a cost has no interval.
    pub detectable: Option<f64>,
    /// What of the machine is not as it was before the first run.
    pub left: Vec<Difference>,
    /// What could not be undone, and why.
    pub complaints: Vec<String>,
    /// The comparison.
    pub comparison: Comparison,
}
