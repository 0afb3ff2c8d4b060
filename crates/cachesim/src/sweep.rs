//! Simulates many designs in one pass that differ in the size and ways of some levels, or in all
//! levels after a certain level.
//!
//! The input is designs, and the same runs of blocks and marks that a machine takes. The output is
//! the machine's full result for one design, and for all others the same counters and sums of
//! intervals, to the last digit. `docs/method/sweep.md` says which designs can be combined. This
//! module does not know tasks or the order of the trace.
//!
//! **Stacks.** An LRU set of `w` ways holds the `w` lines of that set used last (Mattson et al.,
//! IBM Systems Journal 9(2), 1970). So each view has a stack for each set, for each number of sets.
//! The depth at which a lookup finds its line decides for all associativities together (Hill and
//! Smith, IEEE Transactions on Computers 38(12), 1989). Counts are kept by depth.
//!
//! **Stopping early.** A line that is the newest of its set is also the newest with any larger
//! number of sets. So lookups begin with the fewest sets, and stop at the first number for which
//! this holds (Sugumar and Abraham, ACM TOCS 13(1), 1995).
//!
//! **Write-backs.** Each line has a number `m`: the line is modified in caches of more than `m`
//! ways (Thompson and Smith, ACM TOCS 7(1), 1989). A lookup at depth `d` raises `m` to at least
//! `d`. A store sets `m` to 0, and adds one to the lines modified in caches of up to `m` ways.
//! Write-backs are the lines that became modified, minus those still modified at the end, or when a
//! private view is dropped.
//!
//! **Levels before the varied one** are the first design's own. The requests of these earlier
//! levels are answered for all sizes. Levels after the varied one are simulated for each design; in
//! the flushed view, once for all designs whose level has lost no line since the flush. A debug
//! build compares the first design's own counters with the sweep's in each run. Sums that would
//! need more than 64 MiB are emitted early, in parts.

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

/// Number of views: shared, private and flushed, in this order in all arrays by view.
const VIEWS: usize = 3;
const SHARED: usize = 0;
const PRIVATE: usize = 1;
const FLUSHED: usize = 2;
