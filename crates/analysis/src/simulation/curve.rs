//! Computes a curve of cost against instructions since the switch, from sums by interval.

use super::findings::{Point, Spread};
use super::sums::{Cell, Cycles, Sum};

/// Returns one point for each interval that any segment reaches. The last cell has the sum of all
/// later intervals, and gives no point.
pub(crate) fn points(cells: &[Cell], length: u64) -> Vec<Point> {
    let Some((_, intervals)) = cells.split_last() else {
        return Vec::new();
    };
    let all = cells.first().map_or(0, |cell| cell.sum.segments);
    let mut cumulative = 0.0;
    let mut points = Vec::new();
    for (i, cell) in intervals.iter().enumerate() {
        let sum = &cell.sum;
        let Some(excess) = sum.cpi(Sum::excess) else {
            continue;
        };
        cumulative += excess * run_through(sum, length);
        points.push(Point {
            interval: i as u32,
            since_switch_instructions: length.saturating_mul(i as u64),
            segments: sum.segments,
            survivors: sum.segments as f64 / all as f64,
            shared_cpi: spread(cell, 0, sum.shared as f64),
            private_cpi: spread(cell, 1, sum.private as f64),
            excess_cpi: spread(cell, 2, sum.excess()),
            flushed_cpi: sum.flushed as f64 / sum.instructions as f64,
            cumulative_excess_cycles: cumulative,
        });
    }
    points
}

/// Returns the mean number of instructions that a segment runs within the first `within`
/// instructions of an interval. For segments that end within the interval, it is unknown how many
/// more they would have run.
fn run_through(sum: &Sum, within: u64) -> f64 {
    (sum.instructions as f64 / sum.segments.max(1) as f64).min(within as f64)
}

/// Returns mean, standard deviation and largest value over segments. Each segment has its
/// instructions as weight: the variance is sum w (x - m)^2 / sum w, times n / (n - 1).
fn spread(cell: &Cell, i: usize, cycles: f64) -> Spread {
    let (instructions, n) = (cell.sum.instructions as f64, cell.sum.segments as f64);
    let mean = cycles / instructions;
    let is_known = !cell.is_mixed && cell.sum.segments > 1;
    // Rounding may give a small negative number if all segments are equal.
    let variance = (cell.squares[i] / instructions - mean * mean).max(0.0) * n / (n - 1.0);
    let largest = cell.largest.0[i];
    Spread {
        mean,
        sd: is_known.then(|| variance.sqrt()),
        max: (!cell.is_mixed && largest.is_finite()).then_some(largest),
    }
}

/// Returns the integral of a curve from the switch to `end` instructions after it, in cycles per
/// switch; `None` if an interval before `end` has no instructions.
pub(crate) fn integral(cycles: Cycles, sums: &[Sum], length: u64, end: u64) -> Option<f64> {
    let mut integral = 0.0;
    for (i, sum) in sums.iter().enumerate() {
        let start = length.saturating_mul(i as u64);
        let within = end.saturating_sub(start).min(length);
        if within == 0 {
            break;
        }
        integral += sum.cpi(cycles)? * run_through(sum, within);
    }
    Some(integral)
}
