//! Internal to switchcost: what was observed, in the formats of other tools: a trace for Perfetto, stacks for flame graphs and pprof,
//! metrics for Prometheus.
//!
//! What comes in: an observation, its findings, or events as they come. What goes out: bytes that other programs read. No files, no
//! machine, no statistics. Names are hostile text: no control character of theirs is written as text.

mod metrics;
mod perfetto;
mod pprof;
mod rows;
mod stacks;
#[cfg(test)]
mod testing;
mod user_stacks;

pub use metrics::{Scraped, metrics, prometheus_text};
pub use perfetto::{Clocks, Perfetto};
pub use pprof::pprof;
pub use stacks::folded;
