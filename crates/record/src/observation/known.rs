use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use switchcost_units::{Bytes, Nanos};

use crate::observation::Cost;

/// Costs of cold caches for a program, from a source other than the observation's counts.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct KnownReload {
    /// Kind of source from which the costs are known.
    pub by: KnownBy,
    /// Path of the file that contains the costs.
    pub file: String,
    /// Command or service that was measured; untrusted text that must be escaped before it is
    /// shown. Empty in older records.
    #[serde(default)]
    pub command: Vec<String>,
    /// Start of the run of `inject` (RFC 3339).
    #[serde(default)]
    pub measured_at: String,
    /// IDs of the observed processes that run the measured program.
    pub processes: Vec<u32>,
    /// Name of ended processes to which the costs also apply, or empty. Untrusted text that must be
    /// escaped before it is shown.
    pub name: String,
    /// Costs of a switch, by the number of bytes that other tasks touched and by the time that the
    /// program ran afterwards, smallest first.
    pub points: Vec<KnownPoint>,
    /// Cost of a preemption by a task that touches no memory, including the timer interrupt; `None`
    /// if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preemption: Option<Cost>,
}

/// Kind of source of a known cost of cold caches.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    JsonSchema,
    Serialize,
    Deserialize,
    strum::Display,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum KnownBy {
    /// Comparison of matched intervals in this observation (docs/method/matched-intervals.md).
    #[strum(serialize = "matched intervals")]
    Matched,
    /// A run of `inject` with the same program.
    Inject,
}

/// Cost of reloading caches after one switch, under some conditions.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct KnownPoint {
    /// Number of bytes that other tasks touched while the program was off the CPU.
    pub away_bytes: Bytes,
    /// Time for which other tasks had the CPU while the program was off it, in nanoseconds; `None`
    /// in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub away_ns: Option<Nanos>,
    /// Time for which the program ran after the switch, until the next one, in nanoseconds.
    pub ran_ns: Nanos,
    /// Cost of reloading caches after the switch.
    pub cost: Cost,
}

impl KnownReload {
    /// Whether the costs apply to the process with this ID, or to ended processes of this name if
    /// `process` is `None`.
    pub fn is_of(&self, process: Option<u32>, name: &str) -> bool {
        process.map_or_else(
            || self.name == name,
            |process| self.processes.contains(&process),
        )
    }
}
