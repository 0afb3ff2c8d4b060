use switchcost_analysis::{Estimate, Interval};

/// Sign for a missing number.
pub(crate) const NO_NUMBER: &str = "-";

const UNITS: [(&str, f64); 4] = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];

/// A unit of time and a number of decimals, with which several numbers are formatted alike.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scale {
    /// Name of the unit: `ns`, `us`, `ms` or `s`.
    pub(crate) unit: &'static str,
    unit_ns: f64,
    decimals: usize,
}

impl Scale {
    /// Chooses the unit and decimals that show `ns` with three significant digits.
    pub(crate) fn choose(ns: f64) -> Self {
        let (unit, unit_ns) = *UNITS
            .iter()
            .find(|(_, unit)| three_digits(ns / unit) < 1000.0)
            .unwrap_or(&UNITS[3]);
        Scale {
            unit,
            unit_ns,
            decimals: decimals(three_digits(ns / unit_ns)),
        }
    }

    /// Chooses the unit and decimals of an estimate. If three digits do not distinguish the
    /// interval's ends from its centre, more digits are shown.
    fn scale_of_estimate(e: &Estimate) -> Self {
        let mut scale = Scale::choose(e.estimate);
        let is_blurred = |scale: &Scale| {
            let centre = scale.number(e.estimate);
            e.low < e.high && scale.number(e.low) == centre && scale.number(e.high) == centre
        };
        for _ in 0..2 {
            if is_blurred(&scale) {
                scale.decimals += 1;
            }
        }
        scale
    }

    /// Converts a time from ns to the unit of this scale.
    pub(crate) fn value(&self, ns: f64) -> f64 {
        ns / self.unit_ns
    }

    /// Formats a time in ns with the unit and decimals of this scale, without the unit's name.
    pub(crate) fn number(&self, ns: f64) -> String {
        let text = format!("{:.*}", self.decimals, ns / self.unit_ns);
        let is_zero = text.bytes().all(|b| matches!(b, b'-' | b'0' | b'.'));
        grouped(if is_zero {
            text.trim_start_matches('-')
        } else {
            &text
        })
    }

    /// Formats a time in ns in the unit of this scale, but with three significant digits.
    pub(crate) fn own_digits(&self, ns: f64) -> String {
        Scale {
            decimals: decimals(three_digits(ns / self.unit_ns)),
            ..*self
        }
        .number(ns)
    }

    fn with_unit(&self, ns: f64) -> String {
        format!("{} {}", self.number(ns), self.unit)
    }

    fn range(&self, e: &Estimate) -> String {
        format!("{} to {}", self.number(e.low), self.number(e.high))
    }
}

/// Rounds the magnitude of a number to three significant digits.
fn three_digits(value: f64) -> f64 {
    format!("{:.2e}", value.abs())
        .parse()
        .unwrap_or(f64::INFINITY)
}

/// Returns the number of decimals, at most three, that show three significant digits of a number of
/// magnitude `size`.
fn decimals(size: f64) -> usize {
    match size {
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 1.0 || size == 0.0 => 2,
        _ => 3,
    }
}

/// Formats a time in ns with its unit and three significant digits.
pub(crate) fn time(ns: f64) -> String {
    if ns == 0.0 {
        "0 ns".to_owned()
    } else if ns.is_finite() {
        Scale::choose(ns).with_unit(ns)
    } else {
        NO_NUMBER.to_owned()
    }
}

/// Formats a cost in ns. A cost cannot be negative, so a negative number becomes `below 0`.
pub(crate) fn cost(ns: f64) -> String {
    if ns < 0.0 {
        "below 0".to_owned()
    } else {
        time(ns)
    }
}

/// Formats an estimate in short form: the centre for an interval above 0, the upper limit for an
/// interval that covers 0, and the interval itself if it lies below 0.
pub(crate) fn with_bound(e: &Estimate) -> String {
    match (
        e.is_distinguishable_from_zero(),
        [e.estimate, e.low, e.high].iter().all(|ns| ns.is_finite()),
    ) {
        (_, false) => NO_NUMBER.to_owned(),
        (true, true) if e.high < 0.0 => ends(e),
        (true, true) => time(e.estimate),
        // A time cannot be negative, so the limit is above 0.
        (false, true) => format!("< {}", time(e.high.max(LEAST_SHOWN))),
    }
}

/// Least time that is not printed as 0, in nanoseconds.
const LEAST_SHOWN: f64 = 0.001;

/// What can be said about a cost from its estimate.
enum Claim {
    /// The estimate has no number.
    Nothing,
    /// The estimate has a centre, but no interval.
    NoInterval,
    /// The interval covers 0.
    NotDistinguishable,
    /// The interval lies below 0, which is impossible for a cost.
    BelowZero,
    /// The interval lies above 0, so the estimate is a cost.
    Cost,
}

