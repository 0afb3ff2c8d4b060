use std::io;

use switchcost_remedies::{read_remedy, start_remedy, write_remedy};

use super::{TRACE_SCHEMA, TRACE_VERSION};
use crate::UnfitBlock;

/// Why a trace could not be written. Follows "failed to write the trace: " in a message.
#[derive(Debug, thiserror::Error)]
pub enum WriteTraceError {
    /// A record could not be appended; the chunks before it are whole.
    #[error(
        "found no way to append after {chunks} chunks of {instructions} instructions ({source}), {}. What was written is whole up \
         to byte {bytes}",
        write_remedy(.source, "another place")
    )]
    Append {
        /// Whole chunks in the file.
        chunks: u64,
        /// Instructions in those chunks.
        instructions: u64,
        /// The end of the last whole record, in bytes from the file's start.
        bytes: u64,
        /// The error of the system.
        source: io::Error,
    },
    /// A block of the chunk is none.
    #[error(
        "found a chunk whose block {block} is none ({why}), need blocks that can be executed; mend its source"
    )]
    Unfit {
        /// Index in the chunk.
        block: u64,
        /// The rule that the block breaks.
        why: UnfitBlock,
    },
    /// The chunk's parts do not belong together.
    #[error("found a chunk with {found} {what}, need {need}; mend its source")]
    Parts {
        /// What was counted.
        what: &'static str,
        /// The number found.
        found: u64,
        /// The number needed.
        need: u64,
    },
    /// A mark stands before the mark in front of it, or after the last block.
    #[error(
        "found mark {mark} before block {found}, need one between {least} and {most}; mend its source"
    )]
    Place {
        /// Index in the chunk.
        mark: usize,
        /// The block that the mark claims to precede.
        found: u32,
        /// The least possible.
        least: u32,
        /// The largest possible.
        most: u64,
    },
    /// A name, path or build ID is too long.
    #[error(
        "found a name or path of {found} bytes in mark {mark}, need at most {most}; mend its source"
    )]
    Text {
        /// Index in the chunk.
        mark: usize,
        /// The length of the text in bytes.
        found: usize,
        /// The largest length in bytes.
        most: usize,
    },
    /// A thread could not be started.
    #[error("found no thread or memory to write with ({error}), {remedy}", error = .0, remedy = start_remedy(.0, "need both; close other programs"))]
    Resources(io::Error),
    /// The header is too long, or cannot be written as JSON.
    #[error(
        "found a header that cannot be written ({0}), need at most 1 MiB of commands; trace fewer of them"
    )]
    Header(String),
}

/// Why a trace could not be read further. Follows "failed to read the trace: " in a message.
///
/// [`is_loss`](Self::is_loss) tells the errors before which everything that was read is whole and right.
#[derive(Debug, thiserror::Error)]
pub enum ReadTraceError {
    /// The file is not a trace.
    #[error(
        "found no trace ({0}), need a file written by switchcost trace; name another file, or import this one"
    )]
    NoTrace(String),
    /// The trace is of a version that this program does not know.
    #[error(
        "found format {0}, need {TRACE_SCHEMA}/{TRACE_VERSION}; read it with the version of switchcost that wrote it"
    )]
    Version(String),
    /// The file ends inside a record.
    #[error(
        "found the end of the file at byte {end}, inside the record that begins at byte {offset}, need the whole \
         record; {before} before it can be used, what followed is lost: trace again for the rest"
    )]
    Cut {
        /// Where the record that is not whole begins, in bytes.
        offset: u64,
        /// Where the file ends, in bytes.
        end: u64,
        /// How much was read before.
        before: Before,
    },
    /// The file ends between two records, before its index.
    #[error(
        "found the end of the file at byte {offset} and no index, need both: the tracing program was stopped; \
         {before} before it can be used, what followed was never written: trace again for the rest"
    )]
    Unfinished {
        /// Where the file ends, in bytes.
        offset: u64,
        /// How much was read before.
        before: Before,
    },
    /// A record is not what was written.
    #[error(
        "found damage in the record that begins at byte {offset} ({what}), need what was written; {before} before \
         it can be used, what follows is lost: copy the file again from its source, or trace again"
    )]
    Damaged {
        /// Where the record begins, in bytes.
        offset: u64,
        /// What is wrong with the record.
        what: String,
        /// How much was read before.
        before: Before,
    },
    /// The trace has no index, so it cannot be read from the middle.
    #[error(
        "found no index that can be used ({0}), need one to begin in the middle; read the trace from its start"
    )]
    NoIndex(String),
    /// The names after the index are damaged.
    #[error(
        "found symbols of the kernel that cannot be read ({0}), need them as switchcost trace --system writes them; trace again to have \
         them, all else can be used without"
    )]
    Symbols(String),
    /// The trace has no such instruction.
    #[error(
        "found {instructions} instructions, need more than {wanted} to begin there; choose an earlier one"
    )]
    Beyond {
        /// The instruction that was asked for, from 0.
        wanted: u64,
        /// The number of instructions in the trace.
        instructions: u64,
    },
    /// The file cannot be read at all.
    #[error(
        "found a file that cannot be read at byte {offset} ({source}), {}; {before} before it can be used",
        read_remedy(.source, "one that can")
    )]
    Io {
        /// Where reading failed, in bytes.
        offset: u64,
        /// The error of the system.
        source: io::Error,
        /// How much was read before.
        before: Before,
    },
    /// A thread or memory could not be had.
    #[error("found no thread or memory to decode with ({error}), {remedy}", error = .0, remedy = start_remedy(.0, "need both; close other programs"))]
    Resources(io::Error),
}

impl ReadTraceError {
    /// Whether only the rest of the trace is lost: every chunk that was returned before is whole and right.
    pub fn is_loss(&self) -> bool {
        matches!(
            self,
            Self::Cut { .. } | Self::Unfinished { .. } | Self::Damaged { .. } | Self::Io { .. }
        )
    }

    /// Byte of the file at which the loss begins, if this is one.
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

/// Amount of trace that was read before a loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Before {
    /// Whole chunks read.
    pub chunks: u64,
    /// Instructions read.
    pub instructions: u64,
}

impl std::fmt::Display for Before {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "the {} chunks with {} instructions",
            self.chunks, self.instructions
        )
    }
}
