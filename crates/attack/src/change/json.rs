//! Finds the values in a JSON text.

use std::ops::Range;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Number,
    Word,
    Other,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) kind: Kind,
    pub(super) span: Range<usize>,
    /// Range of the value in the text, with its key if it has one.
    pub(super) member: Range<usize>,
    /// Keys and list indices from the outermost to the value, each after a slash.
    pub(super) path: String,
}

/// Returns all values in a JSON text, with the whole text as the last; empty if the text is not
/// JSON.
pub(super) fn values(text: &[u8]) -> Vec<Found> {
    if serde_json::from_slice::<serde::de::IgnoredAny>(text).is_err() {
        return Vec::new();
    }
    let mut scanner = Scanner {
        text,
        at: 0,
        found: Vec::new(),
    };
    scanner.blanks();
    scanner.value(0, String::new());
    scanner.found
}

struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
    found: Vec<Found>,
}

impl Scanner<'_> {
    fn here(&self) -> u8 {
        self.text[self.at]
    }

    fn blanks(&mut self) {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
    }

    /// Reads the value at the current position. `member` is the position of its key, or of the
    /// value if it has no key.
    fn value(&mut self, member: usize, path: String) {
        let start = self.at;
        let kind = match self.here() {
            b'{' => self.inside(b'}', true, &path),
            b'[' => self.inside(b']', false, &path),
            b'"' => self.word(),
            b'-' | b'0'..=b'9' => self.end_of_kind(Kind::Number),
            _ => self.end_of_kind(Kind::Other),
        };
        self.found.push(Found {
            kind,
            span: start..self.at,
            member: member..self.at,
            path,
        });
    }

    fn inside(&mut self, end: u8, has_keys: bool, path: &str) -> Kind {
        self.at += 1;
        self.blanks();
        for number in 0.. {
            if self.here() == end {
                break;
            }
            let member = self.at;
            let name = if has_keys {
                self.key()
            } else {
                number.to_string()
            };
            self.value(member, format!("{path}/{name}"));
            self.blanks();
            if self.here() == b',' {
                self.at += 1;
                self.blanks();
            }
        }
        self.at += 1;
        Kind::Other
    }

    /// Reads a key and the colon after it, and returns the key.
    fn key(&mut self) -> String {
        let start = self.at + 1;
        self.word();
        let key = String::from_utf8_lossy(&self.text[start..self.at - 1]).into_owned();
        self.blanks();
        self.at += 1;
        self.blanks();
        key
    }

    fn word(&mut self) -> Kind {
        self.at += 1;
        while self.here() != b'"' {
            self.at += if self.here() == b'\\' { 2 } else { 1 };
        }
        self.at += 1;
        Kind::Word
    }

    fn end_of_kind(&mut self, kind: Kind) -> Kind {
        while self
            .text
            .get(self.at)
            .is_some_and(|byte| !matches!(byte, b',' | b'}' | b']') && !byte.is_ascii_whitespace())
        {
            self.at += 1;
        }
        kind
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_found_with_its_key() {
        let text = br#"{"a" : [1, -2.5e3], "b\"": {"c":"x\\"}, "d":null}"#;
        let reported: Vec<&str> = values(text)
            .iter()
            .map(|found| std::str::from_utf8(&text[found.member.clone()]).expect("text"))
            .collect();
        let paths: Vec<String> = values(text).into_iter().map(|found| found.path).collect();
        assert_eq!(
            paths,
            ["/a/0", "/a/1", "/a", "/b\\\"/c", "/b\\\"", "/d", ""]
        );
        let whole = std::str::from_utf8(text).expect("text");
        assert_eq!(
            reported,
            [
                "1",
                "-2.5e3",
                r#""a" : [1, -2.5e3]"#,
                r#""c":"x\\""#,
                r#""b\"": {"c":"x\\"}"#,
                r#""d":null"#,
                whole
            ]
        );
    }

    #[test]
    fn nothing_is_found_in_a_text_that_is_no_json() {
        assert_eq!(values(b"{\"a\":"), []);
    }
}
