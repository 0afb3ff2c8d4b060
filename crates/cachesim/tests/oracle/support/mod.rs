//! A second simulator, written only from `docs/method/simulation.md` and the details in this
//! crate's README.

pub(crate) mod address;
pub(crate) mod cache;
pub(crate) mod fault;
pub(crate) mod hierarchy;
pub(crate) mod lines;
pub(crate) mod machine;
pub(crate) mod mappings;
pub(crate) mod memory;
pub(crate) mod prefetchers;
pub(crate) mod process_table;
pub(crate) mod shape;
pub(crate) mod simulator;
pub(crate) mod stack;
pub(crate) mod steps;
