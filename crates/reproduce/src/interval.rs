//! Computes confidence intervals of quantities that only this crate needs. All intervals are at 90
//! %, as in the papers and in `analysis`.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use statrs::distribution::{Beta, ContinuousCDF, FisherSnedecor, Normal, StudentsT};
use switchcost_analysis::simulation::interval;

pub(crate) use switchcost_analysis::Interval;

const CONFIDENCE: f64 = 0.9;

/// Returns the mean of independent values with Student's interval; `None` with fewer than two
/// values.
pub(crate) fn mean_interval(values: &[f64]) -> Option<Interval> {
    interval::mean_interval(values, CONFIDENCE)
}

/// Returns the least-squares slope of a line through `points` with Student's interval; `None` with
/// fewer than three points.
pub(crate) fn slope_interval(points: &[(f64, f64)]) -> Option<Interval> {
    let n = points.len() as f64;
    let [x, y] = [0, 1].map(|place| {
        points
            .iter()
            .map(|point| [point.0, point.1][place])
            .sum::<f64>()
            / n
    });
    let sum = |of: &dyn Fn(f64, f64) -> f64| {
        points
            .iter()
            .map(|point| of(point.0 - x, point.1 - y))
            .sum::<f64>()
    };
    let slope = sum(&|x, y| x * y) / sum(&|x, _| x * x);
    let rest = sum(&|x, y| (y - slope * x).powi(2)) / (n - 2.0);
    let half = student(points.len().checked_sub(1)?)? * (rest / sum(&|x, _| x * x)).sqrt();
    half.is_finite().then_some(Interval::symmetric(slope, half))
}

/// Returns a statistic with its jackknife interval; `None` with too few batches. `without_one` has
/// the values of the statistic with each batch left out once.
pub(crate) fn batch_interval(value: f64, without_one: &[f64]) -> Option<Interval> {
    interval::jackknife(value, without_one, CONFIDENCE)
}

/// Returns the ratio of two standard deviations with its interval, by the F distribution of the
/// variances; `None` if the ratio is not positive, or if the interval is not finite. `above` and
/// `below` are the degrees of freedom of the numerator and the denominator.
pub(crate) fn spread_ratio_interval(ratio: f64, above: f64, below: f64) -> Option<Interval> {
    let high = |above, below| {
        Some(
            FisherSnedecor::new(above, below)
                .ok()?
                .inverse_cdf(0.95)
                .sqrt(),
        )
    };
    let found = Interval::new(
        ratio,
        ratio / high(above, below)?,
        ratio * high(below, above)?,
    );
    (ratio > 0.0 && found.low.is_finite() && found.high.is_finite()).then_some(found)
}

/// Share of 90 % intervals that may miss the true value on one side.
const ONE_SIDE: f64 = 0.05;

/// Widens an interval, so that the intervals of `many` numbers together have the confidence of one
/// (Bonferroni). An interval above 0 is widened on a logarithmic scale.
pub(crate) fn among(number: Interval, many: usize) -> Interval {
    let value = number.estimate;
    let quantile = |share: f64| Normal::standard().inverse_cdf(1.0 - share);
    let factor = quantile(ONE_SIDE / many.max(1) as f64) / quantile(ONE_SIDE);
    let widened = |end: f64| {
        if number.low > 0.0 {
            value * (end / value).powf(factor)
        } else {
            value + (end - value) * factor
        }
    };
    Interval::new(value, widened(number.low), widened(number.high))
}

/// Returns the largest of some numbers; `None` if there are no numbers. Which number is the largest
/// was not known in advance, so the intervals are widened for the count of the numbers.
pub(crate) fn largest(all: &[Interval]) -> Option<Interval> {
    extreme(all, f64::max)
}

/// Returns the smallest of some numbers, with intervals widened as by [`largest`]; `None` if there
/// are no numbers.
pub(crate) fn smallest(all: &[Interval]) -> Option<Interval> {
    extreme(all, f64::min)
}

