//! Computes findings from the record of a simulation: the cost of a switch in cycles, its
//! distribution over the instructions after the switch, by cause, and the places where the cost
//! arises. `docs/method/simulated-cost.md` defines each number.
//!
//! The input is the head of a record and its intervals, batch by batch in the order of the file.
//! The output is [`Findings`]. Memory use does not grow with the number of intervals, except for
//! two numbers per segment.

mod agarwal;
mod analyser;
mod bias;
mod bounds;
mod context;
mod cost;
mod cpi;
mod curve;
mod design;
mod design_sums;
mod filling;
mod findings;
mod group;
pub mod interval;
mod kernel;
mod lengths;
mod levels;
mod long_turns;
mod orders;
mod overhead;
mod partitions;
mod places;
mod programs;
mod rows;
mod shares;
mod sums;
mod sweep;
mod tables;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
mod time_lost;
mod traffic;
mod trials;

pub use analyser::Analyser;
pub use context::Options;
pub use findings::{
    Agarwal, AgarwalLevel, CallFinding, Cost, Cut, DesignFinding, EvictionTable, EvictorFinding,
    ExcessPart, FULL_FROM, Findings, FunctionFinding, FunctionMisses, Group, GroupFinding, Growth,
    KernelFills, KernelFinding, LengthDistribution, LengthPoint, LevelFinding, LossFinding,
    OfLevel, OriginFinding, Part, PlaceFinding, Point, PrefetchFinding, ProcessFinding,
    ProcessLevel, Spread, SurvivorBias, Switches, TASKS, TrafficFinding,
};
pub use interval::FEWEST_SEGMENTS;
pub use orders::{OrderFinding, are_orders, over_orders};
pub use sweep::{Axis, Sweep, sweeps};
pub use time_lost::{PricedLines, TimeLost};
pub use trials::{TrialFinding, over_trials};
