//! A line on its way between levels.

use crate::address::Address;

/// Who brought a line in, and in which turn it came. Only the shared view asks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Arrival {
    pub(super) owner: u32,
    pub(super) turn: u32,
}

/// A line on its way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) address: Address,
    pub(super) is_modified: bool,
    pub(super) arrival: Arrival,
}
