//! Agarwal's model of multiprogramming misses, for comparison with the simulation.
//!
//! The model is from A. Agarwal, M. Horowitz, J. Hennessy, "An analytical cache model", ACM TOCS
//! 7(2), 1989. Each of p processes touches u lines in its time slice of t references. In a
//! direct-mapped cache of S lines, each of these lines is then displaced with a probability of
//! about u (p - 1) / S. So a reference misses with the additional probability u^2 (p - 1) / (t S).

use switchcost_design::result::{DesignResult, Simulation};

use super::findings::{Agarwal, AgarwalLevel};
use crate::lists::saturating_sum;

/// Returns the misses that the model expects, with u, p and t from the record. The error says why
/// the model does not apply. `others` is the mean number of other processes between a departure and
/// the return.
pub(crate) fn agarwal(
    head: &Simulation,
    result: &DesignResult,
    others: Option<f64>,
) -> Result<Agarwal, String> {
    let others =
        others.ok_or("no process ran again after another one, so there is nothing to model")?;
    let segments = saturating_sum(head.processes.iter().map(|process| process.segments));
    if segments == 0 {
        return Err("the record counts no segments".to_owned());
    }
    let facts = &head.trace;
    let references = facts.instructions as f64 + facts.loads as f64 + facts.stores as f64;
    let mut levels = Vec::new();
    let mut cycles = (0.0, 0.0);
    for (lines, miss_cycles, fills, name) in capacities(result) {
        let level = level(name, fills as f64 / segments as f64, lines, others);
        cycles.0 += level.misses_per_switch * f64::from(miss_cycles);
        cycles.1 += level.misses_at_most * f64::from(miss_cycles);
        levels.push(level);
    }
    let is_beyond = |level: &AgarwalLevel| level.lines_touched * others > level.lines as f64;
    Ok(Agarwal {
        processes: others + 1.0,
        segment_references: references / segments as f64,
        is_beyond_range: levels.iter().any(is_beyond),
        levels,
        cycles_per_switch: cycles.0,
        cycles_at_most: cycles.1,
    })
}

/// Returns four facts about each cache and TLB: number of lines, cycles of a miss, fills of the
/// flushed hierarchy, and name.
fn capacities(result: &DesignResult) -> impl Iterator<Item = (u64, u32, u64, &str)> {
    let flushed = &result.hierarchies.flushed;
    let levels = result.design.levels.iter().zip(&flushed.levels);
    let levels = levels.map(|(level, counts)| {
        (
            level.lines(),
            level.miss_cycles,
            counts.fills,
            level.name.as_str(),
        )
    });
    let tlbs = result.design.tlbs.iter().zip(&flushed.tlbs);
    levels.chain(tlbs.map(|(tlb, counts)| {
        (
            tlb.entries.into(),
            tlb.miss_cycles,
            counts.fills,
            tlb.name.as_str(),
        )
    }))
}

fn level(name: &str, touched: f64, lines: u64, others: f64) -> AgarwalLevel {
    let capacity = lines.max(1) as f64;
    // ln_1p is used because 1 - 1/S would lose digits for a large S. For S = 1 the line is always
    // lost.
    let kept = (touched * others * (-1.0 / capacity).ln_1p()).exp();
    AgarwalLevel {
        level: name.to_owned(),
        lines_touched: touched,
        lines,
        misses_per_switch: touched * touched * others / capacity,
        misses_at_most: if touched * others > 0.0 {
            touched * (1.0 - kept)
        } else {
            0.0
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_is_near, assert_within};

    #[test]
    fn the_two_forms_meet_where_little_is_displaced() {
        let level = level("L1", 100.0, 1_000_000, 1.0);
        assert_within(level.misses_per_switch, 0.01, 1e-12);
        assert_is_near(level.misses_at_most, level.misses_per_switch, 1e-4);
    }

    /// Shows that no line is lost twice: throwing 64 balls at random into 64 boxes hits a share of
    /// 1 - (1 - 1/64)^64 = 0.635 of the boxes.
    #[test]
    fn no_line_is_lost_twice() {
        let level = level("L1", 64.0, 64, 1.0);
        assert_eq!(level.misses_per_switch, 64.0);
        assert_within(
            level.misses_at_most,
            64.0 * (1.0 - (63.0_f64 / 64.0).powi(64)),
            1e-9,
        );
        assert_eq!(super::level("L1", 0.0, 1, 3.0).misses_at_most, 0.0);
        assert_eq!(super::level("L1", 2.0, 1, 3.0).misses_at_most, 2.0);
    }
}
