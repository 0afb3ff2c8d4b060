//! Reads any bytes as a record of a measurement, and analyses the record if there is no error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use switchcost_analysis::{analyse, points};
use switchcost_record::MeasureRecord;
use xxhash_rust::xxh3::xxh3_64_with_seed;

#[path = "scratch.rs"]
mod scratch;

fuzz_target!(|bytes: &[u8]| {
    read(bytes);
    // No mutation finds a correct checksum, so all are corrected to reach the code after the check.
    read(&sealed(bytes));
});

fn read(bytes: &[u8]) {
    match MeasureRecord::read(&scratch::file_of(bytes)) {
        Ok(record) => {
            analyse(&record);
            points(&record);
        }
        Err(error) => drop(error.to_string()),
    }
}

/// Returns the lines, each with a correct checksum.
fn sealed(bytes: &[u8]) -> Vec<u8> {
    let mut sealed = Vec::new();
    let mut check = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let Some(object) = line.strip_suffix(b"}\n") else {
            sealed.extend_from_slice(line);
            continue;
        };
        let mark = b",\"check\":\"";
        let body = object
            .windows(mark.len())
            .rposition(|window| window == mark)
            .map_or(object, |at| &object[..at]);
        check = xxh3_64_with_seed(body, check);
        sealed.extend_from_slice(body);
        sealed.extend_from_slice(format!(",\"check\":\"{check:016x}\"}}\n").as_bytes());
    }
    sealed
}
