use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use switchcost_units::Bytes;

/// A cost in nanoseconds with its interval.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Cost {
    /// Centre of the interval, in nanoseconds.
    pub ns: f64,
    /// Lower end of the interval, in nanoseconds.
    pub low_ns: f64,
    /// Upper end of the interval, in nanoseconds.
    pub high_ns: f64,
}

/// Costs of a switch on this machine, by `measure`.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Calibration {
    /// Time of the measurement (RFC 3339).
    pub measured_at: String,
    /// Direct cost of a switch between processes when the task blocks.
    pub blocked: Option<Cost>,
    /// Cost of a switch at sched_yield, which blocks no task.
    pub yielded: Option<Cost>,
    /// Cost of a switch of a preemption by a timer interrupt: half of the whole preemption; `None` if it could not be measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preempted: Option<Cost>,
    /// Costs of reloading after a switch between tasks that each walk an array, smallest array
    /// first.
    pub reloads: Vec<Reload>,
    /// Time of a load by size of the memory, smallest first.
    pub loads: Vec<Load>,
}

/// Time of a load of one word of a line, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Load {
    /// Size of the memory.
    pub size_bytes: Bytes,
    /// Time of a dependent load in random order.
    pub chase_ns: f64,
    /// Time of a dependent load with empty caches, one word per line; `None` if caches could not be
    /// emptied, or cannot hold so much.
    pub emptied_ns: Option<f64>,
    /// Time of a dependent load with empty caches and one load per page, so that each load also
    /// needs a translation.
    pub emptied_by_page_ns: Option<f64>,
    /// Time of an independent load in order, at the fastest; `None` if not measured.
    pub in_order_ns: Option<f64>,
}

/// Cost of a switch to a task that walks an array, beyond the direct cost.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Reload {
    /// Size of the array.
    pub size_bytes: Bytes,
    /// Time of a walk without a switch before it, in nanoseconds.
    pub walk_ns: f64,
    /// Additional time of the walk after a switch, including the slower switch itself.
    pub cost: Cost,
}
