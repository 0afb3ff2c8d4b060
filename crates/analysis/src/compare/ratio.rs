//! Estimates the ratio of two costs from the logarithms of their values.
//!
//! Logarithms are averaged, because the spread of costs is proportional to their size. The interval
//! is that of Welch ("The generalization of Student's problem when several different population
//! variances are involved", Biometrika 34, 1947), with Satterthwaite's degrees of freedom.

use super::{Change, Cost, Outcome, Ratio};
use crate::statistics::estimate::mean_and_sd;
use crate::statistics::quantiles::student;

/// Number of degrees of freedom that counts as infinite.
const MANY: f64 = 1e6;

/// Largest ratio of an interval's upper to its lower end for which a verdict is given.
const WIDEST: f64 = 100.0;
const NOT_KNOWN: &str = "the records differ so much that the ratio may be anything within a factor of 100 and more; give more \
                         records of each side";
const NO_SPREAD: &str =
    "a side has a single value, so its spread is unknown; give more records of each side";

/// A summand of a variance, with the degrees of freedom of its estimate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub(super) variance: f64,
    pub(super) freedom: f64,
}

impl Part {
    /// Returns the variance of a single value, estimated from these values.
    pub(super) fn from_values(values: &[f64]) -> Part {
        let (_, sd) = mean_and_sd(values);
        Part {
            variance: sd * sd,
            freedom: values.len() as f64 - 1.0,
        }
    }

    /// Returns the variance of the mean of `values` values, from the variance of a single one.
    fn average_over(self, values: usize) -> Part {
        Part {
            variance: self.variance / values as f64,
            ..self
        }
    }
}

/// Mean logarithm of a cost over records, with the variance of that mean.
#[derive(Clone, Debug)]
pub(super) struct LogCost {
    mean: f64,
    part: Part,
    records: usize,
}

impl LogCost {
    /// Returns the mean of the logarithms `logs`, one per record, each with the variance `single`.
    pub(super) fn new(logs: &[f64], single: Part) -> LogCost {
        LogCost {
            mean: mean_and_sd(logs).0,
            part: single.average_over(logs.len()),
            records: logs.len(),
        }
    }

    /// Returns the mean logarithm of independent values above 0, with a variance that is estimated
    /// from these values alone.
    pub(super) fn cost_of_values(values: &[f64]) -> LogCost {
        let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
        LogCost::new(&logs, Part::from_values(&logs))
    }

    /// Returns the logarithm of `value` with a variance from the jackknife. `without_one` has the
    /// values that result if each batch is left out once. `None` if there are fewer than two, or
    /// one is not above 0.
    pub(super) fn from_batches(value: f64, without_one: &[f64]) -> Option<LogCost> {
        Some(LogCost {
            mean: value.ln(),
            part: jackknife(&logarithms(without_one)?),
            records: 1,
        })
    }

    pub(super) fn cost(&self, confidence: f64) -> Cost {
        let half = half_width(&[self.part], confidence);
        Cost {
            value: self.mean.exp(),
            interval: half.map(|half| ((self.mean - half).exp(), (self.mean + half).exp())),
            records: self.records,
        }
    }
}

/// Logarithm of the ratio of the new to the base cost, with its variance.
#[derive(Clone, Debug)]
pub(super) struct LogRatio {
    mean: f64,
    parts: Vec<Part>,
    /// Logarithm of the factor within which the compared numbers are known. More records do not
    /// improve this resolution.
    resolution: f64,
}

impl LogRatio {
    fn new(mean: f64, parts: Vec<Part>) -> LogRatio {
        LogRatio {
            mean,
            parts,
            resolution: 0.0,
        }
    }

    /// Returns the ratio of the new cost to the base cost. The costs are independent.
    pub(super) fn between([base, new]: &[LogCost; 2]) -> LogRatio {
        LogRatio::new(new.mean - base.mean, vec![base.part, new.part])
    }

    /// Returns the ratio of the new cost to the base cost. The variances of the costs were
    /// estimated together, with `freedom` degrees of freedom.
    pub(super) fn pooled([base, new]: &[LogCost; 2], freedom: f64) -> LogRatio {
        let variance = base.part.variance + new.part.variance;
        LogRatio::new(new.mean - base.mean, vec![Part { variance, freedom }])
    }

