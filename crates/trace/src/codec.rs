//! How one chunk becomes bytes and comes back: columns, predicted and compressed.
//!
//! What comes in: the blocks, references and marks of one chunk, or the body of a chunk record. What goes out: the
//! other. Every chunk stands for itself: no state is carried from one to the next. What the columns hold is written
//! down in docs/formats/trace.md, and this code follows it.
//!
//! Bodies are hostile: decoding them never panics and never allocates more than [`limits`] say.

mod addresses;
mod closing;
mod columns;
mod decoder;
mod encoder;
mod known;
pub(crate) mod limits;
mod marks;
mod open;
mod references;
mod residuals;
mod sequence;
mod shapes;
mod take;
mod varint;
mod wide;

pub use addresses::LANES;
pub(crate) use closing::{Closer, Position};
pub(crate) use columns::{BadBody, Body};
pub(crate) use decoder::{ChunkDecoder, ChunkHead};
pub(crate) use encoder::{ChunkEncoder, EncodeError, Piece};
pub(crate) use marks::{oversized, text_bytes};
pub(crate) use open::Open;
pub use take::{OwnWords, ReadWords};
