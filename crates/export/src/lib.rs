//! Internal to switchcost: results of an observation in the formats of other tools: traces for
//! Perfetto, stacks for flame graphs and pprof, and metrics for Prometheus.
//!
//! The input is an observation, its findings, or events as they occur. The output is bytes that
//! other programs read. This crate opens no files, does not examine the machine and computes no
//! statistics. Task names may contain anything, so their control characters are escaped.

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
