//! Figures 1 and 2 once more, with the same walks in the caches of the paper's machine.
//!
//! The cost of a switch is what the shared caches take longer than private ones: the walks of two processes that take
//! turns, less the same walks of each alone, which is what the paper's baseline is. What the machine's memory sustained is
//! not published, so each point is simulated with several buses. Where a claim depends on the bus, it is decided by the
//! one that the *other* figure leads to: what is fitted to a figure cannot test it, but can test another.

mod buses;
mod figure_1;
mod figure_2;
mod walks;

use crate::{Exhibit, Records};

pub(super) fn exhibits(records: &Records) -> Vec<Exhibit> {
    vec![figure_1::exhibit(records), figure_2::exhibit(records), buses::exhibit(records)]
}
