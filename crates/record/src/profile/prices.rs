//! What a machine asks for a line that was lost.

use crate::Cache;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use switchcost_units::Bytes;

use crate::profile::Kind;

/// Name and version of a file of prices.
pub const PRICES_SCHEMA: &str = "switchcost.prices/1";

/// Prices of one machine, from arrays alone.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Prices {
    /// Name and version of this form.
    pub schema: String,
    /// Version of the program that measured.
    pub program_version: String,
    /// RFC 3339, UTC.
    pub started_at: String,
    /// The model of the processor, if it is known.
    pub cpu_model: Option<String>,
    /// Its caches.
    pub caches: Vec<Cache>,
    /// Size of a line.
    pub line_bytes: Bytes,
    /// Of each kind, size and footprint.
    pub lines: Vec<Price>,
    /// What the kernel's own way through a switch takes longer after each footprint; empty if it was not measured.
    pub switch_path: Vec<SwitchPath>,
}

/// What a line of an array costs more right after a footprint than without.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Price {
    /// How the array is walked.
    pub kind: Kind,
    /// Its size: what comes between two uses of a line.
    pub own_bytes: Bytes,
    /// What another has touched before.
    pub away_bytes: Bytes,
    /// For each line, in nanoseconds: the median over arrays at other places.
    pub ns: f64,
    /// Lower end of its interval.
    pub low_ns: f64,
    /// Upper end of its interval.
    pub high_ns: f64,
    /// Arrays.
    pub n: usize,
}

/// What the kernel's own way through a switch takes longer after a footprint: of a loop without data.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct SwitchPath {
    /// What the other task touches.
    pub away_bytes: Bytes,
    /// In nanoseconds.
    pub ns: f64,
    /// Lower end of its interval.
    pub low_ns: f64,
    /// Upper end of its interval.
    pub high_ns: f64,
}

impl Prices {
    /// Of a machine of which nothing else is known.
    pub fn of(lines: Vec<Price>) -> Prices {
        Prices {
            schema: PRICES_SCHEMA.to_owned(),
            program_version: String::new(),
            started_at: String::new(),
            cpu_model: None,
            caches: Vec::new(),
            line_bytes: Bytes(64),
            lines,
            switch_path: Vec::new(),
        }
    }
}
