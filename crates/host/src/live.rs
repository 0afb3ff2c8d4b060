//! Programs that run already: who of them is at work, what a thread has used, and on which CPU it may run.

mod census;
mod placed;
mod thread;

pub use census::{Census, Seen};
pub(crate) use placed::put_back;
pub use placed::{Placed, allowed_cpus};
pub use thread::{LiveThread, ThreadId};
