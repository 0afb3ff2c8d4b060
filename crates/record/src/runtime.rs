use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{Display, EnumIter, EnumString};
use switchcost_units::Nanos;

/// How a language runtime chooses the task that runs next.
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
    /// The running task names the next one; no scheduler chooses.
    Swap,
    /// A scheduler chooses among several tasks, of which the woken task is one.
    HandOff,
}

/// A language runtime, and one kind of hand-off between its tasks.
#[derive(Clone, Debug, PartialEq, Eq, Hash, JsonSchema, Serialize, Deserialize)]
pub struct RuntimeCase {
    /// Short name of the runtime, such as `go`.
    pub runtime: String,
    /// Short name of the kind of hand-off, such as `channel`.
    pub handoff: String,
    /// How the runtime chooses the task that runs next.
    pub class: Class,
}

/// Facts about a language runtime whose tasks were measured.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct RuntimeFacts {
    /// Short name of the runtime, as in cases.
    pub name: String,
    /// Version of the runtime, as the runtime reports it.
    pub version: String,
    /// Path of the program that ran the tasks.
    pub program: String,
    /// Kinds of hand-off that the runtime has.
    pub handoffs: Vec<HandoffFacts>,
}

/// Description of one kind of hand-off of a runtime.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct HandoffFacts {
    /// Short name of the kind of hand-off, as in cases.
    pub name: String,
    /// Phrase for the hand-off in reports, such as `goroutine hand-off over a channel`.
    pub words: String,
    /// Phrase for what a task does in the baseline.
    pub baseline: String,
}

/// Facts that a runtime's program reports about one repetition, besides the times.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct RuntimeRun {
    /// Index of the case in the plan.
    pub case: u32,
    /// Number of the repetition of the case.
    pub repetition: u32,
    /// Version of the runtime, as its program reports it.
    pub version: String,
    /// Time from the program's start until it was ready, in nanoseconds.
    pub start_ns: Nanos,
    /// Windows of the warm-up, which do not count for any estimate. The windows show how a
    /// just-in-time compiler makes the program faster.
    pub warm_up: Vec<WarmUp>,
    /// Number of garbage collections in the measured windows; `None` if the runtime does not count
    /// them.
    pub collections: Option<u64>,
}

/// One window of the switching arm during the warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct WarmUp {
    /// Start of the window in nanoseconds since the program was ready.
    pub at_ns: Nanos,
    /// Length of the window in nanoseconds.
    pub wall_ns: Nanos,
    /// Number of hand-offs in the window.
    pub handoffs: u64,
}
