//! Generates text that is the same on every machine: words of an invented language, of which a few
//! are much more frequent than the rest.

use std::io::{self, BufWriter, Write};

/// First argument that makes this program print the text. The number of bytes follows.
pub(crate) const ARGUMENT: &str = "--text";

const VOCABULARY: u64 = 4_000;
const WORDS_A_LINE: u64 = 12;

pub(crate) fn play(words: &[String]) -> io::Result<()> {
    let [bytes] = words else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let bytes = bytes.parse().map_err(io::Error::other)?;
    write_text(io::stdout().lock(), bytes)
}

/// Writes at least this many bytes of text, in whole lines.
fn write_text(into: impl Write, bytes: usize) -> io::Result<()> {
    let mut file = BufWriter::new(into);
    let mut dice = Lcg(1);
    let mut written = 0;
    while written < bytes {
        let line: Vec<String> = (0..WORDS_A_LINE).map(|_| word(&mut dice)).collect();
        let line = line.join(" ");
        writeln!(file, "{line}")?;
        written += line.len() + 1;
    }
    file.flush()
}

/// Draws a word. The product of two random numbers favours small numbers, which stand for frequent
/// words.
fn word(dice: &mut Lcg) -> String {
    let number = dice.below(VOCABULARY) * dice.below(VOCABULARY) / VOCABULARY;
    let mut letters = Lcg(number + 1);
    let length = 2 + letters.below(8);
    (0..length)
        .map(|_| char::from(b'a' + letters.below(26) as u8))
        .collect()
}

/// A linear congruential generator (Knuth's MMIX). Its output does not depend on the version of a
/// library.
struct Lcg(u64);

impl Lcg {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_always_the_same() {
        let write = || {
            let mut text = Vec::new();
            write_text(&mut text, 1_000).expect("room");
            String::from_utf8(text).expect("text")
        };
        let text = write();
        assert!((1_000..1_200).contains(&text.len()), "{}", text.len());
        assert_eq!(write(), text);
        let mut words: Vec<&str> = text.split_whitespace().collect();
        let all = words.len();
        words.sort_unstable();
        words.dedup();
        assert!(words.len() < all, "no word comes twice");
    }
}