fn extreme(all: &[Interval], of: fn(f64, f64) -> f64) -> Option<Interval> {
    let widened = all.iter().map(|one| among(*one, all.len()));
    widened.reduce(|a, b| {
        Interval::new(
            of(a.estimate, b.estimate),
            of(a.low, b.low),
            of(a.high, b.high),
        )
    })
}

/// Returns the mean over groups with its interval by the hierarchical bootstrap, which draws
/// groups, then their members (Davison and Hinkley 1997, section 3.8); `None` with fewer than two
/// groups. Each group has a value and a standard error. The variance of a mean needs no drawing:
/// the variance of the groups' values is added to the mean of the squared errors.
pub(crate) fn group_interval(groups: &[(f64, f64)]) -> Option<Interval> {
    let n = groups.len() as f64;
    let mean = groups.iter().map(|(value, _)| value).sum::<f64>() / n;
    let between = groups
        .iter()
        .map(|(value, _)| (value - mean).powi(2))
        .sum::<f64>()
        / (n - 1.0);
    let within = groups.iter().map(|(_, error)| error.powi(2)).sum::<f64>() / n;
    let half = student(groups.len())? * ((between + within) / n).sqrt();
    half.is_finite().then_some(Interval::symmetric(mean, half))
}

/// Returns the jackknife standard error of a statistic from its values with each batch left out
/// once.
pub(crate) fn error_of_batches(without_one: &[f64]) -> f64 {
    let n = without_one.len().max(1) as f64;
    let mean = without_one.iter().sum::<f64>() / n;
    ((n - 1.0) / n
        * without_one
            .iter()
            .map(|value| (value - mean).powi(2))
            .sum::<f64>())
    .sqrt()
}

/// Returns Student's quantile for a 90 % interval of the mean of `values` independent values;
/// `None` with fewer than two values.
fn student(values: usize) -> Option<f64> {
    let student = StudentsT::new(0.0, 1.0, values.checked_sub(1)? as f64).ok()?;
    Some(student.inverse_cdf(1.0 - ONE_SIDE))
}

const RESAMPLES: usize = 1000;

/// Returns a statistic of independent runs with its interval. The standard error is that of the
/// statistic over samples of the runs with replacement (Efron and Tibshirani 1993, chapter 6).
/// Returns `None` with fewer than six runs, or if the statistic does not exist for most samples.
pub(crate) fn run_interval<T: Copy>(
    runs: &[T],
    statistic: impl Fn(&[T]) -> Option<f64>,
) -> Option<Interval> {
    let value = statistic(runs)?;
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let mut draw = || -> Vec<T> {
        runs.iter()
            .map(|_| runs[random.random_range(0..runs.len())])
            .collect()
    };
    let drawn: Vec<f64> = (0..RESAMPLES)
        .filter_map(|_| statistic(&draw()))
        .filter(|found| found.is_finite())
        .collect();
    if runs.len() < 6 || drawn.len() < RESAMPLES / 2 {
        return None;
    }
    let mean = drawn.iter().sum::<f64>() / drawn.len() as f64;
    let variance = drawn
        .iter()
        .map(|found| (found - mean).powi(2))
        .sum::<f64>()
        / (drawn.len() - 1) as f64;
    // Drawing n values with replacement gives (n - 1) / n of the variance.
    let n = runs.len() as f64;
    let half = student(runs.len())? * (variance * n / (n - 1.0)).sqrt();
    half.is_finite().then_some(Interval::symmetric(value, half))
}

/// Returns the share `counted / of` with its interval (Clopper and Pearson 1934).
pub(crate) fn share_interval(counted: u64, of: u64) -> Interval {
    let (k, n) = (counted as f64, of as f64);
    let beta = |a, b, share| Beta::new(a, b).map_or(f64::NAN, |beta| beta.inverse_cdf(share));
    let low = if counted == 0 {
        0.0
    } else {
        beta(k, n - k + 1.0, ONE_SIDE)
    };
    let high = if counted >= of {
        1.0
    } else {
        beta(k + 1.0, n - k, 1.0 - ONE_SIDE)
    };
    Interval::new(k / n, low, high)
}

#[cfg(test)]
mod tests;
