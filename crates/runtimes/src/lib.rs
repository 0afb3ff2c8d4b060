//! Internal to switchcost: the language runtimes whose tasks are measured.
//!
//! The input is one `runtime.toml` per runtime (a *row*), with the source of a program in the
//! runtime's language. The output is the command that starts the program, which is compiled if
//! necessary, or the reason why the runtime cannot be used. The program uses the protocol of
//! `docs/method/runtimes.md`, with `measure` on the other side. The crate has no measuring, no
//! statistics and no printing.

mod build;
mod find;
mod row;
mod shipped;
mod tool;

pub use build::{Prepared, prepare};
pub use row::{Handoff, Row, RowError};
pub use shipped::{names, shipped};

/// Why a runtime cannot be measured, and the remedy, in one sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Missing(pub String);
