//! Runs programs under a capture frontend on one virtual CPU, and turns their execution into
//! [`switchcost_trace::Chunk`]s or a trace. Internal to switchcost.
//!
//! The input is commands, and the order in which they run. The output is chunks, passed to the
//! caller as they fill, and a summary. The frontend is a Valgrind tool (`capture/valgrind`) that
//! communicates with this crate only through shared memory.
//!
//! In scheduled captures three parties work concurrently: the traced tasks, one of which runs; the
//! controller, a thread that decides which task runs ([`run()`] has the rules); and the caller's
//! thread, which decodes the output of the tasks and passes chunks on. This crate does not know how
//! the chunks are used.

mod as_run;
mod build_id;
mod command;
mod consume;
mod control;
mod decode;
mod end_flags;
mod error;
mod guest_error;
mod leftovers;
mod pace;
mod probe;
mod programs;
mod protocol;
mod remarks;
mod ring;
mod run;
mod scheduler;
mod start;
mod system;
mod tasks;
mod tool;
mod turns;

pub use command::Command;
pub use control::Ending;
pub use decode::{DecodeError, Problem};
pub use error::{CaptureError, Failure};
pub use guest_error::GuestError;
pub use run::{Input, Options, Order, Output, Summary, record, run, run_unread};
pub use system::{
    GuestSummary, Kernel, Package, Parts, PlacedFolder, System, fetch, find_kernel, record_system,
    run_system,
};
pub use tool::{Tool, ToolError};