    /// Returns the mean ratio of at least two pairs of base and new values above 0.
    pub(super) fn paired(pairs: &[(f64, f64)]) -> LogRatio {
        let logs: Vec<f64> = pairs
            .iter()
            .map(|(base, new)| new.ln() - base.ln())
            .collect();
        let part = Part::from_values(&logs).average_over(logs.len());
        LogRatio::new(mean_and_sd(&logs).0, vec![part])
    }

    /// Returns the ratio of one pair of values above 0, with a variance from the jackknife. Each
    /// side has its value, and the values that result if each batch is left out once. `None` if one
    /// of these is not above 0, or if the sides have fewer than two batches or different numbers of
    /// batches.
    pub(super) fn from_batches([base, new]: [(f64, &[f64]); 2]) -> Option<LogRatio> {
        let (of_base, of_new) = (logarithms(base.1)?, logarithms(new.1)?);
        let logs: Vec<f64> = of_base
            .iter()
            .zip(&of_new)
            .map(|(base, new)| new - base)
            .collect();
        (of_base.len() == of_new.len())
            .then(|| LogRatio::new(new.0.ln() - base.0.ln(), vec![jackknife(&logs)]))
    }

    /// Widens the interval by `factor` for numbers that are known only within that factor. More
    /// records do not improve this resolution.
    pub(super) fn known_within(self, factor: f64) -> LogRatio {
        LogRatio {
            resolution: factor.ln(),
            ..self
        }
    }

    /// Returns the ratio with its interval and verdict, or a reason if the interval cannot be
    /// computed or is too wide.
    pub(super) fn judge(&self, confidence: f64) -> Outcome {
        let Some(half) = half_width(&self.parts, confidence) else {
            return Outcome::NotJudged {
                ratio: self.mean.exp(),
                why: NO_SPREAD.to_owned(),
            };
        };
        let half = half + self.resolution;
        let (low, high) = ((self.mean - half).exp(), (self.mean + half).exp());
        if high / low > WIDEST {
            return Outcome::incomparable(NOT_KNOWN);
        }
        let verdict = match (low > 1.0, high < 1.0) {
            (true, _) => Change::Slower,
            (_, true) => Change::Faster,
            _ => Change::NoDifferenceShown,
        };
        Outcome::Compared {
            ratio: Ratio {
                ratio: self.mean.exp(),
                low,
                high,
            },
            verdict,
        }
    }
}

/// Returns the logarithms of the values; `None` if there are fewer than two, or if one is not above
/// 0.
fn logarithms(values: &[f64]) -> Option<Vec<f64>> {
    let are_positive = values.len() > 1 && values.iter().all(|value| *value > 0.0);
    are_positive.then(|| values.iter().map(|value| value.ln()).collect())
}

/// Returns the variance of a statistic by the jackknife, from the values that result if each batch
/// is left out once (Miller 1974, "The jackknife: a review").
fn jackknife(without_one: &[f64]) -> Part {
    let (_, sd) = mean_and_sd(without_one);
    let count = without_one.len() as f64;
    Part {
        variance: sd * sd * (count - 1.0).powi(2) / count,
        freedom: count - 1.0,
    }
}

/// Returns the half-width of the confidence interval of a sum whose variance has these parts;
/// `None` if a part has no degrees of freedom.
fn half_width(parts: &[Part], confidence: f64) -> Option<f64> {
    if parts.iter().any(|part| part.freedom <= 0.0) {
        return None;
    }
    let variance: f64 = parts.iter().map(|part| part.variance).sum();
    let squares: f64 = parts
        .iter()
        .map(|part| part.variance.powi(2) / part.freedom)
        .sum();
    let freedom = if squares > 0.0 {
        (variance.powi(2) / squares).min(MANY)
    } else {
        MANY
    };
    Some(student(freedom, confidence)? * variance.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::assert_within;

    #[test]
    fn single_values_have_a_ratio_without_an_interval() {
        let sides = [2.0, 3.0].map(|value| LogCost::cost_of_values(&[value]));
        assert_eq!(sides[0].cost(0.9).interval, None);
        let Outcome::NotJudged { ratio, why } = LogRatio::between(&sides).judge(0.9) else {
            panic!("an interval")
        };
        assert_within(ratio, 1.5, 1e-9);
        assert_eq!(why, NO_SPREAD);
    }
}
