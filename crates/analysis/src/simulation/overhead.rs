//! Computes costs as shares of all cycles, with intervals from batches of segments.

use super::context::Context;
use super::cost::{SUMS_ONLY, rest, used, with_interval};
use super::curve::integral;
use super::design_sums::DesignSums;
use super::findings::{Cost, Cut};
use super::group::merged;
use super::sums::Sum;
use crate::lists::saturating_sum;

/// Returns the excess cycles as a share of all cycles of the shared hierarchy. The interval is
/// computed from the shares that result if each batch of segments is left out once (jackknife).
pub(crate) fn overhead(
    context: &Context<'_>,
    sums: &DesignSums,
    cost: &Cost,
    excess: f64,
    cycles: u64,
) -> Cost {
    let without =
        |_: &[Sum], batch: &[Sum]| Some(excess - batch.iter().map(Sum::excess).sum::<f64>());
    share(
        context,
        sums,
        cost,
        cost.estimate.map(|_| excess),
        cycles,
        without,
    )
}

/// Returns the average cost times the number of switches, as a share of all cycles, as in Table 4
/// of Mogul and Borg 1990. The result may exceed 1 if short time slices differ from long ones.
/// `cost` is the average cost up to `cut`. The interval is computed from the shares that result if
/// each batch of segments is left out once (jackknife).
pub(crate) fn table_4_overhead(
    context: &Context<'_>,
    sums: &DesignSums,
    cost: &Cost,
    cut: Cut,
    cycles: u64,
    switches: f64,
) -> Cost {
    let length = context.head.interval_instructions;
    let without = |left: &[Sum], batch: &[Sum]| {
        let segments = |sums: &[Sum]| sums.first().map_or(0, |sum| sum.segments) as f64;
        let kept = segments(left) / (segments(left) + segments(batch));
        Some(integral(Sum::excess, left, length, cut.instructions)? * switches * kept)
    };
    let paid = cost.estimate.map(|cost| cost * switches);
    share(context, sums, cost, paid, cycles, without)
}

/// Returns `paid` cycles as a share of all `cycles`, with an interval by the jackknife. `without`
/// returns the paid cycles without one batch, from the sums without the batch and from the sums of
/// the batch.
fn share(
    context: &Context<'_>,
    sums: &DesignSums,
    cost: &Cost,
    paid: Option<f64>,
    cycles: u64,
    without: impl Fn(&[Sum], &[Sum]) -> Option<f64>,
) -> Cost {
    let why = |other: &str| cost.why.clone().unwrap_or_else(|| other.to_owned());
    let Some(estimate) = paid.filter(|_| cycles > 0).map(|paid| paid / cycles as f64) else {
        return Cost::none(why("there is no cycle in the record"));
    };
    if cost.interval.is_none() {
        return Cost::estimate_only(estimate, why(SUMS_ONLY));
    }
    let all: Vec<usize> = (0..context.head.causes.len()).collect();
    let (cells, batches) = merged(sums, &all);
    let by_interval: Vec<Sum> = cells.iter().map(|cell| cell.sum).collect();
    let without = |batch: &&Vec<Sum>| {
        let gone = saturating_sum(batch.iter().map(|part| part.shared));
        let cycles = cycles.checked_sub(gone).filter(|cycles| *cycles > 0)?;
        Some(without(&rest(&by_interval, batch), batch)? / cycles as f64)
    };
    with_interval(
        estimate,
        by_interval.first().map_or(0, |sum| sum.segments),
        &used(&batches),
        without,
        context.options.confidence,
    )
}
