//! Computes an upper bound of the cost of a switch: the cycles in which every line and every TLB
//! entry of a design is filled once.

use crate::lists::saturating_sum;
use switchcost_design::Design;

/// Returns the sum over all caches of lines times miss cycles, plus the sum over all TLBs of
/// entries times miss cycles. Mogul and Borg 1990, section 5.1, use this check (8k lines of 15
/// cycles: over 120,000 cycles).
pub(crate) fn reload_bound_cycles(design: &Design) -> u64 {
    let levels = design
        .levels
        .iter()
        .map(|level| level.lines().saturating_mul(level.miss_cycles.into()));
    let tlbs = design
        .tlbs
        .iter()
        .map(|tlb| u64::from(tlb.entries).saturating_mul(tlb.miss_cycles.into()));
    saturating_sum(levels.chain(tlbs))
}
