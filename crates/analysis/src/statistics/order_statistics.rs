//! Medians, quantiles and trimmed means of values.

/// Returns the median: the middle value, or the mean of the two middle ones; `None` without values.
/// Sorts `values`.
pub(crate) fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    median_of_sorted(values)
}

/// Returns the median of values that are in ascending order; `None` without values.
pub(crate) fn median_of_sorted(values: &[f64]) -> Option<f64> {
    let upper = *values.get(values.len() / 2)?;
    if values.len() % 2 == 1 {
        return Some(upper);
    }
    // Each value is halved first, because the sum of two large values may not be finite.
    Some(values[values.len() / 2 - 1] / 2.0 + upper / 2.0)
}

/// Returns the smallest value v such that at least the share `share` of all values is at most v
/// (nearest rank: type 1 of Hyndman and Fan 1996, "Sample quantiles in statistical packages");
/// `None` without values. `values` must be in ascending order.
pub(crate) fn nearest_rank<T: Copy>(values: &[T], share: f64) -> Option<T> {
    let rank = (share * values.len() as f64).ceil() as usize;
    values.get(rank.max(1) - 1).copied()
}

/// Share of values that is trimmed at each end. Timer interrupts and stolen time affect a smaller
/// share.
const TRIMMED: f64 = 0.1;

/// Returns the mean of the values without the lowest tenth and the highest tenth; `None` without
/// values.
pub(crate) fn trimmed_mean(mut values: Vec<f64>) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let cut = (values.len() as f64 * TRIMMED) as usize;
    let kept = &values[cut..values.len() - cut];
    (!kept.is_empty()).then(|| kept.iter().sum::<f64>() / kept.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_is_cut_off_at_each_end() {
        assert_eq!(trimmed_mean((1..=10).map(f64::from).collect()), Some(5.5));
        assert_eq!(
            trimmed_mean(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 1e9]),
            Some(5.5)
        );
        assert_eq!(
            trimmed_mean(vec![2.0, 4.0]),
            Some(3.0),
            "nothing to cut off"
        );
        assert_eq!(trimmed_mean(Vec::new()), None);
    }

    #[test]
    fn medians_of_odd_and_even_numbers() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&mut [4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&mut []), None);
        assert_eq!(median(&mut [f64::MAX, f64::MAX]), Some(f64::MAX));
    }

    #[test]
    fn a_quantile_is_one_of_the_values() {
        let values: Vec<u32> = (1..=100).collect();
        assert_eq!(nearest_rank(&values, 0.5), Some(50));
        assert_eq!(nearest_rank(&values, 0.99), Some(99));
        assert_eq!(nearest_rank(&values, 1.0), Some(100));
        assert_eq!(nearest_rank(&[7], 0.5), Some(7));
        assert_eq!(nearest_rank::<u32>(&[], 0.5), None);
    }
}
