//! Internal to switchcost: access patterns as data, and the one walk that every arm of every
//! experiment runs.
//!
//! The input is a [`WorkingSet`] (amount of memory and kind of access) and memory of that size. The
//! walk touches the memory in exactly the order of the working set; [`addresses()`] returns the
//! same touches as addresses. The crate uses no clocks and no system calls: the caller of the walk
//! decides what is timed.
//!
//! Memory is a slice of `AtomicU64`. Each element has the bits of one double. Relaxed atomic
//! accesses compile to plain loads and stores, but the compiler neither merges, vectorizes nor
//! removes them, so the walk executes what it describes.

mod addresses;
mod walk;
mod working_set;

pub use addresses::{Touch, addresses};
pub use walk::{prepare, walk};
pub use working_set::*;
