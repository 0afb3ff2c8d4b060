//! Finds the sizes at which a cost curve changes its slope, with their confidence and likely cache
//! or TLB.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::measurement::segments::{Point, cuts};
use crate::statistics::order_statistics::median;

/// Number of resamples for the confidence of a knee; the standard error is then at most 3.5 %.
const RESAMPLES: usize = 200;
/// Smallest step that counts as a knee, as a share: within a region the placement of pages makes a
/// real curve uneven.
const ROUGHNESS: f64 = 0.05;

/// A size of a curve, with its measurements.
#[derive(Clone, Debug)]
pub(crate) struct Measured<'a> {
    pub(crate) size_bytes: u64,
    pub(crate) total_ns: f64,
    /// Standard error of the total cost, relative to the total cost.
    pub(crate) relative_error: f64,
    /// Total cost of each repetition.
    pub(crate) repetitions: &'a [f64],
}

/// Point of a curve after which a knee lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct KneePosition {
    pub(crate) after: usize,
    /// Share of resamples that put a knee here or one step away, by the rule of succession.
    pub(crate) confidence: f64,
}

/// Returns the knees of a curve of positive totals, in order of size: the cuts between straight
/// pieces of the logarithm of the total over the logarithm of the size. The confidence comes from
/// the bootstrap (Efron 1979) over the repetitions of each size.
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
    // Laplace's rule of succession: agreement of all resamples is not certainty.
    (near + 1) as f64 / (resamples.len() + 2) as f64
}

/// Converts a size to a point on logarithmic scales; the error of a logarithm is the relative
/// error.
fn point(measured: &Measured<'_>, total_ns: f64) -> Point {
    let sigma = measured.relative_error.hypot(ROUGHNESS);
    Point {
        x: (measured.size_bytes as f64).log2(),
        y: total_ns.ln(),
        sigma,
    }
}

/// Draws as many repetitions with replacement and returns their median; the original point if the
/// median is not above 0.
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
