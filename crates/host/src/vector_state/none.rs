//! Stands in for vector registers on processors without XSAVE.

use switchcost_record::VectorState;
use switchcost_units::Bytes;

pub(super) fn xsave_bytes(_: VectorState) -> Option<Bytes> {
    None
}

/// Stands for an area of registers; no registers can be loaded on these processors, so no value is
/// ever made.
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
