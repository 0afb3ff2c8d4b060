//! Draws a curve as a line of block characters.

const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Sign for a value that cannot be drawn.
const NO_POINT: char = '·';

/// Draws a block character for each value. The heights are proportional to the values, from `low`
/// to the largest value. A value that is unknown, infinite or below `low` is drawn as [`NO_POINT`].
pub(crate) fn sparkline(values: &[f64], low: f64) -> String {
    let finite = values.iter().copied().filter(|value| value.is_finite());
    let high = finite.fold(low, f64::max);
    let block = |value: &f64| {
        if !value.is_finite() || *value < low {
            return NO_POINT;
        }
        // If all values are equal, the height is NaN, which becomes 0.
        let height = (value - low) / (high - low);
        BLOCKS[(height * (BLOCKS.len() - 1) as f64).round() as usize]
    };
    values.iter().map(block).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_rise_from_low_to_the_largest() {
        let values = [7.0, 3.5, 1.0, 0.0, -1.0, f64::NAN, f64::INFINITY];
        assert_eq!(sparkline(&values, 0.0), "█▅▂▁···");
        assert_eq!(sparkline(&[5.0, 5.0], 5.0), "▁▁");
        assert_eq!(sparkline(&[0.0, 0.0], 0.0), "▁▁");
    }
}
