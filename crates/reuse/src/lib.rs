//! Internal to switchcost: the kinds of requests by which a traced program gets its cache lines
//! (docs/method/prices.md).
//!
//! A [`Classifier`] determines the kind of a request by the requests before. Simulations use it for
//! lost lines, and [`KindsByInstruction`] for all requests of some of a trace's chunks.

mod classifier;
mod instructions;
mod recency;
mod streams;
mod tree;

pub use classifier::{Access, Arrival, Classifier};
pub use instructions::KindsByInstruction;

/// Number of address bits within a line of 64 bytes.
pub const LINE_BITS: u32 = 6;
