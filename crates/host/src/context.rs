//! Contexts of one OS thread that hand the CPU to each other in user space, over the C library's
//! ucontext.
//!
//! The input is the body of each context; the output is executed steps and counted switches. Panics
//! in a context end the process, because there is no caller to unwind into. This module does not
//! know the content or cost of the steps.

mod green;
mod machine;
mod ring;
mod timer;

pub use green::{Green, Scheduler};
pub use ring::UcontextRing;
