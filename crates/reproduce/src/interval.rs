//! Intervals of what is computed here alone; all at 90 %, as the papers' and those of `analysis`.

use statrs::distribution::{ContinuousCDF, FisherSnedecor};
use switchcost_analysis::simulation::interval;

const CONFIDENCE: f64 = 0.9;

/// Mean, lower and upper end.
pub(crate) type Interval = (f64, f64, f64);

/// Student's interval of the mean of independent values, two or more.
pub(crate) fn of_mean(values: &[f64]) -> Option<Interval> {
    let (low, high) = interval::of_mean(values, CONFIDENCE)?;
    Some((values.iter().sum::<f64>() / values.len() as f64, low, high))
}

/// The interval of a statistic from its values without one batch each.
pub(crate) fn of_batches(value: f64, without_one: &[f64]) -> Option<Interval> {
    let (low, high) = interval::jackknife(value, without_one, CONFIDENCE)?;
    Some((value, low, high))
}

/// The ratio of two standard deviations with so many degrees of freedom, by the F distribution of the variances.
pub(crate) fn of_spreads(ratio: f64, above: f64, below: f64) -> Option<Interval> {
    let high = |above, below| Some(FisherSnedecor::new(above, below).ok()?.inverse_cdf(0.95).sqrt());
    let found = (ratio, ratio / high(above, below)?, ratio * high(below, above)?);
    (ratio > 0.0 && found.1.is_finite() && found.2.is_finite()).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// scipy.stats.t.interval(0.9, 5, mean, sem) of 10, 11, 12, 13, 14, 15.
    #[test]
    fn the_interval_is_that_of_students_t() {
        let values = [10.0, 11.0, 12.0, 13.0, 14.0, 15.0];
        let (mean, low, high) = of_mean(&values).expect("six values");
        assert!((low - 10.960_981).abs() < 1e-5 && (high - 14.039_019).abs() < 1e-5, "{low} {high}");
        // Of a mean, the jackknife is the same.
        let without: Vec<f64> = values.iter().map(|value| (75.0 - value) / 5.0).collect();
        let (_, jackknifed, _) = of_batches(mean, &without).expect("six values");
        assert!((jackknifed - low).abs() < 1e-9, "{jackknifed} {low}");
        assert_eq!((of_mean(&[1.0]), of_mean(&[])), (None, None));
    }

    /// F(0.95; 15, 15) is 2.4034 and F(0.95; 5, 10) 3.3258, F(0.95; 10, 5) 4.7351 in every table of it.
    #[test]
    fn spreads_of_few_runs_are_hardly_known() {
        let (_, low, high) = of_spreads(1.0, 15.0, 15.0).expect("degrees of freedom");
        assert!((high - 2.4034_f64.sqrt()).abs() < 1e-3 && (low * high - 1.0).abs() < 1e-9, "{low} {high}");
        let (_, low, high) = of_spreads(2.0, 5.0, 10.0).expect("degrees of freedom");
        assert!((low - 2.0 / 3.3258_f64.sqrt()).abs() < 1e-3 && (high - 2.0 * 4.7351_f64.sqrt()).abs() < 1e-3);
        assert_eq!(of_spreads(0.0, 5.0, 5.0), None);
    }
}
