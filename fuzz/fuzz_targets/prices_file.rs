//! Reads any bytes as prices, and computes a reload cost with these if there is no error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use switchcost_analysis::model::reload;
use switchcost_record::profile::{Kind, Profile, Reused, read_prices};
use switchcost_units::Bytes;

#[path = "scratch.rs"]
mod scratch;

fuzz_target!(|bytes: &[u8]| {
    match read_prices(&scratch::file_of(bytes)) {
        Ok(prices) => {
            reload(&some_profile(), &prices, Bytes::mib(1), 1500.0);
        }
        Err(error) => drop(error.to_string()),
    }
});

/// Returns a profile with reused lines of two ages.
fn some_profile() -> Profile {
    let row = |age_bytes| Reused {
        kind: Kind::Gathered,
        age_bytes,
        lines: vec![1.0, 2.0],
    };
    let reused = vec![row(Bytes::kib(16)), row(Bytes::mib(4))];
    Profile {
        reused,
        ..Profile::empty(1024, vec![1024, 2048])
    }
}
