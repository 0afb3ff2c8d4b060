//! The record of a simulation: one Parquet file, whose rows are intervals and whose metadata holds everything else.
//!
//! What comes in: intervals while a simulation runs, and at its end what else it gave. What goes out: a file
//! (`docs/formats/simulation-record.md`), and the same values read back from it. The checksum of a file is checked before
//! any of it is used. Nothing here knows how a number comes about, or what is made of it.
#![doc = include_str!("../README.md")]

/// The advice for a record that cannot be written.
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

/// Name of the format. The record has it with [`SIMULATION_VERSION`] after a slash.
///
/// Version 1: the first.
pub const SIMULATION_SCHEMA: &str = "switchcost.record.simulation";

/// The version that this program writes and reads.
pub const SIMULATION_VERSION: u32 = 1;
