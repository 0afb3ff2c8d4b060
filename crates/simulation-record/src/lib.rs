//! Internal to switchcost: the record of a simulation, which is one Parquet file. The rows of the
//! file are intervals. The file's metadata contains all other results.
//!
//! The writer takes intervals while a simulation runs, and the other results at the end, and
//! creates the file (`docs/formats/simulation-record.md`). The reader returns the same values. The
//! reader verifies the checksum of the file before any value is used. This crate does not compute
//! or judge any result.
#![doc = include_str!("../README.md")]

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

/// Name of the format, without its version.
pub const SIMULATION_SCHEMA: &str = "switchcost.record.simulation";

/// Name and version of the format that this program writes and reads. Version 1 is the first.
pub const SIMULATION_FORM: &str = "switchcost.record.simulation/1";
