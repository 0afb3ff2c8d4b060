//! Any bytes, read as the record of injected preemptions: an error, or findings.
#![no_main]

use libfuzzer_sys::fuzz_target;
use switchcost_analysis::injection::analyse;
use switchcost_record::injection::Injection;

#[path = "scratch.rs"]
mod scratch;

fuzz_target!(|bytes: &[u8]| {
    match Injection::read(&scratch::file_of(bytes)) {
        Ok(record) => drop(analyse(&record)),
        Err(error) => drop(error.to_string()),
    }
});
