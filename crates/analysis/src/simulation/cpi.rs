//! Computes the cycles per instruction of a whole trace, with an interval from batches of segments.

use super::context::Context;
use super::cost::{SUMS_ONLY, used, with_interval};
use super::design_sums::DesignSums;
use super::findings::Cost;
use super::group::merged;
use super::sums::Sum;
use crate::lists::saturating_sum;

/// Returns the cycles per instruction in the shared hierarchy. `cycles` is the number of all cycles
/// in that hierarchy. The interval is computed from the ratios that result if each batch of
/// segments is left out once (jackknife). If `is_full` is false, the record has only sums, and
/// there is no interval.
pub(crate) fn cpi(context: &Context<'_>, sums: &DesignSums, cycles: u64, is_full: bool) -> Cost {
    let instructions = context.head.trace.instructions;
    let ratio = |cycles: u64, instructions: u64| {
        (instructions > 0).then(|| cycles as f64 / instructions as f64)
    };
    let Some(estimate) = ratio(cycles, instructions) else {
        return Cost::none("there is no instruction in the record");
    };
    if !is_full || sums.is_disordered {
        return Cost::estimate_only(estimate, SUMS_ONLY);
    }
    let all: Vec<usize> = (0..context.head.causes.len()).collect();
    let (cells, batches) = merged(sums, &all);
    let segments = cells.first().map_or(0, |cell| cell.sum.segments);
    let without = |batch: &&Vec<Sum>| {
        let gone = |of: fn(&Sum) -> u64| saturating_sum(batch.iter().map(of));
        ratio(
            cycles.checked_sub(gone(|sum| sum.shared))?,
            instructions.checked_sub(gone(|sum| sum.instructions))?,
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

#[cfg(test)]
mod tests {
    use super::super::testing::{LENGTH, QUANTUM, Run};

    #[test]
    fn it_is_all_cycles_over_all_instructions_and_its_interval_that_of_a_mean() {
        let mut run = Run::new();
        let excess = |segment: u64| (segment * 7 % 11) as f64 / 10.0;
        for segment in 0..80 {
            run.segment((segment % 2) as u32, QUANTUM, LENGTH, 2.0, |_| {
                excess(segment)
            });
        }
        let found = run.design().cpi;
        // For segments of equal length the result is their mean; two segments form a batch.
        let batches: Vec<f64> = (0..40)
            .map(|batch| 2.0 + (excess(2 * batch) + excess(2 * batch + 1)) / 2.0)
            .collect();
        let mean = batches.iter().sum::<f64>() / 40.0;
        let wanted = super::super::interval::mean_interval(&batches, 0.9).expect("forty");
        let is_near = |found: Option<f64>, wanted: f64| {
            found.is_some_and(|found| (found - wanted).abs() < 1e-3)
        };
        assert!(is_near(found.estimate, mean), "{found:?} for {mean}");
        let (low, high) = found.interval.unzip();
        assert!(
            is_near(low, wanted.low) && is_near(high, wanted.high),
            "{found:?} for {wanted:?}"
        );
    }
}
