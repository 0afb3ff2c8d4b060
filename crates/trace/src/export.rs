//! Traces for other tools, so that they can check us.

mod din;
mod lackey;
mod selection;

use std::io;

use crate::Chunk;

pub use din::{DinExporter, PieceSize, UnfitPiece};
pub use lackey::LackeyExporter;

/// Writes traces in another tool's format, chunk by chunk.
pub trait Exporter {
    /// Writes the next chunk of the trace.
    ///
    /// # Errors
    /// What the writer says.
    fn chunk(&mut self, chunk: &Chunk) -> io::Result<()>;

    /// Flushes, and says what was written.
    ///
    /// # Errors
    /// What the writer says.
    fn finish(self) -> io::Result<Exported>;
}

/// Totals of an exported trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    /// Lines of text written.
    pub lines: u64,
    /// Number of processes. The text does not say which process a line belongs to.
    pub processes: usize,
}
