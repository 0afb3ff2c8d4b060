//! Internal to switchcost: results of an observation in the formats of other tools. These are
//! traces for Perfetto, stacks for flame graphs and pprof, and metrics for Prometheus.
//!
//! The input is an observation, its findings, or events as they occur; the output is bytes that
//! other programs read. No files, no machine, no statistics. Names are hostile text, so their
//! control characters are never written as text.

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
