use std::fmt;
use std::ops::{Add, Sub};
use std::str::FromStr;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A span of time in whole nanoseconds.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    JsonSchema,
    Serialize,
    Deserialize,
)]
#[schemars(inline)]
#[serde(transparent)]
pub struct Nanos(pub u64);

impl Nanos {
    /// Returns a span of `n` microseconds.
    pub const fn micros(n: u64) -> Self {
        Nanos(n * 1_000)
    }

    /// Returns a span of `n` milliseconds.
    pub const fn millis(n: u64) -> Self {
        Nanos(n * 1_000_000)
    }

    /// Returns a span of `n` seconds.
    pub const fn seconds(n: u64) -> Self {
        Nanos(n * 1_000_000_000)
    }

    /// Returns `self - other`, or zero if `other` is larger.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Nanos(self.0.saturating_sub(other.0))
    }

    /// Returns this span as a [`Duration`].
    pub const fn as_duration(self) -> Duration {
        Duration::from_nanos(self.0)
    }
}

impl Add for Nanos {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Nanos(self.0 + other.0)
    }
}

impl From<Duration> for Nanos {
    fn from(duration: Duration) -> Self {
        Nanos(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
    }
}

/// Prints the span in its largest suitable unit; `{:#}` prints the form of a flag, without a space
/// or trailing zeros: `1.5ms`.
impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self.0 {
            n if n >= 1_000_000_000 => format!("{:.2} s", n as f64 / 1e9),
            n if n >= 1_000_000 => format!("{:.2} ms", n as f64 / 1e6),
            n if n >= 1_000 => format!("{:.2} us", n as f64 / 1e3),
            n => format!("{n} ns"),
        };
        match text.split_once(' ') {
            Some((number, unit)) if f.alternate() => {
                let short = number.trim_end_matches('0').trim_end_matches('.');
                let number = if number.contains('.') { short } else { number };
                f.pad(&format!("{number}{unit}"))
            }
            _ => f.pad(&text),
        }
    }
}

/// Error for a text that is not a span of time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{found}' is not a time; write it with its unit: 200us, 15s or 2min")]
pub struct ParseNanosError {
    found: String,
}

impl FromStr for Nanos {
    type Err = ParseNanosError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || ParseNanosError {
            found: text.to_owned(),
        };
        let trimmed = text.trim();
        let split = trimmed
            .find(|c: char| c.is_ascii_alphabetic())
            .ok_or_else(error)?;
        let (number, unit) = trimmed.split_at(split);
        let unit_ns = match unit {
            "ns" => 1_u64,
            "us" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "min" => 60_000_000_000,
            _ => return Err(error()),
        };
        let is_plain = number
            .trim()
            .bytes()
            .all(|b| b.is_ascii_digit() || b == b'.');
        let number: f64 = number
            .trim()
            .parse()
            .ok()
            .filter(|_| is_plain)
            .ok_or_else(error)?;
        let nanos = (number * unit_ns as f64).round();
        // 2^53: the largest span that the product above holds exactly, 104 days.
        (nanos <= 9_007_199_254_740_992.0)
            .then_some(Nanos(nanos as u64))
            .ok_or_else(error)
    }
}

/// A reading of the run's clock, or the difference of two readings, in ticks of that clock.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    JsonSchema,
    Serialize,
    Deserialize,
)]
#[schemars(inline)]
#[serde(transparent)]
pub struct Ticks(pub u64);

impl Ticks {
    /// Returns the ticks from `earlier` to `self`; `None` if the clock ran backwards. The caller
    /// records a clock that ran backwards.
    pub const fn since(self, earlier: Ticks) -> Option<Ticks> {
        match self.0.checked_sub(earlier.0) {
            Some(ticks) => Some(Ticks(ticks)),
            None => None,
        }
    }
}

impl Sub for Ticks {
    type Output = Ticks;

    /// Returns the difference, which wraps around if `earlier` is larger; [`Ticks::since`] checks
    /// the order.
    fn sub(self, earlier: Ticks) -> Ticks {
        Ticks(self.0.wrapping_sub(earlier.0))
    }
}

/// Ticks per second of the run's clock, as calibrated against the kernel's raw monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[schemars(inline)]
#[serde(transparent)]
pub struct TickRate(pub u64);

impl TickRate {
    /// Rate of a clock whose tick is one nanosecond.
    pub const NANOSECONDS: TickRate = TickRate(1_000_000_000);

    /// Converts ticks to whole nanoseconds, rounded down.
    pub const fn nanos(self, ticks: Ticks) -> Nanos {
        Nanos((ticks.0 as u128 * 1_000_000_000 / self.0 as u128) as u64)
    }

    /// Converts a span of time to whole ticks, rounded down.
    pub const fn ticks(self, nanos: Nanos) -> Ticks {
        Ticks((nanos.0 as u128 * self.0 as u128 / 1_000_000_000) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_and_prints_spans() {
        assert_eq!("1.5us".parse(), Ok(Nanos(1_500)));
        assert_eq!("2min".parse(), Ok(Nanos::seconds(120)));
        for text in ["", "5", "us", "-1s", "infs", "1h", "1e30s"] {
            assert!(text.parse::<Nanos>().is_err(), "{text}");
        }
        for (nanos, typed) in [(10, "10ns"), (1_740, "1.74us"), (100_000_000, "100ms")] {
            assert_eq!(format!("{:#}", Nanos(nanos)), typed);
            assert_eq!(typed.parse(), Ok(Nanos(nanos)));
        }
        assert_eq!(Nanos(1_740).to_string(), "1.74 us");
        assert_eq!(Nanos(12).to_string(), "12 ns");
    }

    #[test]
    fn ticks_convert_without_overflow_or_drift() {
        let rate = TickRate(2_445_428_000);
        let day = Nanos::seconds(86_400);
        let back = rate.nanos(rate.ticks(day));
        assert!(day.0 - back.0 <= 1, "{back:?}");
    }

    #[test]
    fn a_backward_clock_is_seen() {
        assert_eq!(Ticks(5).since(Ticks(7)), None);
        assert_eq!(Ticks(7).since(Ticks(5)), Some(Ticks(2)));
    }
}
