use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{Display, EnumIter, EnumString};
use switchcost_units::Nanos;

/// Way in which a runtime chooses the task that gets control next.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Hash,
    JsonSchema,
    Serialize,
    Deserialize,
    Display,
    EnumString,
    EnumIter,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Class {
    /// Control goes to a named task; no scheduler chooses.
    Swap,
    /// A scheduler chooses among several tasks; the woken task is one of them.
    HandOff,
}

/// A runtime and the way in which its tasks hand on their token.
#[derive(Clone, Debug, PartialEq, Eq, Hash, JsonSchema, Serialize, Deserialize)]
pub struct RuntimeCase {
    /// Name of the runtime, such as `go`.
    pub runtime: String,
    /// Name of the hand-off, such as `channel`.
    pub handoff: String,
    /// Way of choosing the next task.
    pub class: Class,
}

/// A runtime whose tasks were measured.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct RuntimeFacts {
    /// Short name of the runtime, as in cases.
    pub name: String,
    /// Version as the runtime reports it.
    pub version: String,
    /// The program that was started.
    pub program: String,
    /// Hand-offs of the runtime, in words.
    pub handoffs: Vec<HandoffFacts>,
}

/// A hand-off of a runtime, in words.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct HandoffFacts {
    /// Short name of the hand-off, as in cases.
    pub name: String,
    /// Name of the hand-off in words, such as `goroutine hand-off over a channel`.
    pub words: String,
    /// Action of a task in the baseline, in words.
    pub baseline: String,
}

/// Report of a runtime on one repetition, besides the times.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct RuntimeRun {
    /// Index of the case in the plan.
    pub case: u32,
    /// Number of this repetition of the case.
    pub repetition: u32,
    /// Version as the program reports it.
    pub version: String,
    /// Time from the program's start until it was ready.
    pub start_ns: Nanos,
    /// Windows of the warm-up, which enter no estimate; they show how a just-in-time compiler gets
    /// faster.
    pub warm_up: Vec<WarmUp>,
    /// Garbage collections in the measured windows; `None` if the runtime does not count them.
    pub collections: Option<u64>,
}

/// A window of the switching arm during the runtime's warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct WarmUp {
    /// Start of the window, since the program was ready.
    pub at_ns: Nanos,
    /// Length of the window.
    pub wall_ns: Nanos,
    /// Number of hand-offs in the window.
    pub handoffs: u64,
}
