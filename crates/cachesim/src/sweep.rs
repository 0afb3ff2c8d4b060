//! Many designs that differ in the size and ways of some levels, or in all after one, in one pass.
//!
//! What comes in: designs, and the same runs of blocks and marks that a machine takes. What goes out: for one of them
//! what its machine says, for all others the same counters and sums of intervals, to the last digit. The method is in
//! `docs/method/sweep.md`. It does not know tasks or the order of the trace.

mod back;
mod behind;
mod cold;
mod depths;
mod family;
mod feed;
mod grid;
mod groups;
mod intervals;
mod results;
mod shape;
mod stacks;
mod through;
mod view_stacks;

pub(crate) use family::Family;
pub(crate) use groups::groups;

/// The views, in the order of all arrays here.
const VIEWS: usize = 3;
const SHARED: usize = 0;
const PRIVATE: usize = 1;
const FLUSHED: usize = 2;
