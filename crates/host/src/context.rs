//! Contexts of one OS thread that switch to each other in user space, by the C library's ucontext.
//!
//! The input is the body of each context; the output is executed steps and counted switches. A
//! panic in a context ends the process, because there is no caller to unwind into. This module does
//! not know the content or cost of the steps.

mod green;
mod machine;
mod ring;
mod timer;

pub use green::{Green, Scheduler};
pub use ring::UcontextRing;
