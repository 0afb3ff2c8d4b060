//! Computes the average cost of a switch: excess cycles up to the point that only a share of the
//! segments reaches.

use super::curve::integral;
use super::findings::{Cost, Cut};
use super::interval::{FEWEST_SEGMENTS, METHOD, MIN_BATCHES, jackknife};
use super::sums::{Cell, Cycles, Sum};
use crate::statistics::order_statistics::nearest_rank;

/// Why there is no interval if segments cannot be distinguished.
pub(crate) const SUMS_ONLY: &str = "no interval, because the record has only sums; simulate fewer designs together, or use --in-full";

/// Why lookups of the two hierarchies were not compared.
pub(crate) const NOT_COMPARED: &str =
    "not in the record: simulated together with many other designs; simulate again, with --in-full";

/// Maximum number of instructions by which a time slice ends late: a superblock of the capture tool
/// has at most about 60.
const LATEST: u64 = 64;

/// Returns the end of the integration from ascending segment lengths: the end of the quantum, or of
/// the `window` of recorded intervals, whichever comes first.
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

/// Moves a cut-off that lies shortly after the quantum to its end: a time slice ends some
/// instructions late, and hardly any segment reaches so far.
fn punctual_end(end: u64, quantum_instructions: Option<u64>) -> u64 {
    let is_late = |quantum: &u64| {
        end.checked_sub(*quantum)
            .is_some_and(|late| late <= LATEST.max(quantum / 100))
    };
    quantum_instructions.filter(is_late).unwrap_or(end)
}

/// Returns the end of the integration if lengths are known only to the interval: the first interval
/// that fewer segments reach.
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

/// Returns the cost of a switch up to the cut-off, with an interval from the sums of each batch of
/// segments, if there are batches.
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

/// Returns the batches to which at least one segment belongs.
pub(crate) fn used(batches: &[Vec<Sum>]) -> Vec<&Vec<Sum>> {
    batches
        .iter()
        .filter(|batch| batch.iter().any(|sum| sum.segments > 0))
        .collect()
}

/// Returns the sums without one batch.
pub(crate) fn rest(sums: &[Sum], batch: &[Sum]) -> Vec<Sum> {
    sums.iter()
        .zip(batch)
        .map(|(all, part)| all.less(part))
        .collect()
}

/// Returns an estimate over segments with the interval from their batches. `without` are the
/// estimates with each batch left out once.
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
        return why("all segments that reach the cut-off follow each other; trace for longer");
    };
    match jackknife(estimate, &values, confidence) {
        None => why("the batches differ beyond any number"),
        Some(ends) => Cost {
            without_one: values,
            ..Cost::new(estimate, ends, confidence, used.len(), METHOD)
        },
    }
}
