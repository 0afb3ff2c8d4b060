//! Computes how many excess cycles arise in each part of the memory system.

use switchcost_design::result::{DesignResult, Detail, LevelCounts};
use switchcost_design::{Holds, Level};

use super::findings::{ExcessPart, Part};
use super::sums::difference;

/// Returns the excess cycles of instruction fetches, data accesses, TLBs and write stalls, which
/// add up to all excess cycles.
pub(crate) fn parts(result: &DesignResult, detail: &Detail) -> Vec<ExcessPart> {
    let (shared, private) = (&result.hierarchies.shared, &result.hierarchies.private);
    // Cycles saved at first touches are not part of the excess.
    let gained = detail.gained_cycles;
    let mut instructions = gained.first_touches_of_code as f64;
    let mut data = gained.first_touches_of_data as f64;
    for ((level, shared), private) in result
        .design
        .levels
        .iter()
        .zip(&shared.levels)
        .zip(&private.levels)
    {
        let cycles = difference(shared.cycles, private.cycles);
        let share = instruction_share(level, shared, private);
        instructions += cycles * share;
        data += cycles * (1.0 - share);
    }
    let tlbs = shared.tlbs.iter().zip(&private.tlbs);
    let tlb: f64 = tlbs
        .map(|(shared, private)| difference(shared.cycles, private.cycles))
        .sum();
    let stalls = difference(shared.write_stall_cycles, private.write_stall_cycles);
    let total = difference(
        shared.cycles.saturating_add(gained.first_touches()),
        private.cycles,
    );
    let part = |part, cycles| ExcessPart {
        part,
        cycles,
        share: (total > 0.0).then(|| cycles / total),
    };
    let parts = [
        (Part::Instructions, instructions),
        (Part::Data, data),
        (Part::Tlb, tlb),
        (Part::WriteStalls, stalls),
    ];
    parts
        .into_iter()
        .map(|(name, cycles)| part(name, cycles))
        .collect()
}

/// Returns the share of a level's excess cycles that is due to instruction fetches: 1 or 0 if the
/// level holds only instructions or data, otherwise the share of excess misses on demand.
fn instruction_share(level: &Level, shared: &LevelCounts, private: &LevelCounts) -> f64 {
    match level.holds {
        Holds::Instructions => 1.0,
        Holds::Data => 0.0,
        Holds::Both => {
            let fetches =
                difference(shared.instruction_misses, private.instruction_misses).max(0.0);
            let loads = difference(shared.load_misses, private.load_misses);
            let stores = difference(shared.store_misses, private.store_misses);
            let data = (loads
                + if level.allocates_on_write() {
                    stores
                } else {
                    0.0
                })
            .max(0.0);
            if fetches + data > 0.0 {
                fetches / (fetches + data)
            } else {
                0.0
            }
        }
    }
}
