//! Estimates the ratio of two costs from the logarithms of their values.
//!
//! The spread of costs is proportional to their size, so logarithms are averaged. The interval is
//! that of Welch ("The generalization of Student's problem when several different population
//! variances are involved", Biometrika 34, 1947) with Satterthwaite's degrees of freedom.

use super::{Change, Cost, Ratio};
use crate::measurement::run_spread::student;
use crate::statistics::estimate::mean_and_sd;

/// Degrees of freedom treated as infinite.
const MANY: f64 = 1e6;

/// A part of a mean's variance, with the degrees of freedom of its estimate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub(super) variance: f64,
    pub(super) freedom: f64,
}

/// Mean logarithm of a cost over records, with its variance.
#[derive(Clone, Debug)]
pub(super) struct LogCost {
    mean: f64,
    parts: Vec<Part>,
    records: usize,
}

impl LogCost {
    /// Creates the logarithm of a cost from a mean with its variance, over several records.
    pub(super) fn new(mean: f64, part: Part, records: usize) -> LogCost {
        LogCost {
            mean,
            parts: vec![part],
            records,
        }
    }

    /// Returns the logarithm of a cost from several independent values above 0, whose spread
    /// includes all errors.
    pub(super) fn cost_of_values(values: &[f64]) -> LogCost {
        let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
        let (mean, sd) = mean_and_sd(&logs);
        let runs = logs.len() as f64;
        LogCost {
            mean,
            parts: vec![Part {
                variance: sd * sd / runs,
                freedom: runs - 1.0,
            }],
            records: logs.len(),
        }
    }

    /// Returns the logarithm of a cost from one value above 0, and from its values with each batch
    /// left out once (jackknife).
    pub(super) fn from_batches(value: f64, without_one: &[f64]) -> Option<LogCost> {
        let logs = logarithms(without_one)?;
        Some(LogCost {
            mean: value.ln(),
            parts: vec![jackknife(&logs)],
            records: 1,
        })
    }

    pub(super) fn cost(&self, confidence: f64) -> Cost {
        let half = half_width(&self.parts, confidence);
        let interval = half.map(|half| ((self.mean - half).exp(), (self.mean + half).exp()));
        Cost {
            value: self.mean.exp(),
            interval,
            records: self.records,
        }
    }
}

/// Logarithm of the ratio of new to base.
#[derive(Clone, Debug)]
pub(super) struct LogRatio {
    mean: f64,
    parts: Vec<Part>,
    /// Resolution of the number, which more records do not improve.
    resolution: f64,
}

impl LogRatio {
    /// Returns the ratio of two independent costs.
    pub(super) fn between(base: &LogCost, new: &LogCost) -> LogRatio {
        LogRatio {
            mean: new.mean - base.mean,
            parts: [&base.parts[..], &new.parts].concat(),
            resolution: 0.0,
        }
    }

    /// Returns the ratio of two costs whose variances were estimated together, with these degrees
    /// of freedom.
    pub(super) fn pooled(base: &LogCost, new: &LogCost, freedom: f64) -> LogRatio {
        let variance = base
            .parts
            .iter()
            .chain(&new.parts)
            .map(|part| part.variance)
            .sum();
        LogRatio {
            mean: new.mean - base.mean,
            parts: vec![Part { variance, freedom }],
            resolution: 0.0,
        }
    }

    /// Returns the ratio from at least two pairs of values above 0.
    pub(super) fn paired(pairs: &[(f64, f64)]) -> LogRatio {
        let logs: Vec<f64> = pairs
            .iter()
            .map(|(base, new)| new.ln() - base.ln())
            .collect();
        let (mean, sd) = mean_and_sd(&logs);
        let count = logs.len() as f64;
        LogRatio {
            mean,
            parts: vec![Part {
                variance: sd * sd / count,
                freedom: count - 1.0,
            }],
            resolution: 0.0,
        }
    }

    /// Returns the ratio from one pair of values above 0, and from both values with each batch left
    /// out once (jackknife).
    pub(super) fn from_batches(base: (f64, &[f64]), new: (f64, &[f64])) -> Option<LogRatio> {
        if base.1.len() != new.1.len() {
            return None;
        }
        let (of_base, of_new) = (logarithms(base.1)?, logarithms(new.1)?);
        let logs: Vec<f64> = of_base
            .iter()
            .zip(&of_new)
            .map(|(base, new)| new - base)
            .collect();
        Some(LogRatio {
            mean: new.0.ln() - base.0.ln(),
            parts: vec![jackknife(&logs)],
            resolution: 0.0,
        })
    }

    /// Widens the interval for numbers that are known only within a factor, which more records do
    /// not improve.
    pub(super) fn known_within(self, factor: f64) -> LogRatio {
        LogRatio {
            resolution: factor.ln(),
            ..self
        }
    }

    /// Returns the ratio with its interval, and the verdict.
    pub(super) fn judge(&self, confidence: f64) -> Option<(Ratio, Change)> {
        let half = half_width(&self.parts, confidence)? + self.resolution;
        let (low, high) = ((self.mean - half).exp(), (self.mean + half).exp());
        let verdict = match (low > 1.0, high < 1.0) {
            (true, _) => Change::Slower,
            (_, true) => Change::Faster,
            _ => Change::NoDifferenceShown,
        };
        Some((
            Ratio {
                ratio: self.mean.exp(),
                low,
                high,
            },
            verdict,
        ))
    }
}

/// Returns the logarithms of the values; `None` if there are none, or if one is not above 0.
fn logarithms(values: &[f64]) -> Option<Vec<f64>> {
    let are_positive = values.len() > 1 && values.iter().all(|value| *value > 0.0);
    are_positive.then(|| values.iter().map(|value| value.ln()).collect())
}

/// Estimates the variance of a statistic from its values with each batch left out once (Miller
/// 1974, "The jackknife: a review").
fn jackknife(without_one: &[f64]) -> Part {
    let (_, sd) = mean_and_sd(without_one);
    let count = without_one.len() as f64;
    Part {
        variance: sd * sd * (count - 1.0).powi(2) / count,
        freedom: count - 1.0,
    }
}

/// Returns the half-width of the interval of a sum whose variance has these parts.
fn half_width(parts: &[Part], confidence: f64) -> Option<f64> {
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
