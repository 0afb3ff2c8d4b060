//! Median and spread of a few figures.

use std::fmt;

/// Smallest, middle and largest of some figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) low: f64,
    pub(crate) median: f64,
    pub(crate) high: f64,
}

impl Spread {
    /// `None` of no figures.
    pub(crate) fn of(figures: &[f64]) -> Option<Spread> {
        let mut sorted = figures.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (low, high) = (*sorted.first()?, *sorted.last()?);
        let middle = sorted.len() / 2;
        let median = if sorted.len() % 2 == 1 {
            sorted[middle]
        } else {
            (sorted[middle - 1] + sorted[middle]) / 2.0
        };
        Some(Spread { low, median, high })
    }

    /// The median, and where the middle half of the figures begins and ends.
    pub(crate) fn middle_half(figures: &[f64]) -> Option<Spread> {
        let mut sorted = figures.to_vec();
        sorted.sort_by(f64::total_cmp);
        let cut = sorted.len() / 4;
        Spread::of(&sorted[cut..sorted.len() - cut])
    }

    /// Largest distance from the median, in percent of it.
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

    #[test]
    fn the_median_is_in_the_middle() {
        let spread = Spread::of(&[3.0, 1.0, 2.0, 10.0]).expect("figures");
        assert_eq!(
            spread,
            Spread {
                low: 1.0,
                median: 2.5,
                high: 10.0
            }
        );
        assert_eq!(spread.largest_deviation_percent(), 300.0);
        assert_eq!(Spread::of(&[]), None);
        let half =
            Spread::middle_half(&[100.0, 2.0, 1.0, -50.0, 3.0, 4.0, 5.0, 6.0]).expect("figures");
        assert_eq!(
            half,
            Spread {
                low: 2.0,
                median: 3.5,
                high: 5.0
            }
        );
    }
}
