//! `I  04001000,3`, ` L 1fff000758,8`, ` S ...`, ` M ...` (a load and a store); anything that Valgrind or the program
//! says itself begins with `==` or `--` or stands between.

use super::lines::Parsed;

pub(super) const NEEDED: &str = "'I  ADDRESS,SIZE', ' L ADDRESS,SIZE', ' S ...' or ' M ...' with a hexadecimal address";

pub(super) fn parse(line: &[u8]) -> Parsed {
    let (is_instruction, loads, stores) = match line.get(..3) {
        Some(b"I  ") => (true, false, false),
        Some(b" L ") => (false, true, false),
        Some(b" S ") => (false, false, true),
        Some(b" M ") => (false, true, true),
        _ => return Parsed::Noise,
    };
    match address_and_size(&line[3..]) {
        None => Parsed::Unknown,
        Some((address, bytes)) if is_instruction => Parsed::Instruction { address, bytes },
        Some((address, bytes)) => Parsed::Data { address, bytes, loads, stores },
    }
}

fn address_and_size(text: &[u8]) -> Option<(u64, u64)> {
    let (address, size) = std::str::from_utf8(text).ok()?.trim().split_once(',')?;
    Some((u64::from_str_radix(address, 16).ok()?, size.parse().ok()?))
}
