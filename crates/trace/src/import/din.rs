//! Dinero's `LABEL ADDRESS` in hexadecimal: 0 is a load, 1 a store, 2 an instruction. 3 is an escape that means
//! nothing, 4 flushes the cache, which no reference of a program does; both are passed over and counted. What follows
//! the address is a comment.

use super::lines::Parsed;

pub(super) const NEEDED: &str = "a label from 0 to 4 and a hexadecimal address";

pub(super) fn parse(line: &[u8], bytes: u64) -> Parsed {
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let Some(label) = words.next() else { return Parsed::Noise };
    let Some(address) = words.next().and_then(hexadecimal) else { return Parsed::Unknown };
    match label {
        b"0" => Parsed::Data { address, bytes, loads: true, stores: false },
        b"1" => Parsed::Data { address, bytes, loads: false, stores: true },
        b"2" => Parsed::Instruction { address, bytes },
        b"3" | b"4" => Parsed::Noise,
        _ => Parsed::Unknown,
    }
}

fn hexadecimal(word: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(word).ok()?;
    u64::from_str_radix(text.strip_prefix("0x").unwrap_or(text), 16).ok()
}
