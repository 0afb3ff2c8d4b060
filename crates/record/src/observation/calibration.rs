use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use switchcost_units::Bytes;

/// A cost in nanoseconds with its interval.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Cost {
    /// The centre.
    pub ns: f64,
    /// Lower end.
    pub low_ns: f64,
    /// Upper end.
    pub high_ns: f64,
}

/// What a switch costs on this machine, as `measure` found it.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Calibration {
    /// When it was measured, RFC 3339.
    pub measured_at: String,
    /// A switch to a task that blocks, between processes: the direct cost.
    pub blocked: Option<Cost>,
    /// A switch at sched_yield, which blocks no task.
    pub yielded: Option<Cost>,
    /// A switch of a preemption by a timer interrupt, with half of all that comes with it; none if it could not
    /// be measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preempted: Option<Cost>,
    /// The reload after a switch between tasks that each walk an array in between; smallest array first.
    pub reloads: Vec<Reload>,
    /// What loads take, by size of the memory, smallest first.
    pub loads: Vec<Load>,
}

/// What a load of one word of a line takes, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Load {
    /// Size of the memory.
    pub size_bytes: Bytes,
    /// In random order, each depending on the one before.
    pub chase_ns: f64,
    /// The same with empty caches, a word a line; none if they could not be emptied, or do not hold so much.
    pub emptied_ns: Option<f64>,
    /// The same with empty caches, one load a page, which also needs a translation.
    pub emptied_by_page_ns: Option<f64>,
    /// In order and independent, at the fastest; none if not measured.
    pub in_order_ns: Option<f64>,
}

/// What a switch costs a task that walks an array, beyond the direct cost.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Reload {
    /// Size of the array.
    pub size_bytes: Bytes,
    /// A walk without a switch before it, in nanoseconds.
    pub walk_ns: f64,
    /// How much longer it takes after a switch, including the switch itself running cold.
    pub cost: Cost,
}
