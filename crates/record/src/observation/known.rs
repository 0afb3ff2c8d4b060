use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use switchcost_units::{Bytes, Nanos};

use crate::observation::Cost;

/// Cost of cold caches for a program, as known from another source.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct KnownReload {
    /// Source of the knowledge.
    pub by: KnownBy,
    /// File of the source.
    pub file: String,
    /// Command or service that was measured; hostile text until escaped. Empty in older records.
    #[serde(default)]
    pub command: Vec<String>,
    /// Start of `inject` (RFC 3339).
    #[serde(default)]
    pub measured_at: String,
    /// Observed processes that run this program.
    pub processes: Vec<u32>,
    /// Name of the processes that have ended, as the kernel keeps it, or empty; hostile text until escaped.
    pub name: String,
    /// Costs of a switch by what other tasks touched and by how long the program then ran, in this order, smallest first.
    pub points: Vec<KnownPoint>,
    /// Cost of a preemption by a task that touches nothing, with the timer's interrupt; `None` if not known.
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
    /// Matched intervals of this observation.
    #[strum(serialize = "matched intervals")]
    Matched,
    /// `inject` measured it on this program.
    Inject,
    /// A profile, in older records: it is not used any more.
    Profile,
}

/// Cost of reloading after one switch.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct KnownPoint {
    /// Bytes that other tasks touched during the absence.
    pub away_bytes: Bytes,
    /// Time for which other tasks had the CPU; `None` in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub away_ns: Option<Nanos>,
    /// Time that the program ran until its next switch.
    pub ran_ns: Nanos,
    /// The cost of reloading.
    pub cost: Cost,
}

impl KnownReload {
    /// Whether the knowledge applies to this process, or to ended processes of this name.
    pub fn is_of(&self, process: Option<u32>, name: &str) -> bool {
        process.map_or_else(
            || self.name == name,
            |process| self.processes.contains(&process),
        )
    }
}
