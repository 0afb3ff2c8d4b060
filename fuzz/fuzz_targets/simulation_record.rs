//! Reads any bytes as a record of a simulation, and analyses the record if there is no error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use switchcost_analysis::simulation::{Analyser, Options};
use switchcost_simulation_record::SimulationRecord;
use xxhash_rust::xxh3::xxh3_64;

#[path = "scratch.rs"]
mod scratch;

const MARKER: &[u8] = b"switchcost.record.checksum.xxh3\x18\x10";
const DIGITS: usize = 16;

fuzz_target!(|bytes: &[u8]| {
    read(bytes);
    // No mutation finds a correct checksum, so it is corrected to reach the code after the check.
    if let Some(sealed) = sealed(bytes) {
        read(&sealed);
    }
});

fn read(bytes: &[u8]) {
    let record = match SimulationRecord::read(&scratch::file_of(bytes)) {
        Ok(record) => record,
        Err(error) => return drop(error.to_string()),
    };
    let Ok(intervals) = record.intervals() else {
        return;
    };
    let mut analyser = Analyser::new(&record.head, Options::default());
    for batch in intervals {
        match batch {
            Ok(batch) => analyser.add(&batch),
            Err(error) => return drop(error.to_string()),
        }
    }
    analyser.finish();
}

/// Returns the file with a correct checksum; `None` if it has no place for one.
fn sealed(bytes: &[u8]) -> Option<Vec<u8>> {
    let at = bytes
        .windows(MARKER.len())
        .rposition(|window| window == MARKER)?
        + MARKER.len();
    let mut sealed = bytes.to_vec();
    sealed.get_mut(at..at + DIGITS)?.fill(b'0');
    let checksum = format!("{:016x}", xxh3_64(&sealed));
    sealed[at..at + DIGITS].copy_from_slice(checksum.as_bytes());
    Some(sealed)
}
