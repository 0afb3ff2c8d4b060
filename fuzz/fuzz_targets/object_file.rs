//! Reads any bytes as the object file of a traced program, and looks up functions and lines in it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use switchcost_symbols::Symbols;

#[path = "scratch.rs"]
mod scratch;

fuzz_target!(|bytes: &[u8]| {
    let path = scratch::file_of(bytes);
    let mut symbols = Symbols::default();
    for offset in [0, 0x1000, 0x1010, u64::MAX] {
        symbols.resolve(&path, None, offset);
    }
});
