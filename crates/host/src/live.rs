//! Facts about other running programs: their threads, the CPU time of a thread, and its allowed
//! CPUs.

mod census;
mod placed;
mod thread;

pub use census::{Census, Seen};
pub(crate) use placed::put_back;
pub use placed::{Placed, allowed_cpus};
pub use thread::{LiveThread, ThreadId};
