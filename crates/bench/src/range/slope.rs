/// How steeply the second of two quantities grows with the first, by least squares; none where the first does not change.
pub(super) fn slope(points: &[(f64, f64)]) -> Option<f64> {
    let count = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let spread: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
    let together: f64 = points
        .iter()
        .map(|point| (point.0 - x) * (point.1 - y))
        .sum();
    (spread > 0.0).then(|| together / spread)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_its_slope_and_a_point_has_none() {
        assert_eq!(slope(&[(1.0, 5.0), (2.0, 8.0), (3.0, 11.0)]), Some(3.0));
        assert_eq!((slope(&[(1.0, 5.0), (1.0, 6.0)]), slope(&[])), (None, None));
    }
}
