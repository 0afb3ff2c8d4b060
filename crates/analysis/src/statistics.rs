//! Estimates with confidence intervals, and the statistics for them.

pub(crate) mod estimate;
pub(crate) mod order_statistics;
pub(crate) mod quantiles;
pub(crate) mod signed_rank;

pub use estimate::Estimate;
