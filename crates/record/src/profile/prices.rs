//! Prices: costs of lost cache lines on a machine.

use crate::Cache;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use switchcost_units::Bytes;

use crate::profile::Kind;

/// Name and version of the format of prices.
pub const PRICES_SCHEMA: &str = "switchcost.prices/1";

/// Costs of a lost cache line on one machine, measured with arrays.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Prices {
    /// Name and version of this JSON format, [`PRICES_SCHEMA`].
    pub schema: String,
    /// Version of the program that measured the costs.
    pub program_version: String,
    /// Start of the measurement (RFC 3339, UTC).
    pub started_at: String,
    /// Name of the CPU model, if known.
    pub cpu_model: Option<String>,
    /// Caches of the measured CPU.
    pub caches: Vec<Cache>,
    /// Size of a cache line in bytes.
    pub line_bytes: Bytes,
    /// Cost of a lost line, for each kind of access, array size and footprint.
    pub lines: Vec<Price>,
    /// Additional time of the kernel's switch path after each footprint; empty if not measured.
    pub switch_path: Vec<SwitchPath>,
}

/// Cost of a lost line: the additional time per line of an array after another task touched a
/// footprint.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Price {
    /// Kind of access to the array.
    pub kind: Kind,
    /// Size of the array in bytes.
    pub own_bytes: Bytes,
    /// Footprint: number of bytes that another task touched before the array was accessed.
    pub away_bytes: Bytes,
    /// Cost per line in nanoseconds, as the median over arrays at different addresses.
    pub ns: f64,
    /// Lower end of the confidence interval in nanoseconds.
    pub low_ns: f64,
    /// Upper end of the confidence interval in nanoseconds.
    pub high_ns: f64,
    /// Number of arrays that were measured.
    pub n: usize,
}

/// Additional time of the kernel's switch path after another task touched a footprint, measured
/// with a loop that accesses no data.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct SwitchPath {
    /// Footprint: number of bytes that another task touches.
    pub away_bytes: Bytes,
    /// Additional time of the switch path in nanoseconds.
    pub ns: f64,
    /// Lower end of the confidence interval in nanoseconds.
    pub low_ns: f64,
    /// Upper end of the confidence interval in nanoseconds.
    pub high_ns: f64,
}

impl Prices {
    /// Returns prices with these costs and no facts about the machine.
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
