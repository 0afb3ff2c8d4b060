//! Internal to switchcost: the language runtimes whose tasks are measured.
//!
//! The input is one `runtime.toml` per runtime (a *row*), with the source of a program in its
//! language; the output says whether the runtime is installed and new enough, and is the command
//! that starts the program, which is compiled if necessary. The program uses the protocol of
//! `docs/method/runtimes.md`, with `measure` on the other side. No measuring, no statistics, no
//! printing.

mod build;
mod find;
mod row;
mod shipped;
mod tool;

pub use build::{Prepared, prepare};
pub use row::{Handoff, Row, RowError};
pub use shipped::{names, shipped};

/// Reason why a runtime cannot be measured, with the remedy, in one sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Missing(pub String);
