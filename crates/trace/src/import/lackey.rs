//! Imports lackey's text: `I 04001000,3`, ` L 1fff000758,8`, ` S ...`, ` M ...` (a load and a
//! store). Messages of Valgrind begin with `==` or `--`, and output of the program may be
//! interspersed, also before an event in its line. In teaching material such text has different
//! blanks, which do not matter here: a line with the letter and a word of an event is an event, or
//! an error.

use super::lines::{Parsed, hexadecimal};

pub(super) const NEEDED: &str =
    "'I  ADDRESS,SIZE', ' L ADDRESS,SIZE', ' S ...' or ' M ...' with a hexadecimal address";

pub(super) fn parse(line: &[u8]) -> Parsed {
    if let Some(number) = process(line) {
        return Parsed::Message(number);
    }
    match parse_event(line) {
        Parsed::Noise => (1..line.len())
            .find(|&start| is_whole(&line[start..]))
            .map_or(Parsed::Noise, |start| parse_event(&line[start..])),
        event => event,
    }
}

/// Returns the process of a message of Valgrind's: 7 for `==7== Lackey`.
fn process(line: &[u8]) -> Option<u64> {
    let digits = line
        .strip_prefix(b"==")?
        .split(|&byte| byte == b'=')
        .next()?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

fn parse_event(line: &[u8]) -> Parsed {
    let mut words = line
        .split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty());
    let (is_instruction, loads, stores) = match words.next() {
        Some(b"I") => (true, false, false),
        Some(b"L") => (false, true, false),
        Some(b"S") => (false, false, true),
        Some(b"M") => (false, true, true),
        _ => return Parsed::Noise,
    };
    let (word, more) = (words.next().unwrap_or_default(), words.next());
    match address_and_size(word).filter(|_| more.is_none()) {
        None if !is_meant(line) && !looks_meant(word) => Parsed::Noise,
        None => Parsed::Unknown,
        Some((address, bytes)) if is_instruction => Parsed::Instruction { address, bytes },
        Some((address, bytes)) => Parsed::Data {
            address,
            bytes,
            loads,
            stores,
        },
    }
}

/// Whether a line looks like one of lackey's: it has lackey's blanks, which a traced program's
/// output does not have.
fn is_meant(line: &[u8]) -> bool {
    matches!(line.get(..3), Some(b"I  " | b" L " | b" S " | b" M "))
}

/// Whether text is exactly what lackey writes for an event, with an address of 8 digits or more.
fn is_whole(text: &[u8]) -> bool {
    let address = text.get(3..).unwrap_or_default();
    let digits = address.iter().take_while(|byte| byte.is_ascii_hexdigit());
    is_meant(text) && digits.count() >= 8 && address_and_size(address).is_some()
}

/// Whether a word looks like a damaged reference: it has a comma within or after a number, or is an
/// address of lackey's length without a size.
fn looks_meant(word: &[u8]) -> bool {
    match word.iter().position(|&byte| byte == b',') {
        Some(comma) => comma + 1 < word.len() || word.iter().any(u8::is_ascii_digit),
        None => word.len() >= 8 && word.iter().all(u8::is_ascii_hexdigit),
    }
}

fn address_and_size(word: &[u8]) -> Option<(u64, u64)> {
    let comma = word.iter().position(|&byte| byte == b',')?;
    let size = std::str::from_utf8(&word[comma + 1..]).ok()?;
    Some((hexadecimal(&word[..comma])?, size.parse().ok()?))
}
