//! Caches and TLBs that do not exist: shared, private and flushed ones, fed with one event stream.
//!
//! What comes in: designs and [`switchcost_trace::Chunk`]s. What goes out: the intervals and counters of `record`. Pure: no files, no
//! clocks, no machine. What exactly is counted is said in `docs/method/simulation.md`, and an independent, simple
//! simulator in the tests follows the same text.
#![doc = include_str!("../README.md")]

mod address;
mod attribution;
mod blocks;
mod by_process;
mod causes;
mod explain;
mod frames;
mod machine;
mod mappings;
mod processes;
mod side_by_side;
mod simulator;
mod sweep;

pub use attribution::{Names, Object};
pub use explain::explain;
pub use side_by_side::{NoLastLevel, SideBySide};
pub use simulator::{Options, Outcome, SimulationError, Simulator};
// Whose types this crate takes and gives.
pub use {
    switchcost_design as design, switchcost_design::result as simulation_result,
    switchcost_trace as trace,
};
