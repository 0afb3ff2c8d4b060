//! Whom and what a design's cycles and misses are attributed to: the program's code and data, the process or the kernel that evicted
//! a line, the system call, and all of the kernel by batches of switches.
//!
//! What comes in: what lookups came to, in all three views. What goes out: the parts of a result that say why. It looks nothing up
//! and changes no cache.

mod by_place;
mod calls;
mod kernel_batches;
mod ledger;
mod places;

pub(crate) use by_place::{ByPlace, Context, Lookup};
pub(crate) use calls::Calls;
pub(crate) use kernel_batches::KernelBatches;
pub use places::{Names, Object};

pub(crate) use ledger::{Arrival, Departure, Gain, Ledger, NOBODY};
