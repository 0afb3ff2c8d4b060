//! Reads any bytes as a record of injected preemptions, and analyses the record if there is no
//! error.
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
