//! An estimate with its confidence interval, from one value per repetition.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use crate::statistics::order_statistics::median_of_sorted;
use crate::statistics::quantiles::student;
use crate::statistics::signed_rank::{critical_rank, smallest_n};

/// An estimate of a quantity, with its confidence interval.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Estimate {
    /// Estimated value, in the unit of the quantity.
    pub estimate: f64,
    /// Lower end of the confidence interval. The interval also covers other runs on the machine.
    pub low: f64,
    /// Upper end of the confidence interval. The interval also covers other runs on the machine.
    pub high: f64,
    /// Lower and upper end of the interval from this run alone, which does not cover other runs.
    pub within_run: (f64, f64),
    /// Number of independent repetitions (with fresh processes and fresh pages).
    pub n: usize,
    /// Confidence of the interval, from 0 to 1: at least the requested confidence.
    pub confidence: f64,
    /// Name of the method by which estimate and interval were computed.
    pub method: &'static str,
    /// Student's t-interval of the mean at 90 %, as Li, Ding and Shen 2007 report: lower and upper
    /// end. `None` with a single repetition.
    pub t90: Option<(f64, f64)>,
    /// Standard deviation between repetitions, in the unit of the quantity.
    pub sd: f64,
}

impl Estimate {
    /// Returns the estimate multiplied by `factor`, for a conversion to another unit.
    pub fn scaled(&self, factor: f64) -> Estimate {
        Estimate {
            estimate: self.estimate * factor,
            low: self.low * factor,
            high: self.high * factor,
            within_run: (self.within_run.0 * factor, self.within_run.1 * factor),
            t90: self.t90.map(|(low, high)| (low * factor, high * factor)),
            sd: self.sd * factor,
            ..self.clone()
        }
    }

    /// Extends the interval down to the cost on an unshared core, which is the lower end divided by
    /// `most`. `most` is the largest ratio of a cost on a shared core to that on an unshared one.
    pub(crate) fn down_to_unshared(&self, most: f64) -> Estimate {
        Estimate {
            low: self.low.min(self.low / most),
            high: self.high.max(self.high / most),
            ..self.clone()
        }
    }

    /// Returns the share of one CPU in percent that `a_second` events per second take, if the
    /// estimate is the time of one event in nanoseconds.
    pub fn percent_of_a_cpu(&self, a_second: f64) -> f64 {
        self.estimate * a_second / 1e7
    }

    /// Whether the interval does not contain 0.
    pub fn is_distinguishable_from_zero(&self) -> bool {
        self.low > 0.0 || self.high < 0.0
    }

    /// Returns the half-width of the interval as a share of the estimate.
    pub fn relative_half_width(&self) -> f64 {
        (self.high - self.low) / 2.0 / self.estimate.abs()
    }

    /// Returns the variance of the estimate's logarithm due to variation within the run; `None`
    /// without an interval.
    pub(crate) fn log_variance_within_run(&self) -> Option<f64> {
        let freedom = (self.n as f64 - 1.0).max(1.0);
        let deviation = self.relative_half_width_within_run() / student(freedom, self.confidence)?;
        Some(deviation.powi(2))
    }

    /// Returns the half-width of the interval from this run alone, as a share of the estimate.
    pub fn relative_half_width_within_run(&self) -> f64 {
        (self.within_run.1 - self.within_run.0) / 2.0 / self.estimate.abs()
    }
}

/// Name of the method with the exact distribution of the signed-rank statistic.
const EXACT: &str = "Hodges-Lehmann, Wilcoxon signed-rank interval";
/// Name of the method for more than `signed_rank::EXACT_UP_TO` repetitions.
const APPROXIMATE: &str = "Hodges-Lehmann, Wilcoxon signed-rank interval (normal approximation)";

/// Error for too few values for an interval of the requested confidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TooFew {
    found: usize,
    confidence: f64,
}

impl fmt::Display for TooFew {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.found == 1 { "" } else { "s" };
        let (found, needed, percent) = (
            self.found,
            smallest_n(self.confidence),
            self.confidence * 100.0,
        );
        write!(
            f,
            "only {found} usable repetition{plural} of the {needed} needed for an interval of {percent} % confidence; give the \
             run more time (--budget)"
        )
    }
}

/// Returns the Hodges-Lehmann estimate of the values (Hodges and Lehmann 1963, "Estimates of
/// location based on rank tests"): the median of the Walsh averages (x_i + x_j) / 2 for i <= j. The
/// interval ends at the outermost Walsh averages that the signed-rank test does not reject (Tukey
/// 1949), as in R's `wilcox.test(x, conf.int = TRUE, exact = TRUE)`.
pub(crate) fn estimate(values: &[f64], confidence: f64) -> Result<Estimate, TooFew> {
    let n = values.len();
    let cut = critical_rank(n, confidence).ok_or(TooFew {
        found: n,
        confidence,
    })?;
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let walsh = walsh_averages(&sorted);
    let (mean, sd) = mean_and_sd(&sorted);
    let (low, high) = (walsh[cut.rank - 1], walsh[walsh.len() - cut.rank]);
    Ok(Estimate {
        estimate: median_of_sorted(&walsh).unwrap_or(f64::NAN),
        low,
        high,
        within_run: (low, high),
        n,
        confidence: cut.confidence,
        method: if cut.is_exact { EXACT } else { APPROXIMATE },
        t90: t_interval(mean, sd, n),
        sd,
    })
}

fn walsh_averages(values: &[f64]) -> Vec<f64> {
    let mut walsh = Vec::with_capacity(values.len() * (values.len() + 1) / 2);
    for (i, x) in values.iter().enumerate() {
        walsh.extend(values[i..].iter().map(|y| x / 2.0 + y / 2.0));
    }
    walsh.sort_unstable_by(f64::total_cmp);
    walsh
}

/// Returns mean and standard deviation (with n - 1) of the values. The standard deviation of a
/// single value is 0.
pub(crate) fn mean_and_sd(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|x| (x - mean).powi(2)).sum();
    (mean, (squares / (n - 1.0).max(1.0)).sqrt())
}

/// Returns Student's interval of the mean at 90 %, as in tables 1 and 2 of Li, Ding and Shen 2007;
/// `None` if it cannot be computed.
fn t_interval(mean: f64, sd: f64, n: usize) -> Option<(f64, f64)> {
    let half = student(n.checked_sub(1)? as f64, 0.9)? * sd / (n as f64).sqrt();
    Some((mean - half, mean + half))
}

#[cfg(test)]
mod tests;
