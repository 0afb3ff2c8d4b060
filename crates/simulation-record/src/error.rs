use std::io;
use std::path::PathBuf;

use switchcost_remedies::{read_remedy, write_remedy};

use crate::{ANOTHER_PLACE, SIMULATION_SCHEMA, SIMULATION_VERSION};

/// Why the record of a simulation could not be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteSimulationError {
    /// The file exists already.
    #[error(
        "{0} already exists, and records are never overwritten; choose another name with --record, or move the file away"
    )]
    Exists(PathBuf),
    /// The file cannot be created.
    #[error(
        "cannot create {path}: {source}; {}",
        write_remedy(.source, ANOTHER_PLACE)
    )]
    Create {
        /// Where.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// The intervals do not fit; nothing is left behind.
    #[error(
        "{path} cannot be written, so the record was not kept: {source}; {} (while it is written it needs its length twice)",
        write_remedy(.source, ANOTHER_PLACE)
    )]
    Write {
        /// Where.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// An interval and the head do not fit together; nothing is left behind.
    #[error(
        "the record was not kept: an interval of {what} {index} is not one of the {count} in the head; this is a bug of \
         switchcost, report it"
    )]
    Interval {
        /// What the index is of.
        what: &'static str,
        /// The index.
        index: u64,
        /// How many there are.
        count: usize,
    },
    /// The head is larger than a reader would take; nothing is left behind.
    #[error(
        "the record was not kept: its head of {found_bytes} bytes is longer than the {limit_bytes} that can be read; ask for \
         fewer designs, or fewer places in the code"
    )]
    Head {
        /// How long.
        found_bytes: usize,
        /// The most that is read back.
        limit_bytes: usize,
    },
}

/// Why a file is not a readable record of a simulation.
#[derive(Debug, thiserror::Error)]
pub enum ReadSimulationError {
    /// The file cannot be read.
    #[error("cannot read {path}: {source}; {}", read_remedy(.source, "a file written by switchcost simulate"))]
    Open {
        /// Where.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// It is another kind of file, or was cut.
    #[error(
        "{path} is no record of a simulation ({why}); name a file written by switchcost simulate"
    )]
    NoRecord {
        /// Where.
        path: PathBuf,
        /// What was found.
        why: String,
    },
    /// The file is of a version this program does not know.
    #[error(
        "{path} is of format {found}, and this version reads {SIMULATION_SCHEMA}/{SIMULATION_VERSION}; read it with a version \
         of switchcost that writes that format"
    )]
    Version {
        /// Where.
        path: PathBuf,
        /// The schema in its head.
        found: String,
    },
    /// The file is not as it was written.
    #[error(
        "{path} is damaged at {place} ({why}); take a copy that is whole, or simulate again from the trace"
    )]
    Damaged {
        /// Where.
        path: PathBuf,
        /// The part of it: the bytes, the footer, the head, or a column and a row.
        place: String,
        /// What is wrong.
        why: String,
    },
}
