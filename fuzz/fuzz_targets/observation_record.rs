//! Reads any bytes as a record of an observation, and analyses the record if there is no error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use switchcost_analysis::observation::analyse;
use switchcost_record::observation::Observation;

#[path = "scratch.rs"]
mod scratch;

fuzz_target!(|bytes: &[u8]| {
    match Observation::read(&scratch::file_of(bytes)) {
        Ok(observation) => drop(analyse(&observation)),
        Err(error) => drop(error.to_string()),
    }
});
