//! Internal to switchcost: the record of a simulation, which is one Parquet file. Its rows are
//! intervals, and its metadata holds everything else.
//!
//! The input is intervals while a simulation runs, and the other results at its end; the output is
//! a file (`docs/formats/simulation-record.md`), and the same values read from it. The checksum of
//! a file is checked before any of its values is used. This crate does not know how a number is
//! computed, or what it is used for.
#![doc = include_str!("../README.md")]

/// Advice for a record that cannot be written.
const ANOTHER_PLACE: &str = "another place with --record";

mod checksum;
mod columns;
mod compact;
mod error;
mod footer;
mod guarded;
mod read;
mod source;
mod spool;
mod structures;
mod unnamed;
mod write;

pub use error::{ReadSimulationError, WriteSimulationError};
pub use read::{Intervals, SimulationRecord};
pub use write::{Returned, SimulationWriter, Unwritten};

/// Name of the format, which the record contains with a slash and [`SIMULATION_VERSION`].
///
/// Version 1 is the first.
pub const SIMULATION_SCHEMA: &str = "switchcost.record.simulation";

/// Version of the format that this program writes and reads.
pub const SIMULATION_VERSION: u32 = 1;
