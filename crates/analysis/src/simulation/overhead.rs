//! Average cost times switches over all cycles, with the interval that batches of segments give it.

use super::context::Context;
use super::cost::{SUMS_ONLY, rest, used, with_interval};
use super::curve::integral;
use super::design_sums::DesignSums;
use super::findings::{Cost, Cut};
use super::group::merged;
use super::sums::Sum;

/// `cost` is the average cost up to `cut`, `cycles` are all of the shared hierarchy. Without a batch of segments its cycles
/// and its share of the switches are gone, too.
pub(crate) fn overhead(
    context: &Context<'_>,
    sums: &DesignSums,
    cost: &Cost,
    cut: Cut,
    cycles: u64,
    switches: f64,
) -> Cost {
    let Some(estimate) = cost
        .estimate
        .filter(|_| cycles > 0)
        .map(|cost| cost * switches / cycles as f64)
    else {
        return Cost::none(
            cost.why
                .clone()
                .unwrap_or_else(|| "found no cycle in the record, need one".to_owned()),
        );
    };
    if cost.low.is_none() {
        let why = cost.why.clone().unwrap_or_else(|| SUMS_ONLY.to_owned());
        return Cost {
            estimate: Some(estimate),
            why: Some(why),
            ..Cost::default()
        };
    }
    let all: Vec<usize> = (0..context.head.causes.len()).collect();
    let (cells, batches) = merged(sums, &all);
    let by_interval: Vec<Sum> = cells.iter().map(|cell| cell.sum).collect();
    let (length, segments) = (
        context.head.interval_instructions,
        by_interval.first().map_or(0, |sum| sum.segments),
    );
    let without = |batch: &&Vec<Sum>| {
        let left = rest(&by_interval, batch);
        let share = left.first()?.segments as f64 / segments as f64;
        let gone = batch
            .iter()
            .fold(0_u64, |sum, part| sum.saturating_add(part.shared));
        let cycles = cycles.checked_sub(gone).filter(|cycles| *cycles > 0)?;
        Some(
            integral(Sum::excess, &left, length, cut.instructions)? * switches * share
                / cycles as f64,
        )
    };
    with_interval(
        estimate,
        segments,
        &used(&batches),
        without,
        context.options.confidence,
    )
}
