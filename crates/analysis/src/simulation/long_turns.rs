//! Computes the cost of a switch for time slices that last up to the cut-off. The average cost is
//! no cost of any single time slice, because it is summed over intervals that are reached by
//! different time slices. So the average is too high or too low if short time slices differ from
//! long ones.

use super::context::Context;
use super::cost::with_interval;
use super::design_sums::DesignSums;
use super::findings::{Cost, Cut};
use super::sums::Sum;

/// Returns the mean excess cycles of time slices that reach the last interval before the cut-off,
/// up to their ends.
pub(crate) fn long_turns(context: &Context<'_>, sums: &DesignSums, cut: Cut) -> Cost {
    if cut.is_rounded || cut.instructions == 0 {
        return Cost::none("not known: the record holds sums over segments");
    }
    let last = (cut.instructions - 1) / context.head.interval_instructions.max(1);
    let last = usize::try_from(last).unwrap_or(usize::MAX);
    let batches: Vec<Sum> = sums
        .ends
        .iter()
        .flatten()
        .map(|ends| add_up(ends.iter().skip(last)))
        .filter(|batch| batch.segments > 0)
        .collect();
    let all = add_up(batches.iter());
    let Some(estimate) = mean(&all) else {
        return Cost::none("no time slice reaches the cut-off");
    };
    with_interval(
        estimate,
        all.segments,
        &batches,
        |batch| mean(&all.less(batch)),
        context.options.confidence,
    )
}

fn add_up<'a>(sums: impl Iterator<Item = &'a Sum>) -> Sum {
    let mut all = Sum::default();
    sums.for_each(|sum| all.add(sum));
    all
}

fn mean(sum: &Sum) -> Option<f64> {
    (sum.segments > 0).then(|| sum.excess() / sum.segments as f64)
}
