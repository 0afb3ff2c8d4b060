use std::io;
use std::path::PathBuf;

use switchcost_remedies::{read_remedy, write_remedy};

use crate::{ANOTHER_PLACE, SIMULATION_SCHEMA, SIMULATION_VERSION};

/// Error of writing a simulation record.
#[derive(Debug, thiserror::Error)]
pub enum WriteSimulationError {
    /// A file with this name exists already.
    #[error(
        "{0} already exists, and records are never overwritten; choose another name with --record, or move the file away"
    )]
    Exists(PathBuf),
    /// The record's file cannot be created.
    #[error(
        "cannot create {path}: {source}; {}",
        write_remedy(.source, ANOTHER_PLACE)
    )]
    Create {
        /// Path of the record that cannot be created.
        path: PathBuf,
        /// Error of the operating system from creating the file.
        source: io::Error,
    },
    /// The file cannot be written. No file is left behind.
    #[error(
        "{path} cannot be written, so the record was not kept: {source}; {} (writing it takes twice its size)",
        write_remedy(.source, ANOTHER_PLACE)
    )]
    Write {
        /// Path of the record that cannot be written.
        path: PathBuf,
        /// Error of the operating system or of the Parquet writer.
        source: io::Error,
    },
    /// An interval has an index that is out of range for the head. No file is left behind.
    #[error(
        "the record was not kept: an interval of {what} {index} is not one of the {count} in the head; this is a bug of \
         switchcost, report it"
    )]
    Interval {
        /// Kind of object to which the index refers.
        what: &'static str,
        /// Index that is out of range.
        index: u64,
        /// Number of objects of the kind `what` in the head.
        count: usize,
    },
    /// The head is longer than a reader accepts. No file is left behind.
    #[error(
        "the record was not kept: its head of {found_bytes} bytes is longer than the {limit_bytes} that can be read; \
         simulate fewer designs, or lower --places"
    )]
    Head {
        /// Length of the head in bytes.
        found_bytes: usize,
        /// Largest length in bytes that a reader accepts.
        limit_bytes: usize,
    },
}

/// Error of reading a simulation record.
#[derive(Debug, thiserror::Error)]
pub enum ReadSimulationError {
    /// The record's file cannot be read.
    #[error("cannot read {path}: {source}; {}", read_remedy(.source, "a file written by switchcost simulate"))]
    Open {
        /// Path of the record that cannot be read.
        path: PathBuf,
        /// Error of the operating system from reading the file.
        source: io::Error,
    },
    /// The file is not a simulation record, or is truncated.
    #[error(
        "{path} is not a record of a simulation ({why}); name a file written by switchcost simulate"
    )]
    NoRecord {
        /// Path of the file that is not a record.
        path: PathBuf,
        /// Reason why the file is not a simulation record.
        why: String,
    },
    /// The record has a format version that this program does not know.
    #[error(
        "{path} is of format {found}, and this version reads {SIMULATION_SCHEMA}/{SIMULATION_VERSION}; read it with a version \
         of switchcost that writes that format"
    )]
    Version {
        /// Path of the record with the unknown version.
        path: PathBuf,
        /// Name and version of the format, as in the head of the record.
        found: String,
    },
    /// A part of the record is damaged.
    #[error(
        "{path} is damaged at {place} ({why}); take a copy that is whole, or simulate again from the trace"
    )]
    Damaged {
        /// Path of the damaged record.
        path: PathBuf,
        /// Damaged part of the record: some byte, the footer, the head, a row group, a column, or a
        /// row.
        place: String,
        /// Description of the damage.
        why: String,
    },
}
