//! Colours of figures, for light and dark pages.

/// Colours of series that colour-blind readers can distinguish (Okabe and Ito 2008), without yellow
/// and black.
pub(super) const SERIES: [&str; 7] = [
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6BB1",
];

/// Colour of omitted points.
pub(super) const LEFT_OUT: &str = "#B3261E";
pub(super) const STRETCH: &str = SERIES[4];

/// Colour number of a series drawn in grey, such as a sum of small parts. As a multiple of 4, the
/// number also gives round marks.
pub(crate) const REST: usize = usize::MAX & !3;

/// Returns the colour of a series as a CSS colour, from its colour number.
pub(super) fn of_series(number: usize) -> &'static str {
    if number == REST {
        "#777777"
    } else {
        SERIES[number % SERIES.len()]
    }
}

/// Nine colours of matplotlib's scale viridis, from 0 to 1.
const VIRIDIS: [[f64; 3]; 9] = [
    [68.0, 1.0, 84.0],
    [71.0, 45.0, 123.0],
    [59.0, 82.0, 139.0],
    [44.0, 114.0, 142.0],
    [33.0, 145.0, 140.0],
    [40.0, 174.0, 128.0],
    [94.0, 201.0, 98.0],
    [173.0, 220.0, 48.0],
    [253.0, 231.0, 37.0],
];

/// Returns the colour of a share from 0 to 1, as a CSS colour.
pub(super) fn viridis(share: f64) -> String {
    let place = share.clamp(0.0, 1.0) * (VIRIDIS.len() - 1) as f64;
    let step = (place as usize).min(VIRIDIS.len() - 2);
    let between = |i: usize| {
        let (from, to) = (VIRIDIS[step][i], VIRIDIS[step + 1][i]);
        (from + (place - step as f64) * (to - from)).round() as u8
    };
    format!("#{:02x}{:02x}{:02x}", between(0), between(1), between(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_of_the_scale_are_those_of_matplotlib() {
        assert_eq!(
            (viridis(0.0), viridis(1.0)),
            ("#440154".into(), "#fde725".into())
        );
        assert_eq!(viridis(0.5), "#21918c");
        assert_eq!(viridis(f64::NAN).len(), 7);
    }
}
