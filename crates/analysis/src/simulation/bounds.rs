//! Computes an upper bound on the cost of a switch: everything that the design can hold, brought in
//! once.

use crate::lists::saturating_sum;
use switchcost_design::Design;

/// Returns the lines times miss cycles of every level, plus the entries times walk cycles of every
/// TLB: the check of Mogul and Borg 1990, section 5.1 (8k lines at 15 cycles: over 120,000 cycles).
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
