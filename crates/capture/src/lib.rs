//! Internal to switchcost: runs programs under a capture frontend on one virtual CPU, and turns what they did into [`switchcost_trace::Chunk`]s or a
//! trace.
//!
//! What comes in: commands, and how they take turns. What goes out: chunks, handed to the caller as they fill, and a
//! summary. The frontend is a Valgrind tool (`capture/valgrind`) that talks to this crate through shared memory alone.
//!
//! Three parties work at the same time if turns are granted: the traced tasks, of which one runs; the controller, a thread that decides
//! which ([`run()`] says by what rules); and the caller's thread, which decodes what the tasks write and hands it on.
//! Nothing here knows what becomes of the chunks.

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
