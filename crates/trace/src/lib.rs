//! Address traces with every context switch marked: what ran, what it touched, who ran next and why.
//!
//! What comes in: events from a capture frontend, an importer or a generator, as [`Chunk`]s. What goes out: the same
//! chunks, in the same order, from a file or straight from the frontend. One chunk holds a run of the one event stream
//! of one CPU: blocks of instructions, the references they make, and [`Mark`]s between blocks. Nothing here knows what
//! a cache is.

mod chunk;
mod mark;
mod reference;
#[cfg(feature = "testing")]
pub mod testing;

pub use chunk::{Block, BlockFlags, Chunk, Placed, UnfitBlock};
pub use mark::{Cause, Mapping, Mark, ProcessId, TaskId};
pub use reference::{Reference, SIZES};
