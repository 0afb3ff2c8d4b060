//! Reads any bytes as prices.
#![no_main]

use libfuzzer_sys::fuzz_target;
use switchcost_record::prices::read_prices;

#[path = "scratch.rs"]
mod scratch;

fuzz_target!(|bytes: &[u8]| {
    if let Err(error) = read_prices(&scratch::file_of(bytes)) {
        drop(error.to_string());
    }
});
