//! Two-sided quantiles: factors by which a standard error is multiplied to get the half-width of an
//! interval.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

/// Returns the two-sided quantile of the normal distribution: 1.645 for a confidence of 0.9.
pub(crate) fn normal(confidence: f64) -> f64 {
    Normal::standard().inverse_cdf(0.5 + confidence / 2.0)
}

/// Returns the two-sided quantile of Student's distribution with `freedom` degrees of freedom;
/// `None` if it cannot be computed.
pub(crate) fn student(freedom: f64, confidence: f64) -> Option<f64> {
    let student = StudentsT::new(0.0, 1.0, freedom).ok()?;
    Some(student.inverse_cdf(0.5 + confidence / 2.0))
}
