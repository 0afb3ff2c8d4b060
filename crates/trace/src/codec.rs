//! Encodes one chunk as bytes, and decodes it: columns, predicted and compressed.
//!
//! The encoder turns the blocks, references and marks of one chunk into the body of a chunk record,
//! and the decoder does the reverse. A body does not depend on other chunks. The columns are
//! specified in docs/formats/trace.md, which this code follows.
//!
//! Bodies may come from anybody: decoding never panics, and never allocates more than [`limits`]
//! allows.

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
pub(crate) use columns::{BadBody, Body, Unpacked};
pub(crate) use decoder::{ChunkDecoder, ChunkHead};
pub(crate) use encoder::{ChunkEncoder, EncodeError, Piece};
pub(crate) use marks::{oversized, text_bytes};
pub(crate) use open::Open;
pub use take::{OwnWords, ReadWords};
pub(crate) use varint::{Numbers, put, unzigzag, zigzag};
