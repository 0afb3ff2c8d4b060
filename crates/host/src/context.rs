//! Contexts of one kernel thread that hand the CPU to each other in user space, over the C library's ucontext.
//!
//! What comes in: what each context is to run. What goes out: turns taken, and switches counted. Panics in a context
//! end the process: there is no caller to unwind into. What the turns do, and what they cost, is not known here.

mod green;
mod machine;
mod ring;
mod timer;

pub use green::{Green, Scheduler};
pub use ring::UcontextRing;
