//! Tests cases whose counters can be calculated by hand: the simulator and the oracle must give
//! exactly these counts.

mod beside_caches;
pub(crate) mod build;
mod partition;
mod prefetchers;
mod replacement;
mod switches;
mod timed;
mod walks;
