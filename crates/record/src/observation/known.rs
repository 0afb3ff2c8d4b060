use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use switchcost_units::{Bytes, Nanos};

use crate::observation::Cost;

/// What is known from elsewhere of what cold caches cost a program.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct KnownReload {
    /// How it is known.
    pub by: KnownBy,
    /// In which file.
    pub file: String,
    /// Of which command, or service; hostile text until escaped. Empty in older records.
    #[serde(default)]
    pub command: Vec<String>,
    /// When `inject` began, RFC 3339; empty of a profile.
    #[serde(default)]
    pub measured_at: String,
    /// The processes that run this program.
    pub processes: Vec<u32>,
    /// The name of those that have ended, as the kernel keeps it, or nothing; hostile text until escaped.
    pub name: String,
    /// What a switch costs, by what others touched meanwhile and by how long the program then ran; in this order, smallest first.
    pub points: Vec<KnownPoint>,
    /// What a preemption costs it whose preemptor touches nothing, with the timer's interrupt; none if that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preemption: Option<Cost>,
    /// How many lines it uses at most until it is switched from, by how long that takes, shortest first; empty if that is not known.
    pub most_lines: Vec<KnownLines>,
}

/// As many lines as a program uses in nine of ten stretches of some time.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct KnownLines {
    /// The time, as the fastest core would take for it.
    pub ran_ns: Nanos,
    /// Lines of the caches.
    pub lines: f64,
}

/// How it is known what cold caches cost a program.
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
    /// `inject` has measured it on this program.
    Inject,
    /// The profile of a trace of this program, at the prices of this machine.
    Profile,
}

/// What bringing back costs after one switch.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct KnownPoint {
    /// What others touched meanwhile.
    pub away_bytes: Bytes,
    /// How long others had the CPU for it; none of a profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub away_ns: Option<Nanos>,
    /// How long the program ran until it was switched from again.
    pub ran_ns: Nanos,
    /// What it cost.
    pub cost: Cost,
}

impl KnownReload {
    /// Whether it is of these tasks.
    pub fn is_of(&self, process: Option<u32>, name: &str) -> bool {
        process.map_or_else(
            || self.name == name,
            |process| self.processes.contains(&process),
        )
    }
}
