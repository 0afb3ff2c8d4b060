//! An estimate with its interval, from one value per repetition.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use crate::statistics::order_statistics::median_of_sorted;
use crate::statistics::quantiles::student;
use crate::statistics::signed_rank::{critical_rank, smallest_n};

/// A quantity with its interval.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Estimate {
    /// Centre of the interval.
    pub estimate: f64,
    /// Lower end of the interval, which holds for other runs of the machine, too.
    pub low: f64,
    /// Upper end of the interval, which holds for other runs of the machine, too.
    pub high: f64,
    /// Both ends of the interval from this run alone, which holds only for the time of the run.
    pub within_run: (f64, f64),
    /// Number of independent repetitions (fresh processes, fresh pages).
    pub n: usize,
    /// Confidence level actually reached, at least the requested one.
    pub confidence: f64,
    /// Method of the centre and the interval.
    pub method: &'static str,
    /// The t-interval of the mean at 90 %, as Li, Ding and Shen 2007 report: (low, high).
    pub t90: Option<(f64, f64)>,
    /// Standard deviation between repetitions.
    pub sd: f64,
}

impl Estimate {
    /// Returns the ends of the ratio of this estimate to another whose interval is above 0. They
    /// hold if both intervals hold, and are at least as wide as the ratio's own interval.
    pub fn over(&self, other: &Estimate) -> (f64, f64) {
        (self.low / other.high, self.high / other.low)
    }

    /// Returns the estimate in another unit, of which `factor` make one of this unit.
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

    /// Extends the interval down to the cost on an unshared core, if the shared core took at most
    /// `most` times as long.
    pub(crate) fn down_to_unshared(&self, most: f64) -> Estimate {
        Estimate {
            low: self.low.min(self.low / most),
            high: self.high.max(self.high / most),
            ..self.clone()
        }
    }

    /// Returns the percentage of one CPU taken by `a_second` of these events per second, if the
    /// estimate is in nanoseconds.
    pub fn percent_of_a_cpu(&self, a_second: f64) -> f64 {
        self.estimate * a_second / 1e7
    }

    /// Whether the interval does not cover zero.
    pub fn is_distinguishable_from_zero(&self) -> bool {
        self.low > 0.0 || self.high < 0.0
    }

    /// Returns half the interval's length relative to the estimate.
    pub fn relative_half_width(&self) -> f64 {
        (self.high - self.low) / 2.0 / self.estimate.abs()
    }

    /// Returns the variance of the estimate's logarithm that is due to variation within the run.
    pub(crate) fn log_variance_within_run(&self) -> Option<f64> {
        let freedom = (self.n as f64 - 1.0).max(1.0);
        let deviation = self.relative_half_width_within_run() / student(freedom, self.confidence)?;
        Some(deviation.powi(2))
    }

    /// Returns half the length of the interval within this run, relative to the estimate.
    pub fn relative_half_width_within_run(&self) -> f64 {
        (self.within_run.1 - self.within_run.0) / 2.0 / self.estimate.abs()
    }
}

/// Name of the method if the signed-rank distribution was computed exactly.
const EXACT: &str = "Hodges-Lehmann, Wilcoxon signed-rank interval";
/// Name of the method beyond `signed_rank::EXACT_UP_TO` repetitions.
const APPROXIMATE: &str = "Hodges-Lehmann, Wilcoxon signed-rank interval (normal approximation)";

/// Error for fewer values than an interval of this confidence needs.
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
             run more time"
        )
    }
}

/// Returns the Hodges-Lehmann estimate (Hodges and Lehmann 1963, "Estimates of location based on
/// rank tests"): the median of the Walsh averages (x_i + x_j) / 2 for i <= j. Its interval ends at
/// the Walsh averages that the signed-rank test does not reject (Tukey 1949), as in R's
/// `wilcox.test(x, conf.int = TRUE, exact = TRUE)`.
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

/// Returns the mean and the standard deviation with n - 1, which is 0 for a single value.
pub(crate) fn mean_and_sd(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|x| (x - mean).powi(2)).sum();
    (mean, (squares / (n - 1.0).max(1.0)).sqrt())
}

/// Returns Student's interval of the mean at 90 %, which Li, Ding and Shen 2007 print in their
/// tables 1 and 2.
fn t_interval(mean: f64, sd: f64, n: usize) -> Option<(f64, f64)> {
    let half = student(n.checked_sub(1)? as f64, 0.9)? * sd / (n as f64).sqrt();
    Some((mean - half, mean + half))
}

#[cfg(test)]
mod tests;
