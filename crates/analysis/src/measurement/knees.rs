//! Finds the sizes at which a cost curve changes its slope, with their confidence.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::measurement::segments::{Point, cuts};
use crate::statistics::order_statistics::median;

/// Number of bootstrap resamples for the confidence of a knee. The standard error of the confidence
/// is then at most 3.5 %.
const RESAMPLES: usize = 200;
/// Standard error of the cost at each size, as a share, in addition to that of the measurement.
/// Within a region, page placement makes real curves uneven.
const ROUGHNESS: f64 = 0.05;

/// One size of a curve, with the measured costs.
#[derive(Clone, Debug)]
pub(crate) struct Measured<'a> {
    pub(crate) size_bytes: u64,
    pub(crate) total_ns: f64,
    /// Standard error of the total cost, as a share of the total cost.
    pub(crate) relative_error: f64,
    /// Total cost of each repetition in nanoseconds.
    pub(crate) repetitions: &'a [f64],
}

/// Position of a knee in a curve: the index of the last point before the knee, and the confidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct KneePosition {
    pub(crate) after: usize,
    /// Share of bootstrap resamples with a knee at this position or an adjacent one, by the rule of
    /// succession.
    pub(crate) confidence: f64,
}

/// Returns the knees of a curve whose totals are above 0, by ascending size. A knee is a cut
/// between straight pieces of the logarithm of the total against the logarithm of the size.
/// Confidences come from the bootstrap (Efron 1979) over the repetitions of each size.
pub(crate) fn places(curve: &[Measured<'_>], seed: u64) -> Vec<KneePosition> {
    let points: Vec<Point> = curve
        .iter()
        .map(|measured| point(measured, measured.total_ns))
        .collect();
    let found = cuts(&points);
    if found.is_empty() {
        return Vec::new();
    }
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let resamples: Vec<_> = (0..RESAMPLES)
        .map(|_| cuts(&resample(curve, &points, &mut random)))
        .collect();
    found
        .into_iter()
        .map(|after| KneePosition {
            after,
            confidence: share_near(&resamples, after),
        })
        .collect()
}

fn share_near(resamples: &[Vec<usize>], after: usize) -> f64 {
    let is_near = |cuts: &&Vec<usize>| cuts.iter().any(|cut| cut.abs_diff(after) <= 1);
    let near = resamples.iter().filter(is_near).count();
    // Laplace's rule of succession, because agreement of all resamples is no certainty.
    (near + 1) as f64 / (resamples.len() + 2) as f64
}

/// Returns a size and a total cost as a point on logarithmic scales. The error of a logarithm is
/// the relative error.
fn point(measured: &Measured<'_>, total_ns: f64) -> Point {
    let sigma = measured.relative_error.hypot(ROUGHNESS);
    Point {
        x: (measured.size_bytes as f64).log2(),
        y: total_ns.ln(),
        sigma,
    }
}

/// Returns a curve whose points are medians of repetitions that were drawn with replacement. A
/// point whose median is not above 0 stays as in `points`.
fn resample(curve: &[Measured<'_>], points: &[Point], random: &mut ChaCha8Rng) -> Vec<Point> {
    let redraw = |(measured, original): (&Measured<'_>, &Point)| {
        let repetitions = measured.repetitions;
        let draw = |_| repetitions[random.random_range(0..repetitions.len())];
        let mut drawn: Vec<f64> = (0..repetitions.len()).map(draw).collect();
        median(&mut drawn)
            .filter(|total| *total > 0.0)
            .map_or(*original, |total| point(measured, total))
    };
    curve.iter().zip(points).map(redraw).collect()
}
