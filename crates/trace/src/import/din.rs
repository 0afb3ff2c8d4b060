//! Imports Dinero's `LABEL ADDRESS` in hexadecimal, as Dinero IV reads it: 0 is a load, 1 a store,
//! 2 an instruction, and 3, whatever its purpose, looks data up like a load. 4 copies a line back
//! without changing the cache's content; such lines are ignored and counted. Either number may
//! begin with `0x`, and an address stands for its whole word. The rest of a line is a comment.

use super::lines::{Parsed, hexadecimal};
use super::{ImportError, Imported};

pub(super) const NEEDED: &str = "a label from 0 to 4 and a hexadecimal address";

/// Returns the parser of a line, for words of `word_bytes` bytes: a power of two up to 128.
pub(super) fn parser(word_bytes: u64) -> Imported<impl Fn(&[u8]) -> Parsed> {
    if !word_bytes.is_power_of_two() || word_bytes > 128 {
        return Err(ImportError::Word(word_bytes));
    }
    Ok(move |line: &[u8]| parse(line, word_bytes))
}

fn parse(line: &[u8], bytes: u64) -> Parsed {
    let mut words = line
        .split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty());
    let Some(label) = words.next() else {
        return Parsed::Noise;
    };
    let Some((label, address)) = hexadecimal(label).zip(words.next().and_then(hexadecimal)) else {
        return Parsed::Unknown;
    };
    // With lines that end as on old Macs, all lines but the first would be a comment.
    if line.contains(&b'\r') {
        return Parsed::Unknown;
    }
    let address = address - address % bytes;
    match label {
        0 | 3 => Parsed::Data {
            address,
            bytes,
            loads: true,
            stores: false,
        },
        1 => Parsed::Data {
            address,
            bytes,
            loads: false,
            stores: true,
        },
        2 => Parsed::Instruction { address, bytes },
        4 => Parsed::Noise,
        _ => Parsed::Unknown,
    }
}
