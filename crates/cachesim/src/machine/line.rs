//! A line on its way between levels.

use crate::address::Address;

/// Whose a line is, the kernel's or that of the process that brought it in, and in which turn it came. Only the shared view asks.
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
