//! Internal to switchcost: the runtimes of languages whose tasks are measured.
//!
//! What comes in: a row of TOML for each runtime, with the source of a program in its language. What goes out: whether the runtime is
//! here and new enough, and the command that starts the program, compiled if it has to be. The program speaks the protocol of
//! `docs/method/runtimes.md`; what it says is for `measure` to hear. No measuring, no statistics, no printing.

mod build;
mod find;
mod row;
mod shipped;
mod tool;

pub use build::{Prepared, prepare};
pub use row::{Handoff, Row, RowError};
pub use shipped::{names, shipped};

/// Reason for which a runtime cannot be measured, and the remedy, in one sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Missing(pub String);
