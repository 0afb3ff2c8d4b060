//! Internal to switchcost: access patterns as data, and the one walk that every arm of every experiment runs.
//!
//! What comes in: a [`WorkingSet`] (how much memory, touched how) and memory of that size. What goes out: the memory
//! touched in exactly the order the working set names, or the very same touches as addresses ([`addresses()`]). No
//! clocks, no system calls: who runs the walk decides what to time.
//!
//! Memory is a slice of `AtomicU64`, each holding the bits of one double. Relaxed atomic accesses compile to plain
//! loads and stores, and yet the compiler neither merges, vectorises nor removes them: the walk does what it says.

mod addresses;
mod walk;
mod working_set;

pub use addresses::{Touch, addresses};
pub use walk::{prepare, walk};
pub use working_set::{
    Access, ELEMENT_BYTES, Pages, Pattern, Sharing, UnfitWorkingSet, WorkingSet,
};
