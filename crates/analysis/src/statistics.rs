//! The definition of an estimate with its interval.

pub(crate) mod estimate;
pub(crate) mod order_statistics;
pub(crate) mod quantiles;
pub(crate) mod signed_rank;

pub use estimate::Estimate;
