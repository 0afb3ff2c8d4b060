//! A line on its way between levels.

use crate::address::Address;
use crate::attribution::Arrival;

/// A line on its way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) address: Address,
    pub(super) is_modified: bool,
    pub(super) arrival: Arrival,
}
