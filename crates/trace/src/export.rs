//! Traces for other tools, so that they can check us.

mod din;
mod lackey;
mod selection;

use std::io;

use crate::Chunk;

pub use din::{DinExporter, PieceSize, UnfitPiece};
pub use lackey::LackeyExporter;

/// Writes traces in another tool's form, chunk by chunk.
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

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    /// Lines of text.
    pub lines: u64,
    /// Processes that they are of. The text does not say which line is whose.
    pub processes: usize,
}
