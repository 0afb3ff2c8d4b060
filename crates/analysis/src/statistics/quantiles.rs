//! Two-sided quantiles: the factors by which a standard error becomes half an interval.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

/// Returns the quantile of the normal distribution: 1.645 at 90 %.
pub(crate) fn normal(confidence: f64) -> f64 {
    Normal::standard().inverse_cdf(0.5 + confidence / 2.0)
}

/// Returns the quantile of Student's distribution; `None` if it cannot be computed.
pub(crate) fn student(freedom: f64, confidence: f64) -> Option<f64> {
    let student = StudentsT::new(0.0, 1.0, freedom).ok()?;
    Some(student.inverse_cdf(0.5 + confidence / 2.0))
}
