use std::io;

use switchcost_remedies::{read_remedy, start_remedy, write_remedy};

use super::{TRACE_SCHEMA, TRACE_VERSION};
use crate::UnfitBlock;

/// Why a trace could not be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteTraceError {
    /// A record could not be appended; the chunks before it are complete.
    #[error(
        "the trace cannot be continued after {chunks} chunks of {instructions} instructions, and is whole up to byte {bytes}: \
         {source}; {}",
        write_remedy(.source, "another place")
    )]
    Append {
        /// Number of complete chunks in the file.
        chunks: u64,
        /// Number of instructions in the complete chunks.
        instructions: u64,
        /// End of the last complete record, in bytes from the file's start.
        bytes: u64,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The chunk has a block that no processor can have executed.
    #[error("block {block} of a chunk cannot be executed ({why}); check the source of the trace")]
    Unfit {
        /// Index of the block in the chunk.
        block: u64,
        /// Rule that the block breaks.
        why: UnfitBlock,
    },
    /// The numbers of references, marks or other items in a chunk do not match.
    #[error("a chunk has {found} {what} instead of {need}; check the source of the trace")]
    Parts {
        /// Kind of item that was counted.
        what: &'static str,
        /// Number of items in the chunk.
        found: u64,
        /// Number of items that the chunk must have.
        need: u64,
    },
    /// The position of a mark is before that of the preceding mark, or beyond the end of the chunk.
    #[error(
        "mark {mark} stands before block {found}, not between {least} and {most}; check the source of the trace"
    )]
    Place {
        /// Index of the mark in the chunk.
        mark: usize,
        /// Block that the mark is placed before.
        found: u32,
        /// Smallest block that the mark may precede.
        least: u32,
        /// Largest block that the mark may precede.
        most: u64,
    },
    /// A name, path or build ID is too long.
    #[error(
        "a name or path in mark {mark} has {found} bytes, more than {most}; check the source of the trace"
    )]
    Text {
        /// Index of the mark in the chunk.
        mark: usize,
        /// Length of the text in bytes.
        found: usize,
        /// Largest allowed length in bytes.
        most: usize,
    },
    /// A thread could not be started.
    #[error("there is no thread or memory to write with: {error}; {remedy}", error = .0, remedy = start_remedy(.0, "close other \
                                                                                                                  programs"))]
    Resources(io::Error),
    /// The header is too long, or cannot be written as JSON.
    #[error(
        "the commands are too long for the header of a trace, which has 1 MiB ({0}); trace fewer of them"
    )]
    Header(String),
}

/// Why a trace could not be read further.
///
/// If [`is_loss`](Self::is_loss) is true, everything read before the error is complete and correct.
#[derive(Debug, thiserror::Error)]
pub enum ReadTraceError {
    /// The file is not a trace.
    #[error(
        "not a trace ({0}); name a file written by switchcost trace (switchcost trace import reads those of other tools)"
    )]
    NoTrace(String),
    /// The trace has a version that this program does not know.
    #[error(
        "it is of format {0}, and this version reads {TRACE_SCHEMA}/{TRACE_VERSION}; read it with the version of switchcost \
         that wrote it"
    )]
    Version(String),
    /// The file ends inside a record.
    #[error(
        "the file ends at byte {end}, inside the record that begins at byte {offset}, so {before} can be used; trace again for \
         the rest"
    )]
    Cut {
        /// Start of the incomplete record, in bytes from the file's start.
        offset: u64,
        /// End of the file, in bytes from its start.
        end: u64,
        /// Amount of the trace read before the error.
        before: Before,
    },
    /// The file ends after a complete record, but has no index.
    #[error(
        "the tracing program was stopped: the file ends at byte {offset} without an index, so {before} can be used; trace again \
         for the rest"
    )]
    Unfinished {
        /// End of the file, in bytes.
        offset: u64,
        /// Amount of the trace read before the error.
        before: Before,
    },
    /// The content of a record does not match its checksum or its place.
    #[error(
        "the record that begins at byte {offset} is damaged ({what}), so {before} can be used; copy the file again \
         from its source, or trace again"
    )]
    Damaged {
        /// Start of the record, in bytes from the file's start.
        offset: u64,
        /// Fault of the record.
        what: String,
        /// Amount of the trace read before the error.
        before: Before,
    },
    /// The trace has no usable index, so it cannot be read from the middle.
    #[error(
        "it has no usable index ({0}), so only the whole trace can be read; leave out --range and --warm-up"
    )]
    NoIndex(String),
    /// The kernel's symbols after the index are damaged.
    #[error(
        "the kernel's symbols cannot be read ({0}), but everything else can; trace again with --system to have them"
    )]
    Symbols(String),
    /// The dependences after the index are damaged.
    #[error(
        "dependences of blocks cannot be read ({0}), but everything else can; trace again to have them"
    )]
    Dependences(String),
    /// The trace has too few instructions to begin at the requested one.
    #[error(
        "it has {instructions} instructions, too few to begin at {wanted}; choose an earlier one"
    )]
    Beyond {
        /// Number of the requested instruction, from 0.
        wanted: u64,
        /// Number of instructions in the trace.
        instructions: u64,
    },
    /// The operating system could not read the file from a position on.
    #[error(
        "it cannot be read at byte {offset} ({source}), so {before} can be used; {}",
        read_remedy(.source, "one that can")
    )]
    Io {
        /// Position in the file at which reading failed, in bytes.
        offset: u64,
        /// Error of the operating system.
        source: io::Error,
        /// Amount of the trace read before the error.
        before: Before,
    },
    /// A thread or memory could not be obtained.
    #[error("there is no thread or memory to decode with: {error}; {remedy}", error = .0, remedy = start_remedy(.0, "close other \
                                                                                                                   programs"))]
    Resources(io::Error),
}

impl ReadTraceError {
    /// Whether only the rest of the trace is lost. If so, every chunk returned before the error is
    /// complete and correct.
    pub fn is_loss(&self) -> bool {
        matches!(
            self,
            Self::Cut { .. } | Self::Unfinished { .. } | Self::Damaged { .. } | Self::Io { .. }
        )
    }

    /// Returns the byte of the file at which the loss begins; `None` if the error is no loss.
    pub fn offset(&self) -> Option<u64> {
        match self {
            Self::Cut { offset, .. }
            | Self::Unfinished { offset, .. }
            | Self::Damaged { offset, .. }
            | Self::Io { offset, .. } => Some(*offset),
            _ => None,
        }
    }
}

/// Amount of the trace that was read before an error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Before {
    /// Number of complete chunks read.
    pub chunks: u64,
    /// Number of instructions read.
    pub instructions: u64,
}

impl std::fmt::Display for Before {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.chunks {
            0 => write!(f, "nothing"),
            chunks => write!(
                f,
                "only the first {chunks} chunks with {} instructions",
                self.instructions
            ),
        }
    }
}
