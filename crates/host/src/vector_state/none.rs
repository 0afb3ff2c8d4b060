//! Processors without XSAVE.

use switchcost_record::VectorState;
use switchcost_units::Bytes;

pub(super) fn xsave_bytes(_: VectorState) -> Option<Bytes> {
    None
}

/// There is none.
pub(super) enum Area {}

impl Area {
    pub(super) fn new(state: VectorState) -> Result<Area, String> {
        Err(format!("found no XSAVE for --vector-state {state}, need x86-64; measure there"))
    }

    pub(super) fn load(&self) {
        match *self {}
    }

    pub(super) fn is_in_use(&self) -> bool {
        match *self {}
    }

    pub(super) fn unexpected(&self) -> Option<u64> {
        match *self {}
    }
}
