//! The ratio of two costs, from the logarithms of what is known of each.
//!
//! Costs spread in proportion to their size, so their logarithms are what is averaged, and the interval is that of Welch
//! ("The generalization of Student's problem when several different population variances are involved", Biometrika 34,
//! 1947) with Satterthwaite's degrees of freedom.

use statrs::distribution::{ContinuousCDF, StudentsT};

use super::{Change, Cost, Ratio};
use crate::estimate::mean_and_sd;
use crate::findings::Estimate;

/// More degrees of freedom than this make no difference.
const MANY: f64 = 1e6;

/// A part of the variance of a mean, and the degrees of freedom that it was estimated with.
#[derive(Clone, Copy, Debug)]
struct Part {
    variance: f64,
    freedom: f64,
}

/// The logarithm of a cost.
#[derive(Clone, Debug)]
pub(super) struct LogCost {
    mean: f64,
    parts: Vec<Part>,
    records: usize,
}

impl LogCost {
    /// From one record or several; none where a cost is not above 0.
    pub(super) fn of(estimates: &[&Estimate], run_spread: f64) -> Option<LogCost> {
        if estimates.is_empty() || !estimates.iter().all(|estimate| estimate.estimate > 0.0) {
            return None;
        }
        match estimates {
            [one] => LogCost::of_one(one, run_spread),
            several => Some(LogCost::of_several(several)),
        }
    }

    /// The spread within the run is in its interval; that between runs is not to be seen, and is assumed.
    fn of_one(estimate: &Estimate, run_spread: f64) -> Option<LogCost> {
        let freedom = (estimate.n as f64 - 1.0).max(1.0);
        let quantile = student(freedom, estimate.confidence)?;
        let within = Part { variance: (estimate.relative_half_width() / quantile).powi(2), freedom };
        let between = Part { variance: run_spread.powi(2), freedom: MANY };
        Some(LogCost { mean: estimate.estimate.ln(), parts: vec![within, between], records: 1 })
    }

    /// Runs are the independent units: their spread holds everything.
    fn of_several(estimates: &[&Estimate]) -> LogCost {
        let logs: Vec<f64> = estimates.iter().map(|estimate| estimate.estimate.ln()).collect();
        let (mean, sd) = mean_and_sd(&logs);
        let runs = logs.len() as f64;
        LogCost { mean, parts: vec![Part { variance: sd * sd / runs, freedom: runs - 1.0 }], records: logs.len() }
    }

    pub(super) fn cost(&self, confidence: f64) -> Cost {
        let half = half_width(&self.parts, confidence);
        let interval = half.map(|half| ((self.mean - half).exp(), (self.mean + half).exp()));
        Cost { value: self.mean.exp(), interval, records: self.records }
    }
}

/// The logarithm of new over base.
#[derive(Clone, Debug)]
pub(super) struct LogRatio {
    mean: f64,
    parts: Vec<Part>,
}

impl LogRatio {
    /// Of two costs that know nothing of each other.
    pub(super) fn between(base: &LogCost, new: &LogCost) -> LogRatio {
        LogRatio { mean: new.mean - base.mean, parts: [&base.parts[..], &new.parts].concat() }
    }

    /// The ratio with its interval, and whether that is a difference.
    pub(super) fn judge(&self, confidence: f64) -> Option<(Ratio, Change)> {
        let half = half_width(&self.parts, confidence)?;
        let (low, high) = ((self.mean - half).exp(), (self.mean + half).exp());
        let verdict = match (low > 1.0, high < 1.0) {
            (true, _) => Change::Slower,
            (_, true) => Change::Faster,
            _ => Change::NoDifferenceShown,
        };
        Some((Ratio { ratio: self.mean.exp(), low, high }, verdict))
    }
}

/// Half the interval of a sum whose variance has these parts.
fn half_width(parts: &[Part], confidence: f64) -> Option<f64> {
    let variance: f64 = parts.iter().map(|part| part.variance).sum();
    let squares: f64 = parts.iter().map(|part| part.variance.powi(2) / part.freedom).sum();
    let freedom = if squares > 0.0 { (variance.powi(2) / squares).min(MANY) } else { MANY };
    Some(student(freedom, confidence)? * variance.sqrt())
}

/// The two-sided quantile.
fn student(freedom: f64, confidence: f64) -> Option<f64> {
    StudentsT::new(0.0, 1.0, freedom).ok().map(|student| student.inverse_cdf(0.5 + confidence / 2.0))
}
