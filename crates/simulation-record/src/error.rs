use std::io;
use std::path::PathBuf;

use switchcost_remedies::{read_remedy, write_remedy};

use crate::{ANOTHER_PLACE, SIMULATION_SCHEMA, SIMULATION_VERSION};

/// Why the record of a simulation could not be written. Follows "failed to write the record: " in a message.
#[derive(Debug, thiserror::Error)]
pub enum WriteSimulationError {
    /// The file exists already.
    #[error(
        "found a file at {0}, need a name that is free (records are never overwritten); choose another name \
             with --record or move the file away"
    )]
    Exists(PathBuf),
    /// The file cannot be created.
    #[error(
        "{path} cannot be created ({source}), {}",
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
        "{path} took no more ({source}), {}. While it is written it needs its length twice. The record was not kept",
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
        "found an interval of {what} {index}, need one of the {count} in the head; this is a bug of switchcost. \
             The record was not kept"
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
        "found a head of {found_bytes} bytes, need at most {limit_bytes}; ask for fewer designs or fewer places \
             in the code. The record was not kept"
    )]
    Head {
        /// How long.
        found_bytes: usize,
        /// The most that is read back.
        limit_bytes: usize,
    },
}

/// Why a file is not a readable record of a simulation. Follows "failed to read the record: " in a message.
#[derive(Debug, thiserror::Error)]
pub enum ReadSimulationError {
    /// The file cannot be read.
    #[error("{path} cannot be read ({source}), {}", read_remedy(.source, "a file written by switchcost simulate"))]
    Open {
        /// Where.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// It is another kind of file, or was cut.
    #[error(
        "{path} is no record of a simulation ({why}), need a file written by switchcost simulate"
    )]
    NoRecord {
        /// Where.
        path: PathBuf,
        /// What was found.
        why: String,
    },
    /// The file is of a version this program does not know.
    #[error(
        "{path} is of format {found}, need {SIMULATION_SCHEMA}/{SIMULATION_VERSION}; read it with a version of switchcost \
             that writes that format"
    )]
    Version {
        /// Where.
        path: PathBuf,
        /// The schema in its head.
        found: String,
    },
    /// The file is not as it was written.
    #[error(
        "{path} is damaged at {place} ({why}), need the file as switchcost wrote it; take a copy that is whole, \
             or simulate again from the trace"
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
