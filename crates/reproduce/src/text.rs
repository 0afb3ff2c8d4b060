//! Formats numbers for sentences.

/// Formats a number with three significant digits, or two if it is below 0.1.
pub(crate) fn number(value: f64) -> String {
    if !value.is_finite() {
        return "-".to_owned();
    }
    let rounded: f64 = format!("{value:.2e}").parse().unwrap_or(value);
    let decimals = match rounded.abs() {
        size if size >= 100.0 || size == 0.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 1.0 => 2,
        size if size >= 0.01 => 3,
        // The number of decimals shows at least two digits, so that a share of 0.0002 is not
        // printed as 0.
        size => (1.0 - size.log10()).ceil().min(12.0) as usize,
    };
    format!("{rounded:.decimals$}")
}

/// Formats a share of 1 as a percentage, such as `12.5 %`.
pub(crate) fn percent(share: f64) -> String {
    format!("{} %", number(share * 100.0))
}

/// Formats a time in ns as microseconds with the unit.
pub(crate) fn microseconds(ns: f64) -> String {
    format!("{} us", number(ns / 1e3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits() {
        for (value, text) in [
            (0.0, "0"),
            (0.0123, "0.012"),
            (0.000_184, "0.00018"),
            (-0.0042, "-0.0042"),
            (0.01, "0.010"),
            (1.0, "1.00"),
            (12.34, "12.3"),
            (999.6, "1000"),
            (123_456.0, "123000"),
        ] {
            assert_eq!(number(value), text, "{value}");
        }
        assert_eq!(percent(0.071), "7.10 %");
        assert_eq!(microseconds(1740.0), "1.74 us");
    }
}
