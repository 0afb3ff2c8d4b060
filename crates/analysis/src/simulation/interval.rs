//! Computes a confidence interval for a statistic of all segments from batches of consecutive
//! segments.
//!
//! Consecutive segments are similar, because the same programs are running, so they are not
//! independent. Batches of many consecutive segments are nearly independent: this is the method of
//! batch means (Law and Kelton, *Simulation Modeling and Analysis*, section 9.5.3). The cost of a
//! switch is the integral of a ratio and not a mean. Therefore each batch is left out once (the
//! jackknife: Miller 1974, "The jackknife: a review", Biometrika 61). For a mean, the jackknife and
//! batch means are the same.

use crate::statistics::Interval;
use crate::statistics::estimate::mean_and_sd;
use crate::statistics::quantiles::student;

/// Least number of batches from which an interval is computed.
pub(crate) const MIN_BATCHES: usize = 20;

/// Least number of segments from which an interval is computed.
pub const FEWEST_SEGMENTS: u64 = 2 * MIN_BATCHES as u64;

/// Number of batches into which segments are divided.
pub(crate) const BATCHES: usize = 40;

/// Name of the method by which intervals are computed.
pub(crate) const METHOD: &str = "batches of consecutive segments, jackknife, Student's t";

/// Returns Student's interval around `estimate` by the jackknife. `without_one` has the values that
/// result if each batch is left out once. `None` without an interval.
pub fn jackknife(estimate: f64, without_one: &[f64], confidence: f64) -> Option<Interval> {
    let n = without_one.len() as f64;
    let mean = without_one.iter().sum::<f64>() / n;
    let squares: f64 = without_one.iter().map(|value| (value - mean).powi(2)).sum();
    let error = ((n - 1.0) / n * squares).sqrt();
    around(estimate, error, without_one.len(), confidence)
}

/// Returns Student's interval of the mean of independent values; `None` with fewer than two values.
pub fn mean_interval(values: &[f64], confidence: f64) -> Option<Interval> {
    let (mean, sd) = mean_and_sd(values);
    around(
        mean,
        sd / (values.len() as f64).sqrt(),
        values.len(),
        confidence,
    )
}

/// Returns Student's interval around `estimate`, from a standard error with `n` - 1 degrees of
/// freedom.
fn around(estimate: f64, error: f64, n: usize, confidence: f64) -> Option<Interval> {
    let half = student(n.checked_sub(1)? as f64, confidence)? * error;
    half.is_finite()
        .then_some(Interval::symmetric(estimate, half))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::assert_within;

    /// Shows that the interval of a mean is that of batch means, for twenty batches.
    #[test]
    fn of_a_mean_it_is_the_method_of_batch_means() {
        let batches: Vec<f64> = (0..20).map(|i| f64::from((i * 7 + 3) % 11)).collect();
        let mean = batches.iter().sum::<f64>() / 20.0;
        let without: Vec<f64> = batches
            .iter()
            .map(|batch| (mean * 20.0 - batch) / 19.0)
            .collect();
        let jackknife = jackknife(mean, &without, 0.9).expect("twenty");
        let direct = mean_interval(&batches, 0.9).expect("twenty");
        assert_within(jackknife.low, direct.low, 1e-12);
        assert_within(jackknife.high, direct.high, 1e-12);
        // Expected values: scipy.stats.t.interval(0.9, 19, numpy.mean(x), scipy.stats.sem(x)),
        // SciPy 1.17.1.
        assert_within(direct.low, 3.925550071588433, 1e-9);
        assert_within(direct.high, 6.3744499284115665, 1e-9);
    }

    #[test]
    fn one_value_has_no_interval() {
        assert_eq!(mean_interval(&[], 0.9), None);
        assert_eq!(mean_interval(&[1.0], 0.9), None);
    }
}
