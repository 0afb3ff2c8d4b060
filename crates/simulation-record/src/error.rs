use std::io;
use std::path::PathBuf;

use switchcost_record::{ReadRecordError, WriteRecordError};
use switchcost_remedies::write_remedy;

/// Error of writing a simulation record.
#[derive(Debug, thiserror::Error)]
pub enum WriteSimulationError {
    /// The file exists already, or cannot be created.
    #[error(transparent)]
    Record(#[from] WriteRecordError),
    /// The file cannot be written. No file is left behind.
    #[error(
        "{path} cannot be written, so the record was not kept: {source}; {} (writing it takes twice its size)",
        write_remedy(.source, "another place with --record")
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
    /// The file cannot be read, is not a simulation record, is truncated, or has an unknown version.
    #[error(transparent)]
    Record(#[from] ReadRecordError),
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
