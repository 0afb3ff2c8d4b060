//! Reads any bytes as a profile, and computes its reload cost if there is no error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use switchcost_analysis::model::reload;
use switchcost_record::profile::{Kind, Price, Prices, read_profile};
use switchcost_units::Bytes;

#[path = "scratch.rs"]
mod scratch;

fuzz_target!(|bytes: &[u8]| {
    match read_profile(&scratch::file_of(bytes)) {
        Ok(profile) => {
            reload(&profile, &some_prices(), Bytes::mib(1), 1500.0);
        }
        Err(error) => drop(error.to_string()),
    }
});

fn some_prices() -> Prices {
    let (own_bytes, away_bytes) = (Bytes::kib(12), Bytes::mib(1));
    Prices::new(vec![Price {
        kind: Kind::Dependent,
        own_bytes,
        away_bytes,
        ns: 5.0,
        low_ns: 4.0,
        high_ns: 6.0,
        n: 8,
    }])
}
