use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use switchcost_units::{Bytes, Nanos};

use crate::observation::Cost;

/// Cost of cold caches for a program, as known from a source other than the observation's counts.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct KnownReload {
    /// Source from which the cost is known.
    pub by: KnownBy,
    /// File from which the cost was read.
    pub file: String,
    /// Command or service that was measured; hostile text until escaped. Empty in older records.
    #[serde(default)]
    pub command: Vec<String>,
    /// Start of the `inject` run (RFC 3339).
    #[serde(default)]
    pub measured_at: String,
    /// IDs of the observed processes that run this program.
    pub processes: Vec<u32>,
    /// Name of ended processes to which the cost applies, as the kernel stores it, or empty;
    /// hostile text until escaped.
    pub name: String,
    /// Costs of a switch by the bytes that other tasks touched and by the time that the program
    /// then ran, smallest first.
    pub points: Vec<KnownPoint>,
    /// Cost of a preemption by a task that touches nothing, including the timer's interrupt; `None`
    /// if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preemption: Option<Cost>,
}

/// Source of a known cost of cold caches.
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
    /// Comparison of matched intervals of this observation.
    #[strum(serialize = "matched intervals")]
    Matched,
    /// A run of `inject` with this program.
    Inject,
    /// A profile of the program: only in older records, and no longer used.
    Profile,
}

/// Cost of reloading after one switch.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct KnownPoint {
    /// Number of bytes that other tasks touched while the program was off the CPU.
    pub away_bytes: Bytes,
    /// Time for which other tasks had the CPU; `None` in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub away_ns: Option<Nanos>,
    /// Time that the program ran until its next switch.
    pub ran_ns: Nanos,
    /// Cost of reloading after the switch.
    pub cost: Cost,
}

impl KnownReload {
    /// Whether the cost applies to this process, or to ended processes of this name.
    pub fn is_of(&self, process: Option<u32>, name: &str) -> bool {
        process.map_or_else(
            || self.name == name,
            |process| self.processes.contains(&process),
        )
    }
}
