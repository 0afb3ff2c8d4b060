//! Prices of lost lines on a machine.

use crate::Cache;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use switchcost_units::Bytes;

use crate::profile::Kind;

/// Name and version of a file of prices.
pub const PRICES_SCHEMA: &str = "switchcost.prices/1";

/// Costs of a lost line on one machine, measured with arrays.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Prices {
    /// Name and version of this JSON format.
    pub schema: String,
    /// Version of the program that measured.
    pub program_version: String,
    /// Start of the measurement (RFC 3339, UTC).
    pub started_at: String,
    /// Model of the processor, if known.
    pub cpu_model: Option<String>,
    /// Caches of the measured processor.
    pub caches: Vec<Cache>,
    /// Size of a cache line.
    pub line_bytes: Bytes,
    /// Price of a line, for each kind, size and footprint.
    pub lines: Vec<Price>,
    /// Additional time of the kernel's switch path after each footprint; empty if it was not
    /// measured.
    pub switch_path: Vec<SwitchPath>,
}

/// Additional time of a line of an array right after a footprint was touched.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Price {
    /// Kind of walk over the array.
    pub kind: Kind,
    /// Size of the array, which is touched between two uses of a line.
    pub own_bytes: Bytes,
    /// Bytes that another task touched before.
    pub away_bytes: Bytes,
    /// Price of one line in nanoseconds, as the median over arrays at different places.
    pub ns: f64,
    /// Lower end of the interval, in nanoseconds.
    pub low_ns: f64,
    /// Upper end of the interval, in nanoseconds.
    pub high_ns: f64,
    /// Number of arrays measured.
    pub n: usize,
}

/// Additional time of the kernel's switch path after a footprint was touched, measured on a loop without data.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct SwitchPath {
    /// Bytes that the other task touches.
    pub away_bytes: Bytes,
    /// Additional time of the switch path, in nanoseconds.
    pub ns: f64,
    /// Lower end of the interval, in nanoseconds.
    pub low_ns: f64,
    /// Upper end of the interval, in nanoseconds.
    pub high_ns: f64,
}

impl Prices {
    /// Creates the prices of an otherwise unknown machine.
    pub fn new(lines: Vec<Price>) -> Prices {
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
