//! Trace files: records of chunks between a header and an index, each with its checksum.
//!
//! A writer turns chunks into bytes, and a reader turns bytes into chunks. Only complete records
//! count: a reader returns chunks up to the first record that is cut or damaged, and reports its
//! position. docs/formats/trace.md specifies the layout.

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
pub use seekable::{TraceFile, dependences, kernel_symbols};
pub use writer::TraceWriter;

/// Name of the format. A header's schema is this name, a slash and [`TRACE_VERSION`].
pub const TRACE_SCHEMA: &str = "switchcost.trace";

/// Version of the format. Earlier versions were never released.
pub const TRACE_VERSION: u32 = 3;
