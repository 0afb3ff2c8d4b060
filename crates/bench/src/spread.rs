//! Median and spread of a figure over several rounds.

use std::fmt;

/// Smallest value, median and largest value of a figure over several rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) low: f64,
    pub(crate) median: f64,
    pub(crate) high: f64,
}

impl Spread {
    /// Returns the spread of some values; `None` without values.
    pub(crate) fn new(figures: &[f64]) -> Option<Spread> {
        let mut sorted = figures.to_vec();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        let lower_middle = sorted.len().checked_sub(1)? / 2;
        Some(Spread {
            low: *sorted.first()?,
            median: (sorted[lower_middle] + sorted[middle]) / 2.0,
            high: *sorted.last()?,
        })
    }

    /// Returns the largest distance of a value from the median, in percent of the median.
    pub(crate) fn largest_deviation_percent(&self) -> f64 {
        (self.high - self.median).max(self.median - self.low) / self.median * 100.0
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:.3} ({:.3} to {:.3})",
            self.median, self.low, self.high
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(low: f64, median: f64, high: f64) -> Option<Spread> {
        Some(Spread { low, median, high })
    }

    #[test]
    fn the_median_is_in_the_middle() {
        let four = Spread::new(&[3.0, 1.0, 2.0, 10.0]);
        assert_eq!(four, spread(1.0, 2.5, 10.0));
        assert_eq!(
            four.map(|four| four.largest_deviation_percent()),
            Some(300.0)
        );
        assert_eq!(Spread::new(&[3.0, 1.0, 2.0]), spread(1.0, 2.0, 3.0));
        assert_eq!(Spread::new(&[]), None);
    }
}
