//! A line that moves between levels.

use super::listener::Requester;
use crate::address::Address;

/// A line on its way from one level to another, with its state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) address: Address,
    pub(super) is_modified: bool,
    pub(super) requester: Requester,
}
