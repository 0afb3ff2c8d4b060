use std::{fmt, io};

/// Where in a foreign file something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Number of the line, from 1.
    Line(u64),
    /// Offset in bytes of the record, from 0; in what a compressed file holds.
    Byte(u64),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Line(line) => write!(f, "line {line}"),
            Place::Byte(offset) => write!(f, "byte {offset}"),
        }
    }
}

/// Why a foreign trace cannot be read on. Reads well behind "failed to import the trace: ".
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// A line or record that the format does not have.
    #[error("{place}: found {found}, need {needed}; is it the right format?")]
    Unknown {
        /// Where it is.
        place: Place,
        /// What stands there, shortened and made harmless.
        found: String,
        /// What would do.
        needed: &'static str,
    },
    /// A line of more bytes than any line of these formats has.
    #[error("{place}: found more than {most} bytes, need a shorter line; is it the right format?")]
    LongLine {
        /// Where it is.
        place: Place,
        /// The longest that is read.
        most: usize,
    },
    /// Data without an instruction that touches it.
    #[error("{place}: found a reference before the first instruction, need the instruction that makes it first")]
    NoInstruction {
        /// Where it is.
        place: Place,
    },
    /// A size that no instruction or reference has.
    #[error("{place}: found {bytes} bytes, need 1 to {most}; is it the right format?")]
    Size {
        /// Where it is.
        place: Place,
        /// Bytes claimed.
        bytes: u64,
        /// Largest possible.
        most: u64,
    },
    /// An address that a trace cannot hold.
    #[error("{place}: found address {address:#x}, need one of 48 bits, whose higher bits repeat the highest of them")]
    Address {
        /// Where it is.
        place: Place,
        /// The address.
        address: u64,
    },
    /// More data than one instruction can touch.
    #[error("{place}: found an instruction of more than {} references, need fewer; is it the right format?", u16::MAX)]
    References {
        /// Where it is.
        place: Place,
    },
    /// Threads without end.
    #[error("{place}: found more than {most} threads, need fewer; is it the right format?")]
    Threads {
        /// Where it is.
        place: Place,
        /// How many are read at most.
        most: u32,
    },
    /// Records that a cache has left out.
    #[error(
        "{place}: found a trace that was filtered through a cache when it was taken, need every reference; \
         trace again without a filter"
    )]
    Filtered {
        /// Where it says so.
        place: Place,
    },
    /// A binary file that ends too early.
    #[error("{place}: found the end of the file, need {needed}; the file is cut. What came before is whole")]
    Cut {
        /// Where it ends.
        place: Place,
        /// What should follow.
        needed: &'static str,
    },
    /// A word size that cannot be.
    #[error("found a word size outside 1 to 255 bytes, need one inside; din's own is 4")]
    Word,
    /// The file cannot be read.
    #[error("found a file that cannot be read at {place} ({source}), {}", remedies::for_reading(.source, "one that can"))]
    Io {
        /// Up to where it could.
        place: Place,
        /// What the system said.
        source: io::Error,
    },
}
