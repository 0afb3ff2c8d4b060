//! Checksums of lines. Each line ends with a checksum of its bytes. The seed of the checksum is the
//! checksum of the line before.

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Bytes immediately before the checksum, which is the last field of the line's JSON object.
const FIELD: &[u8] = b",\"check\":\"";

/// Bytes immediately after the checksum.
const CLOSE: &[u8] = b"\"}";

const DIGITS: usize = 16;

/// Number of bytes of the field with the checksum, from the comma to the end of the object.
const SEAL_BYTES: usize = FIELD.len() + DIGITS + CLOSE.len();

/// Reason why the checksum of a line is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BrokenChain {
    /// The line has no checksum at its end.
    #[error("the line has no checksum")]
    NoCheck,
    /// The line was changed, or a line before it is missing, doubled or out of place.
    #[error("its checksum is {found:016x}, not {right:016x}")]
    Changed {
        /// Checksum that the line contains.
        found: u64,
        /// Checksum that is correct for the line at this position.
        right: u64,
    },
}

impl BrokenChain {
    /// Returns a description of why the checksum of line `number` is wrong.
    pub(super) fn describe(self, number: u64) -> String {
        match self {
            BrokenChain::NoCheck => self.to_string(),
            BrokenChain::Changed { .. } if number > 1 => format!(
                "{self}: it was changed, or a line before it is missing, doubled or out of place"
            ),
            BrokenChain::Changed { .. } => format!("{self}: it was changed"),
        }
    }
}

/// Checksum of a line, which is the seed for the next line's checksum. The seed for the first line
/// is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Chain(u64);

impl Chain {
    /// Adds the checksum to a JSON object as its last field; returns the seed for the next line.
    pub fn seal(self, line: &mut Vec<u8>) -> Chain {
        assert_eq!(line.pop(), Some(b'}'), "every line is an object");
        let check = xxh3_64_with_seed(line, self.0);
        line.extend_from_slice(FIELD);
        line.extend_from_slice(format!("{check:016x}").as_bytes());
        line.extend_from_slice(CLOSE);
        Chain(check)
    }

    /// Verifies and removes the checksum of a line; returns the seed for the next line.
    ///
    /// # Errors
    ///
    /// If the line has no checksum, or a wrong one.
    pub fn open(self, line: &mut Vec<u8>) -> Result<Chain, BrokenChain> {
        let body = line
            .len()
            .checked_sub(SEAL_BYTES)
            .ok_or(BrokenChain::NoCheck)?;
        let found = check(&line[body..]).ok_or(BrokenChain::NoCheck)?;
        let right = xxh3_64_with_seed(&line[..body], self.0);
        if found != right {
            return Err(BrokenChain::Changed { found, right });
        }
        line.truncate(body);
        line.push(b'}');
        Ok(Chain(found))
    }
}

/// Returns the checksum in the last field of a line; `None` unless the field has 16 hexadecimal
/// digits in lower case.
fn check(seal: &[u8]) -> Option<u64> {
    let digits = seal.strip_prefix(FIELD)?.strip_suffix(CLOSE)?;
    let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let digits = std::str::from_utf8(digits)
        .ok()
        .filter(|digits| digits.bytes().all(|byte| is_digit(&byte)))?;
    u64::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealed(lines: &[&str]) -> Vec<Vec<u8>> {
        let mut chain = Chain::default();
        let seal = |line: &&str| {
            let mut line = line.as_bytes().to_vec();
            chain = chain.seal(&mut line);
            line
        };
        lines.iter().map(seal).collect()
    }

    /// Compares checksums with those of python-xxhash, as in docs/formats/measure-record.md.
    #[test]
    fn the_checksums_are_those_of_another_implementation() {
        let long = format!(r#"{{"line":"{}"}}"#, "x".repeat(1_000));
        let checks = sealed(&[r#"{"line":"a"}"#, r#"{"line":"b"}"#, &long])
            .iter()
            .map(|line| check(&line[line.len() - SEAL_BYTES..]))
            .collect::<Vec<_>>();
        assert_eq!(
            checks,
            [
                0xf809_0a35_9785_f186,
                0x035d_4be4_8c54_0360,
                0x7a2b_3b9a_faa4_fbea
            ]
            .map(Some)
        );
    }

    #[test]
    fn what_was_sealed_opens_in_its_place_alone() {
        let lines = sealed(&[r#"{"line":"a"}"#, r#"{"line":"b"}"#]);
        let [mut first, mut second] = [lines[0].clone(), lines[1].clone()];
        let chain = Chain::default().open(&mut first).expect("sealed");
        assert!(matches!(
            Chain::default().open(&mut second),
            Err(BrokenChain::Changed { .. })
        ));
        chain.open(&mut second).expect("in its place");
        assert_eq!(
            (&first[..], &second[..]),
            (&br#"{"line":"a"}"#[..], &br#"{"line":"b"}"#[..])
        );
        assert!(matches!(
            chain.open(&mut lines[0].clone()),
            Err(BrokenChain::Changed { .. })
        ));
    }

    #[test]
    fn a_checksum_has_one_spelling() {
        let is_sealed = |line: &str| {
            line.len()
                .checked_sub(SEAL_BYTES)
                .is_some_and(|at| check(&line.as_bytes()[at..]).is_some())
        };
        assert!(is_sealed(r#"{"line":"a","check":"00000000000000ab"}"#));
        for other in [
            "",
            "{}",
            r#"{"line":"a"}"#,
            r#"{"line":"a","check":"00000000000000AB"}"#,
            r#"{"line":"a","check":"+0000000000000ab"}"#,
            r#"{"line":"a","check": "0000000000000ab"}"#,
            r#"{"line":"a","check":"0000000000000ab"}"#,
            r#"{"line":"a","check":"00000000000000ab"} "#,
        ] {
            assert!(!is_sealed(other), "{other}");
            assert_eq!(
                Chain::default().open(&mut other.as_bytes().to_vec()),
                Err(BrokenChain::NoCheck),
                "{other}"
            );
        }
    }
}