fn claim(e: &Estimate) -> Claim {
    match e {
        e if !e.estimate.is_finite() => Claim::Nothing,
        e if !(e.low.is_finite() && e.high.is_finite()) => Claim::NoInterval,
        e if !e.is_distinguishable_from_zero() => Claim::NotDistinguishable,
        e if e.high < 0.0 => Claim::BelowZero,
        _ => Claim::Cost,
    }
}

/// Returns true if the estimate's interval lies above 0, so that the estimate is shown as a cost.
pub(crate) fn is_cost(e: &Estimate) -> bool {
    matches!(claim(e), Claim::Cost)
}

/// Returns true if the estimate's interval lies below 0, which is impossible for a cost.
pub(crate) fn is_below_zero(e: &Estimate) -> bool {
    matches!(claim(e), Claim::BelowZero)
}

/// Formats the ends of the estimate's interval with their unit.
pub(crate) fn ends(e: &Estimate) -> String {
    let scale = Scale::choose(e.low.abs().max(e.high.abs()));
    format!("{} {}", scale.range(e), scale.unit)
}

/// Formats the centre of an estimate whose interval lies above 0. Other estimates are described in
/// words.
pub(crate) fn centre(e: &Estimate) -> String {
    match claim(e) {
        Claim::Nothing => NO_NUMBER.to_owned(),
        Claim::NoInterval if e.estimate < 0.0 => "below 0 (interval not known)".to_owned(),
        Claim::NoInterval => format!("{} (interval not known)", time(e.estimate)),
        Claim::NotDistinguishable => format!("not distinguishable from 0 ({})", ends(e)),
        Claim::BelowZero => format!("below 0 ({})", ends(e)),
        Claim::Cost => Scale::scale_of_estimate(e).with_unit(e.estimate),
    }
}

/// Formats an estimate with its interval.
pub(crate) fn with_interval(e: &Estimate) -> String {
    match claim(e) {
        Claim::Cost => format!("{} ({})", centre(e), interval(e)),
        _ => centre(e),
    }
}

/// Formats the ends of an interval, each by itself.
pub(crate) fn range((low, high): (f64, f64), text: impl Fn(f64) -> String) -> String {
    format!("{} to {}", text(low), text(high))
}

/// Formats a time of either sign with the ends of its interval, such as `1.02 us (970 ns to 1.07
/// us)`.
pub(crate) fn times(ns: Interval) -> String {
    format!("{} ({})", time(ns.estimate), range((ns.low, ns.high), time))
}

/// Formats the ends of the estimate's interval in the unit of its centre, without the unit's name.
pub(crate) fn interval(e: &Estimate) -> String {
    Scale::scale_of_estimate(e).range(e)
}

/// Formats half the width of the interval as a percentage of the centre; empty if the interval does
/// not lie above 0.
pub(crate) fn plus_minus(e: &Estimate) -> String {
    if !is_cost(e) {
        return String::new();
    }
    match e.relative_half_width() * 100.0 {
        percent if percent < 0.05 => "<0.1 %".to_owned(),
        percent if percent < 9.95 => format!("{percent:.1} %"),
        percent => format!("{percent:.0} %"),
    }
}

/// Formats a share as a percentage, rounded down so that no confidence is overstated.
pub(crate) fn percent(share: f64) -> String {
    if share.is_finite() {
        format!("{:.0} %", (share * 100.0 + 1e-9).floor())
    } else {
        NO_NUMBER.to_owned()
    }
}

/// Formats a confidence in percent with up to four decimals, rounded down. The confidence of one
/// among many comparisons needs such digits.
pub(crate) fn confidence(share: f64) -> String {
    format!("{} %", (share * 1e6 + 1e-3).floor() / 1e4)
}

/// Formats a number with at least three significant digits, such as `0.42` or `1,234`.
pub(crate) fn number(value: f64) -> String {
    if value.is_finite() {
        grouped(&format!("{:.*}", decimals(three_digits(value)), value))
    } else {
        NO_NUMBER.to_owned()
    }
}

/// Formats a count, with a comma after every three digits.
pub(crate) fn count(value: u64) -> String {
    grouped(&value.to_string())
}

