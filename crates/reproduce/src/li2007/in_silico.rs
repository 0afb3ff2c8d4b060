//! Simulates the traversals of Figures 1 and 2 of Li et al. in the caches of the paper's machine,
//! and the hand-off in a guest.
//!
//! The cost of a switch is the additional time with shared caches: the time of the traversals of
//! two alternating processes minus that of each process alone, which is the paper's baseline.
//! Latency and bandwidth of the machine's memory are not published, and the design's values were
//! chosen with the paper's figures in view. So the claims are at best consistent after calibration,
//! and judged over the whole range of the free parameters.

mod figure_1;
mod figure_2;
mod hand_off;
mod sensitivity;
mod walks;

use crate::claims::Quantities;
use crate::{Exhibit, Records};

pub(super) fn exhibits(records: &Records) -> Vec<Exhibit> {
    vec![
        figure_1::exhibit(records),
        figure_2::exhibit(records),
        sensitivity::exhibit(records),
        hand_off::exhibit(records),
    ]
}

pub(super) fn quantities() -> Quantities {
    sensitivity::quantities()
}
