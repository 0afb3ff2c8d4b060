//! Cases whose counters can be calculated by hand: both simulators must give exactly these.

mod beside_caches;
mod build;
mod replacement;
mod switches;
mod walks;
