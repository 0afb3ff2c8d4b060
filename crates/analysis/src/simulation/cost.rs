//! Computes the average cost of a switch: the excess cycles up to the cut-off, which only a certain
//! share of the segments reaches.

use super::curve::integral;
use super::findings::{Cost, Cut};
use super::interval::{FEWEST_SEGMENTS, METHOD, MIN_BATCHES, jackknife};
use super::sums::{Cell, Cycles, Sum};
use crate::statistics::order_statistics::nearest_rank;

/// Reason why there is no interval in a record with sums over segments only.
pub(crate) const SUMS_ONLY: &str = "no interval, because only totals were recorded for this design; simulate fewer designs together, or use --in-full";

/// Reason why lost and gained cycles are unknown: lookups in the two hierarchies were not compared.
pub(crate) const NOT_COMPARED: &str =
    "not in the record: simulated together with many other designs; simulate again, with --in-full";

/// Number of instructions by which any time slice may end after its quantum; 1 % of the quantum, if
/// that is more. A superblock of the capture tool has at most about 60 instructions.
const LATEST: u64 = 64;

/// Returns the cut-off from segment lengths in ascending order: the length that the share `share`
/// of the segments exceeds. A cut-off slightly after the quantum is moved to the end of the
/// quantum. The cut-off is at most `window`, the length of the recorded intervals.
pub(crate) fn cut_of_lengths(
    sorted: &[u64],
    share: f64,
    window: u64,
    quantum_instructions: Option<u64>,
) -> Cut {
    let end = punctual_end(
        nearest_rank(sorted, 1.0 - share).unwrap_or(0),
        quantum_instructions,
    );
    Cut {
        instructions: end.min(window),
        is_reached: end <= window,
        is_rounded: false,
    }
}

/// Returns the quantum if `end` is slightly later, else `end`. A time slice ends some instructions
/// after its quantum, so hardly any segment reaches such an end.
fn punctual_end(end: u64, quantum_instructions: Option<u64>) -> u64 {
    let is_late = |quantum: &u64| {
        end.checked_sub(*quantum)
            .is_some_and(|late| late <= LATEST.max(quantum / 100))
    };
    quantum_instructions.filter(is_late).unwrap_or(end)
}

/// Returns the cut-off if lengths are known only by interval: the beginning of the first interval
/// that less than the share `share` of the segments reach.
pub(crate) fn cut_of_sums(cells: &[Cell], share: f64, length: u64) -> Cut {
    let all = cells.first().map_or(0, |cell| cell.sum.segments) as f64;
    let is_few = |cell: &Cell| (cell.sum.segments as f64) < share * all;
    let window = cells.len().saturating_sub(1);
    let end = cells.iter().position(is_few);
    let instructions = length.saturating_mul(end.unwrap_or(window).min(window) as u64);
    Cut {
        instructions,
        is_reached: end.is_some(),
        is_rounded: true,
    }
}

/// Returns the cost of a switch up to the cut-off, with an interval from batches of segments.
/// Without batches, the result has the reason why there is no interval.
pub(crate) fn cost(
    cycles: Cycles,
    sums: &[Sum],
    batches: &[Vec<Sum>],
    length: u64,
    cut: Cut,
    confidence: f64,
) -> Cost {
    let segments = sums.first().map_or(0, |sum| sum.segments);
    if segments == 0 || cut.instructions == 0 {
        return Cost::none("there is no segment; trace for longer");
    }
    let Some(estimate) = integral(cycles, sums, length, cut.instructions) else {
        return Cost::none(
            "an interval before the cut-off has no instructions; choose longer intervals",
        );
    };
    if batches.is_empty() {
        return Cost::estimate_only(estimate, SUMS_ONLY);
    }
    with_interval(
        estimate,
        segments,
        &used(batches),
        |batch| integral(cycles, &rest(sums, batch), length, cut.instructions),
        confidence,
    )
}

/// Returns the batches that have at least one segment.
pub(crate) fn used(batches: &[Vec<Sum>]) -> Vec<&Vec<Sum>> {
    batches
        .iter()
        .filter(|batch| batch.iter().any(|sum| sum.segments > 0))
        .collect()
}

/// Returns the sums over all batches minus those of one batch.
pub(crate) fn rest(sums: &[Sum], batch: &[Sum]) -> Vec<Sum> {
    sums.iter()
        .zip(batch)
        .map(|(all, part)| all.less(part))
        .collect()
}

/// Returns an estimate with an interval by the jackknife over batches of segments. `without`
/// returns the estimate that results if one batch is left out.
pub(crate) fn with_interval<T>(
    estimate: f64,
    segments: u64,
    used: &[T],
    without: impl Fn(&T) -> Option<f64>,
    confidence: f64,
) -> Cost {
    let why = |why: &str| Cost::estimate_only(estimate, format!("no interval: {why}"));
    if segments < FEWEST_SEGMENTS {
        return why(&format!(
            "{FEWEST_SEGMENTS} time slices are needed, but the trace has {segments}; trace for longer"
        ));
    }
    if used.len() < MIN_BATCHES {
        return why(&format!(
            "{MIN_BATCHES} batches of time slices are needed, but the trace has {}; trace for longer",
            used.len()
        ));
    }
    let Some(values) = used.iter().map(without).collect::<Option<Vec<f64>>>() else {
        return why("all segments that reach the cut-off are consecutive; trace for longer");
    };
    match jackknife(estimate, &values, confidence) {
        None => why("the batches differ too much for an interval"),
        Some(number) => Cost {
            without_one: values,
            ..Cost::new(number, confidence, used.len(), METHOD)
        },
    }
}
