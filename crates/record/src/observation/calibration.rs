use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use switchcost_units::Bytes;

/// A cost in nanoseconds with its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Cost {
    /// Estimate of the cost in nanoseconds.
    pub ns: f64,
    /// Lower end of the confidence interval in nanoseconds.
    pub low_ns: f64,
    /// Upper end of the confidence interval in nanoseconds.
    pub high_ns: f64,
}

/// Costs of a switch on this machine, as measured by `measure`.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Calibration {
    /// Start of the measurement (RFC 3339).
    pub measured_at: String,
    /// Direct cost of a switch between processes at which a task blocks; `None` if not measured.
    pub blocked: Option<Cost>,
    /// Direct cost of a switch between processes at sched_yield, at which no task blocks; `None` if
    /// not measured.
    pub yielded: Option<Cost>,
    /// Cost of one switch of a preemption by a timer interrupt, which is half of the cost of the
    /// whole preemption; `None` if not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preempted: Option<Cost>,
    /// Costs of reloading an array after a switch between tasks that each access one, smallest
    /// array first.
    pub reloads: Vec<Reload>,
    /// Times of a load by size of the memory, smallest first.
    pub loads: Vec<Load>,
}

/// Times of loads from memory of one size.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Load {
    /// Size of the memory in bytes.
    pub size_bytes: Bytes,
    /// Time of a dependent load in random order, in nanoseconds.
    pub chase_ns: f64,
    /// Time of a dependent load from empty caches in nanoseconds, with one load per line; `None` if
    /// the caches could not be emptied, or are smaller than the memory.
    pub emptied_ns: Option<f64>,
    /// Time of a dependent load from empty caches in nanoseconds, with one load per page, so that
    /// each load also needs a TLB entry.
    pub emptied_by_page_ns: Option<f64>,
    /// Time of an independent load in ascending order in nanoseconds: the shortest of several
    /// walks; `None` if not measured.
    pub in_order_ns: Option<f64>,
}

/// Cost of reloading an array after a switch, in addition to the direct cost of the switch.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Reload {
    /// Size of the array in bytes.
    pub size_bytes: Bytes,
    /// Time of a walk over the array without a switch before the walk, in nanoseconds.
    pub walk_ns: f64,
    /// Additional time of the walk after a switch, including the additional time of the switch
    /// itself.
    pub cost: Cost,
}
