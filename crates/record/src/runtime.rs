use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{Display, EnumIter, EnumString};
use switchcost_units::Nanos;

/// Whom the control goes to.
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
    /// To the one that is named: no scheduler chooses.
    Swap,
    /// To whom a scheduler chooses, the task that was woken among others.
    HandOff,
}

/// How the tasks of a language's runtime hand on their token.
#[derive(Clone, Debug, PartialEq, Eq, Hash, JsonSchema, Serialize, Deserialize)]
pub struct RuntimeCase {
    /// The runtime, such as `go`.
    pub runtime: String,
    /// The hand-off, such as `channel`.
    pub handoff: String,
    /// Whom the control goes to.
    pub class: Class,
}

/// A runtime whose tasks were measured.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct RuntimeFacts {
    /// Its short name, as cases have it.
    pub name: String,
    /// What it says of its version.
    pub version: String,
    /// The program that was started.
    pub program: String,
    /// How its tasks hand on the token, in words.
    pub handoffs: Vec<HandoffFacts>,
}

/// A hand-off in words.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct HandoffFacts {
    /// Its short name, as cases have it.
    pub name: String,
    /// What is handed over between what, such as `goroutine hand-off over a channel`.
    pub words: String,
    /// What the same task does in the baseline.
    pub baseline: String,
}

/// What a runtime itself reported of one repetition, beside the times.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct RuntimeRun {
    /// Index into the plan's cases.
    pub case: u32,
    /// Which repetition.
    pub repetition: u32,
    /// What the program said of its own version.
    pub version: String,
    /// From its start until it was ready.
    pub start_ns: Nanos,
    /// The windows before those that count: how a just-in-time compiler warms up.
    pub warm_up: Vec<WarmUp>,
    /// Garbage collections in the windows that count; `None` if the runtime does not count them.
    pub collections: Option<u64>,
}

/// A window of the switching arm before those that count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct WarmUp {
    /// When it began, since the program was ready.
    pub at_ns: Nanos,
    /// Its length.
    pub wall_ns: Nanos,
    /// Hand-offs in it.
    pub handoffs: u64,
}
