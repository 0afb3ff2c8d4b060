//! Simulates caches and TLBs that need not exist: shared, private and flushed hierarchies, fed with
//! one event stream.
//!
//! The input is designs and [`switchcost_trace::Chunk`]s; the output is the intervals and counters
//! of a simulation record. The crate is pure: it uses no files, no clocks, no machine.
//! `docs/method/simulation.md` defines exactly what is counted, and an independent, simple
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
// The crates whose types this crate takes and returns.
pub use {
    switchcost_design as design, switchcost_design::result as simulation_result,
    switchcost_trace as trace,
};
