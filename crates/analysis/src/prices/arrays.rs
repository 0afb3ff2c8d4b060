//! Estimates one price (cost of a lost line) from the measurements of several arrays.

use crate::statistics::Estimate;
use crate::statistics::estimate::estimate;
use crate::statistics::order_statistics::median;

const CONFIDENCE: f64 = 0.9;

/// Returns the estimate of a price from arrays at independent addresses. `rounds` has, for each
/// array, the values of its rounds. Their median represents the array, because other tasks may run
/// in some rounds.
///
/// # Errors
///
/// If there are too few arrays for an interval.
pub fn across_arrays(rounds: &[Vec<f64>]) -> Result<Estimate, String> {
    let medians: Vec<f64> = rounds
        .iter()
        .filter_map(|rounds| median(&mut rounds.clone()))
        .collect();
    estimate(&medians, CONFIDENCE).map_err(|few| few.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_in_which_others_had_the_cpu_changes_nothing() {
        let arrays: Vec<Vec<f64>> = (0..8)
            .map(|array| vec![5.0 + f64::from(array) * 0.1, 4.0, 1e6])
            .collect();
        let found = across_arrays(&arrays).expect("enough");
        assert!(
            (found.estimate - 5.35).abs() < 0.05 && found.low >= 5.0 && found.high <= 5.7,
            "{found:?}"
        );
        assert!(across_arrays(&arrays[..2]).is_err());
    }
}
