//! The trace file: records of chunks between a header and an index, each with its checksum.
//!
//! What comes in: chunks for a writer, bytes for a reader. What goes out: the other. A record is whole or it is not
//! there: a reader gives chunks up to the first record that is cut or damaged and says where that is. The layout is
//! written down in docs/formats/trace.md.

mod ahead;
mod appender;
mod behind;
mod error;
mod header;
mod index;
mod reader;
mod record;
mod recorder;
mod seekable;
mod writer;

pub use ahead::{ReadAhead, read_ahead};
pub use appender::Written;
pub use error::{Before, ReadTraceError, WriteTraceError};
pub use header::{Guest, TraceHeader, TraceOrder};
pub use index::{ChunkEntry, Life, TraceIndex};
pub(crate) use index::{changes_lives, is_life};
pub use reader::{ChunkPlace, TraceReader};
pub use recorder::{Recorder, ShapeId};
pub use seekable::{TraceFile, kernel_symbols};
pub use writer::TraceWriter;

/// Name of the format. The header has it with [`TRACE_VERSION`] after a slash.
pub const TRACE_SCHEMA: &str = "switchcost.trace";

/// Version of the format. Earlier ones were never released.
pub const TRACE_VERSION: u32 = 3;
