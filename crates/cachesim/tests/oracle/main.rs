//! Tests the simulator against a second, simple simulator (the oracle), and against counts
//! calculated by hand.

mod agreement;
mod closed_forms;
mod findings;
mod fixed_cases;
mod parts;
mod planted_faults;
mod random;
mod support;
mod sweeps;
mod together_cases;
