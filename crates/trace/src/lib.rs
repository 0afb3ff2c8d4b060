//! Address traces with every context switch marked: executed code, touched memory, the next task
//! and the cause of each switch.
//!
//! The input is events from a capture frontend, an importer or a generator, as [`Chunk`]s; the
//! output is the same chunks, in the same order, from a file or directly from the frontend. One
//! chunk holds a run of the single event stream of one CPU: blocks of instructions, their
//! references, and [`Mark`]s between blocks. This crate does not know caches.
#![doc = include_str!("../README.md")]

mod block;
mod blocks;
mod chains;
mod check;
mod chunk;
mod codec;
mod data_flow;
mod dependences;
mod export;
mod file;
mod import;
mod kernel_symbols;
mod last_uses;
mod mark;
mod parts;
mod preemptions;
mod process_table;
mod reference;
pub mod reorder;
mod shape;
mod summary;
pub mod synthetic;
mod syscall;
#[cfg(feature = "testing")]
pub mod testing;

pub use block::{Block, BlockFlags, UnfitBlock};
pub use blocks::{BlockRun, Blocks};
pub use chains::{CHAIN_WINDOW, Chain, ChainCounts, Chains};
pub use check::{CheckReport, Checker, Problem, Violation, check};
pub use chunk::{Chunk, Event, Placed};
pub use codec::{LANES, OwnWords, ReadWords};
pub use data_flow::DataFlow;
pub use dependences::{
    BlockDependences, Dependences, Followed, ReferenceDependence, Rules, Sources, Values,
};
pub use export::{DinExporter, Exported, Exporter, LackeyExporter, PieceSize, UnfitPiece};
pub use file::{
    Before, ChunkEntry, ChunkPlace, Guest, Life, ReadAhead, ReadTraceError, Recorder, ShapeId,
    TRACE_SCHEMA, TRACE_VERSION, TraceFile, TraceHeader, TraceIndex, TraceOrder, TraceReader,
    TraceWriter, WriteTraceError, Written, dependences, kernel_symbols, read_ahead,
};
pub use import::{ImportError, ImportFormat, Importer, Location as ImportLocation, Unzipped};
pub use kernel_symbols::KernelSymbols;
pub use last_uses::LastUses;
pub use mark::{Cause, Mapping, Mark, ProcessId, TaskId};
pub use parts::{Parts, Purpose};
pub use preemptions::Preemptions;
pub use process_table::{Change, ProcessTable, Task};
pub use reference::{Reference, SIZES};
pub use shape::{AddressKind, ShapeReference, UnfitShape, Unfold, check_shape, unfold};
pub use summary::{ProcessSummary, TraceSummary, summarize};
pub use syscall::syscall_name;
