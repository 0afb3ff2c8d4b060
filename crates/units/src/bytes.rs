use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A size in bytes. A size is parsed from `0`, `512`, `64KiB`, `1.5MiB` or `2GiB`, and printed in
/// the largest binary unit of which the size is a multiple.
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
pub struct Bytes(pub u64);

const UNITS: [(&str, u64); 4] = [
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("B", 1),
];

impl Bytes {
    /// Returns a size of `n` kibibytes.
    pub const fn kib(n: u64) -> Self {
        Bytes(n << 10)
    }

    /// Returns a size of `n` mebibytes.
    pub const fn mib(n: u64) -> Self {
        Bytes(n << 20)
    }

    /// Returns the number of bytes as a size in memory (`usize`).
    pub const fn as_usize(self) -> usize {
        self.0 as usize
    }
}

/// Prints the size in the largest binary unit that divides the size; `{:#}` prints the form of a
/// flag, without a space: `64KiB`.
impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match UNITS
            .iter()
            .find(|(_, unit)| self.0 != 0 && self.0.is_multiple_of(*unit))
        {
            Some((name, unit)) => format!("{} {name}", self.0 / unit),
            None => "0 B".to_owned(),
        };
        match f.alternate() {
            true => f.pad(&text.replace(' ', "")),
            false => f.pad(&text),
        }
    }
}

/// Error for a text that is not a size; contains the text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{found}' is not a size; write 512B, 64KiB or 4MiB (1 KiB = 1024 bytes)")]
pub struct ParseBytesError {
    found: String,
}

impl FromStr for Bytes {
    type Err = ParseBytesError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || ParseBytesError {
            found: text.to_owned(),
        };
        let trimmed = text.trim();
        let split = trimmed
            .find(|c: char| c.is_ascii_alphabetic())
            .unwrap_or(trimmed.len());
        let (number, suffix) = trimmed.split_at(split);
        let unit = unit_bytes(suffix).ok_or_else(error)?;
        exact_product(number.trim(), unit)
            .map(Bytes)
            .ok_or_else(error)
    }
}

fn unit_bytes(suffix: &str) -> Option<u64> {
    match suffix.to_ascii_lowercase().as_str() {
        "" | "b" => Some(1),
        "k" | "kib" => Some(1 << 10),
        "m" | "mib" => Some(1 << 20),
        "g" | "gib" => Some(1 << 30),
        _ => None,
    }
}

/// Returns `number` (digits with an optional decimal fraction) times `unit`, if the product is a
/// whole number of bytes.
fn exact_product(number: &str, unit: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let is_digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || fraction.len() > 9 || !is_digits(whole) || !is_digits(fraction) {
        return None;
    }
    let scale = 10_u64.pow(fraction.len() as u32);
    let scaled_fraction = if fraction.is_empty() {
        0
    } else {
        fraction.parse::<u64>().ok()?
    };
    let fraction_bytes = scaled_fraction.checked_mul(unit)?;
    if !fraction_bytes.is_multiple_of(scale) {
        return None;
    }
    whole
        .parse::<u64>()
        .ok()?
        .checked_mul(unit)?
        .checked_add(fraction_bytes / scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_what_flags_write() {
        for (text, bytes) in [
            ("0", 0),
            ("8", 8),
            ("64KiB", 65_536),
            ("64k", 65_536),
            ("1.5MiB", 1_572_864),
            ("2 GiB", 2 << 30),
            ("0.5KiB", 512),
        ] {
            assert_eq!(text.parse(), Ok(Bytes(bytes)), "{text}");
        }
    }

    #[test]
    fn refuses_what_is_not_a_whole_number_of_bytes() {
        for text in [
            "",
            "KiB",
            "-1",
            "1.3B",
            "64kb",
            "1e3",
            "99999999999GiB",
            "1.0000000001GiB",
            "६",
        ] {
            assert!(text.parse::<Bytes>().is_err(), "{text}");
        }
        let error = "64kb"
            .parse::<Bytes>()
            .expect_err("decimal units are ambiguous");
        assert_eq!(
            error.to_string(),
            "'64kb' is not a size; write 512B, 64KiB or 4MiB (1 KiB = 1024 bytes)"
        );
    }

    #[test]
    fn prints_the_largest_exact_unit_and_parses_it_back() {
        for (bytes, text) in [
            (0, "0 B"),
            (1000, "1000 B"),
            (65_536, "64 KiB"),
            (1_572_864, "1536 KiB"),
            (1 << 30, "1 GiB"),
        ] {
            assert_eq!(Bytes(bytes).to_string(), text);
            assert_eq!(text.parse(), Ok(Bytes(bytes)));
        }
    }
}
