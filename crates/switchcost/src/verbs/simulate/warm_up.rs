//! Measures the effect of a warm-up on the results.

use switchcost_design::result::{DesignResult, LevelCounts, PartResult, View, WithoutWarmUp};

/// Returns the differences that the warm-up makes for the first of `parts`. `without` has the
/// results of this part without a warm-up. Returns an empty list if either is missing.
pub(super) fn differences(parts: &[PartResult], without: &[PartResult]) -> Vec<WithoutWarmUp> {
    let (Some(first), Some(without)) = (parts.first(), without.first()) else {
        return Vec::new();
    };
    let mut all = Vec::new();
    for (place, ((_, with), (_, without))) in first.designs.iter().zip(&without.designs).enumerate()
    {
        let of_parts = |level: usize| {
            parts
                .iter()
                .map(|part| levels(&part.designs[place].1)[level].misses())
                .sum()
        };
        for (number, (with, without)) in levels(with).iter().zip(levels(without)).enumerate() {
            all.push(WithoutWarmUp {
                design: first.designs[place].1.design.name.clone(),
                level: with.name.clone(),
                misses: of_parts(number),
                more_misses: without.misses() as i64 - with.misses() as i64,
            });
        }
    }
    all
}

fn levels(result: &DesignResult) -> Vec<&LevelCounts> {
    let shared = result.hierarchies.get(View::Shared);
    shared.levels.iter().chain(&shared.tlbs).collect()
}
