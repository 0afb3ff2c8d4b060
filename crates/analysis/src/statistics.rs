//! Estimates with confidence intervals, and the statistics from which they are computed.

pub(crate) mod estimate;
mod interval;
pub(crate) mod order_statistics;
pub(crate) mod quantiles;
pub(crate) mod signed_rank;

pub use estimate::Estimate;
pub use interval::Interval;
pub(crate) use interval::{Ends, ends};