/// Formats a number with three significant digits and commas, such as `0.42`, `186` or `10,300`.
pub(crate) fn rounded(value: f64) -> String {
    if !value.is_finite() {
        return NO_NUMBER.to_owned();
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    if value.abs() < 1000.0 {
        return number(value);
    }
    // The exponent format rounds to three digits. Above 2^53 further digits are unknown anyway.
    let value: f64 = format!("{value:.2e}").parse().unwrap_or(value);
    grouped(&format!("{value:.0}"))
}

/// Puts a comma after every three digits of the integer part of a decimal number.
fn grouped(number: &str) -> String {
    let end = number.find('.').unwrap_or(number.len());
    let mut text = String::new();
    for (at, character) in number.char_indices() {
        let is_after_digit = text.ends_with(|c: char| c.is_ascii_digit());
        if at < end && is_after_digit && (end - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(character);
    }
    text
}

/// Formats a share of 1 in percent with two significant digits, such as `7.1 %`; a placeholder for
/// `None`.
pub(crate) fn share(value: impl Into<Option<f64>>) -> String {
    let Some(value) = value.into().filter(|value| value.is_finite()) else {
        return NO_NUMBER.to_owned();
    };
    let percent = value * 100.0;
    match percent.abs() {
        0.0 => "0 %".to_owned(),
        size if size < 0.01 => format!("{} %", if percent < 0.0 { "-<0.01" } else { "<0.01" }),
        size if size < 1.0 => format!("{percent:.2} %"),
        size if size < 10.0 => format!("{percent:.1} %"),
        _ => format!("{percent:.0} %"),
    }
}

/// Formats an index from 0 as an ordinal (1st, 2nd, 3rd, 4th, ...). The index of a traversal is
/// below 20.
pub(crate) fn ordinal(place: usize) -> String {
    let ending = match place {
        0 => "st",
        1 => "nd",
        2 => "rd",
        _ => "th",
    };
    format!("{}{ending}", place + 1)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    #[test]
    fn a_confidence_is_never_shown_as_more_than_it_is() {
        let reported = [0.9, 0.995, 0.9995, 0.999_95, 0.999_999, 0.999_999_9].map(confidence);
        assert_eq!(
            reported,
            [
                "90 %",
                "99.5 %",
                "99.95 %",
                "99.995 %",
                "99.9999 %",
                "99.9999 %"
            ]
        );
    }

    pub(crate) fn estimate(low: f64, estimate: f64, high: f64) -> Estimate {
        Estimate {
            estimate,
            low,
            high,
            within_run: (low, high),
            n: 9,
            confidence: 0.9,
            method: "median",
            t90: None,
            sd: 1.0,
        }
    }

    #[test]
    fn a_cost_that_may_be_nothing_is_below_what_can_be_shown() {
        assert_eq!(with_bound(&estimate(-1.0, 0.0, 2.5)), "< 2.50 ns");
        for high in [0.0, 1e-5, 0.000_9] {
            assert_eq!(with_bound(&estimate(-1e-5, 0.0, high)), "< 0.001 ns");
        }
    }

    #[test]
    fn times_have_three_digits_and_the_unit_that_fits() {
        for (ns, text) in [
            (0.0, "0 ns"),
            (0.5234, "0.523 ns"),
            (12.34, "12.3 ns"),
            (999.4, "999 ns"),
            (999.6, "1.00 us"),
            (1_740.2, "1.74 us"),
            (99_960.0, "100 us"),
            (2.5e6, "2.50 ms"),
            (7.2e12, "7,200 s"),
            (f64::NAN, "-"),
            (f64::INFINITY, "-"),
        ] {
            assert_eq!(time(ns), text, "{ns}");
        }
    }

    #[test]
    fn an_interval_shares_the_unit_and_the_digits_of_its_centre() {
        let (nan, infinite) = (f64::NAN, f64::INFINITY);
        for (low, middle, high, text) in [
            (1_730.0, 1_740.0, 1_752.0, "1.74 us (1.73 to 1.75)"),
            (980.0, 1_000.0, 1_020.0, "1.00 us (0.98 to 1.02)"),
            (1_740.3, 1_740.6, 1_740.9, "1.741 us (1.740 to 1.741)"),
            // A difference that covers 0 is no cost.
            (
                -312.0,
                40.0,
                402.0,
                "not distinguishable from 0 (-312 to 402 ns)",
            ),
            (
                -312.0,
                -40.0,
                402.0,
                "not distinguishable from 0 (-312 to 402 ns)",
            ),
            (
                -0.001,
                0.0,
                2_000.0,
                "not distinguishable from 0 (0.00 to 2.00 us)",
            ),
            // A negative cost is never printed as one.
            (-500.0, -400.0, -300.0, "below 0 (-500 to -300 ns)"),
            (-infinite, -400.0, 3.0, "below 0 (interval not known)"),
            (nan, 400.0, nan, "400 ns (interval not known)"),
            (1.0, nan, 2.0, "-"),
        ] {
            let found = estimate(low, middle, high);
            assert_eq!(with_interval(&found), text);
            if low < 0.0 {
                assert_eq!(centre(&found), text);
            }
        }
        assert_eq!(cost(-3.0), "below 0");
    }

    #[test]
    fn half_widths_are_percentages() {
        assert_eq!(plus_minus(&estimate(-312.0, 40.0, 402.0)), "");
        assert_eq!(plus_minus(&estimate(1_730.0, 1_740.0, 1_750.0)), "0.6 %");
        assert_eq!(plus_minus(&estimate(1_000.0, 2_000.0, 3_000.0)), "50 %");
        assert_eq!(plus_minus(&estimate(1_740.0, 1_740.1, 1_740.2)), "<0.1 %");
        assert_eq!(percent(0.9), "90 %");
        assert_eq!(percent(0.8999), "89 %");
    }
}
