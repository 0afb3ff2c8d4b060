//! Replaces the vector registers on processors without XSAVE.

use switchcost_record::VectorState;
use switchcost_units::Bytes;

pub(super) fn xsave_bytes(_: VectorState) -> Option<Bytes> {
    None
}

/// Area for registers. An area is never made here, because this architecture's registers cannot be
/// loaded.
#[derive(Default)]
pub(super) struct Area;

impl Area {
    pub(super) fn new(state: VectorState) -> Result<Area, String> {
        Err(format!(
            "--vector-state {state} works on x86-64 only; measure there"
        ))
    }

    #[inline(always)]
    pub(super) fn load(&self) {}

    pub(super) fn is_in_use(&self) -> bool {
        false
    }

    pub(super) fn unexpected(&self) -> Option<u64> {
        None
    }
}
