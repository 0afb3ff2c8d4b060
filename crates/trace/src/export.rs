//! Exports traces to the formats of other tools, against which the simulations can be checked.

mod din;
mod lackey;
mod selection;

use std::io;

use crate::Chunk;

pub use din::{DinExporter, PieceSize, UnfitPiece};
pub use lackey::LackeyExporter;

/// Writer of a trace in another tool's format, chunk by chunk.
pub trait Exporter {
    /// Writes the next chunk of the trace.
    ///
    /// # Errors
    /// Errors of the writer.
    fn chunk(&mut self, chunk: &Chunk) -> io::Result<()>;

    /// Flushes, and returns the totals.
    ///
    /// # Errors
    /// Errors of the writer.
    fn finish(self) -> io::Result<Exported>;
}

/// Totals of an exported trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    /// Number of lines of text written.
    pub lines: u64,
    /// Number of processes. The text does not show the process of a line.
    pub processes: usize,
}
