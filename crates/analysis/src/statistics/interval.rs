use std::ops::{Div, Neg, Sub};

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::Estimate;

/// A number with its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Interval {
    /// Centre of the interval.
    pub estimate: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

impl Interval {
    /// Creates a number from its centre, lower end and upper end.
    pub fn new(estimate: f64, low: f64, high: f64) -> Interval {
        Interval {
            estimate,
            low,
            high,
        }
    }

    /// Creates a number whose interval extends by `half` to either side.
    pub fn symmetric(estimate: f64, half: f64) -> Interval {
        Interval::new(estimate, estimate - half, estimate + half)
    }

    /// Creates a number without uncertainty, such as a count.
    pub fn exact(value: f64) -> Interval {
        Interval::new(value, value, value)
    }

    /// Whether the value lies within the interval.
    pub fn contains(self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// Applies an increasing function to the number and both ends.
    #[must_use]
    pub fn map(self, increasing: impl Fn(f64) -> f64) -> Interval {
        let [estimate, low, high] = [self.estimate, self.low, self.high].map(increasing);
        Interval::new(estimate, low, high)
    }
}

/// Ends of an interval that may be missing.
#[derive(JsonSchema, Serialize)]
pub(crate) struct Ends {
    /// Lower end of the confidence interval; `None` without an interval.
    low: Option<f64>,
    /// Upper end of the confidence interval; `None` without an interval.
    high: Option<f64>,
}

/// Serializes the ends of an interval, as nulls if there is none.
pub(crate) fn ends<S: Serializer>(
    interval: &Option<(f64, f64)>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let (low, high) = interval.unzip();
    Ends { low, high }.serialize(serializer)
}

impl From<&Estimate> for Interval {
    fn from(estimate: &Estimate) -> Interval {
        Interval::new(estimate.estimate, estimate.low, estimate.high)
    }
}

impl Neg for Interval {
    type Output = Interval;

    fn neg(self) -> Interval {
        Interval::new(-self.estimate, -self.high, -self.low)
    }
}

/// Returns the difference, with an interval that holds if both intervals hold.
impl Sub for Interval {
    type Output = Interval;

    fn sub(self, other: Interval) -> Interval {
        Interval::new(
            self.estimate - other.estimate,
            self.low - other.high,
            self.high - other.low,
        )
    }
}

/// Returns the ratio, with an interval that holds if both intervals hold; NaN if the divisor's
/// lower end is 0 or less.
impl Div for Interval {
    type Output = Interval;

    fn div(self, other: Interval) -> Interval {
        if other.low <= 0.0 {
            return Interval::exact(f64::NAN);
        }
        let ends = |end: f64| (end / other.low, end / other.high);
        let (low, high) = (ends(self.low), ends(self.high));
        Interval::new(
            self.estimate / other.estimate,
            low.0.min(low.1),
            high.0.max(high.1),
        )
    }
}
