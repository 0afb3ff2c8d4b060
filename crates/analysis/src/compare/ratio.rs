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

    pub(super) fn cost(&self) -> Cost {
        Cost { ns: self.mean.exp(), records: self.records }
    }
}

/// New over base, and whether that is a difference.
pub(super) fn ratio(base: &LogCost, new: &LogCost, confidence: f64) -> Option<(Ratio, Change)> {
    let parts = || base.parts.iter().chain(&new.parts);
    let variance: f64 = parts().map(|part| part.variance).sum();
    let squares: f64 = parts().map(|part| part.variance.powi(2) / part.freedom).sum();
    let freedom = if squares > 0.0 { (variance.powi(2) / squares).min(MANY) } else { MANY };
    let half = student(freedom, confidence)? * variance.sqrt();
    let centre = new.mean - base.mean;
    let ratio = Ratio { ratio: centre.exp(), low: (centre - half).exp(), high: (centre + half).exp() };
    let verdict = match (ratio.low > 1.0, ratio.high < 1.0) {
        (true, _) => Change::Slower,
        (_, true) => Change::Faster,
        _ => Change::NoDifferenceShown,
    };
    Some((ratio, verdict))
}

/// The two-sided quantile.
fn student(freedom: f64, confidence: f64) -> Option<f64> {
    StudentsT::new(0.0, 1.0, freedom).ok().map(|student| student.inverse_cdf(0.5 + confidence / 2.0))
}
