//! Reads any bytes as a trace file, from the start and by its index. An error is fine, a panic is
//! not.
#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use switchcost_trace::{
    Chunk, TraceFile, TraceReader, check, dependences, kernel_symbols, summarize,
};
use xxhash_rust::xxh3::xxh3_64;

const MAGIC: &[u8] = b"\x89SCT\r\n\x1a\n";
const HEAD_BYTES: usize = 32;

fuzz_target!(|bytes: &[u8]| {
    read(bytes);
    // No mutation finds a correct checksum, so all are corrected to reach the code after the check.
    read(&sealed(bytes));
});

fn read(bytes: &[u8]) {
    if let Ok(reader) = TraceReader::new(bytes) {
        let report = check(reader);
        report
            .problems
            .iter()
            .for_each(|problem| drop(problem.to_string()));
        drop(report.loss.map(|loss| loss.to_string()));
    }
    if let Ok(reader) = TraceReader::new(bytes) {
        let known = dependences(&mut Cursor::new(bytes)).unwrap_or_default();
        drop(summarize(reader, &known));
    }
    drop(kernel_symbols(&mut Cursor::new(bytes)));
    if let Ok(mut file) = TraceFile::open(Cursor::new(bytes)) {
        let mut chunk = Chunk::default();
        let _ = file.seek(1_000);
        while let Ok(Some(_)) = file.next_into(&mut chunk) {}
    }
}

/// Returns the file with the magic of the file, and with correct magic, number and checksums of
/// each record.
fn sealed(bytes: &[u8]) -> Vec<u8> {
    let mut file = bytes.to_vec();
    let start = file.len().min(MAGIC.len());
    file[..start].copy_from_slice(&MAGIC[..start]);
    let mut at = start;
    for number in 0_u32.. {
        let Some(head) = file.get(at..at + HEAD_BYTES) else {
            break;
        };
        let length = u32::from_le_bytes([head[12], head[13], head[14], head[15]]) as usize;
        let body = at + HEAD_BYTES;
        let end = body.saturating_add(length).min(file.len());
        let checksum = xxh3_64(&file[body..end]);
        file[at..at + 4].copy_from_slice(b"SCtr");
        file[at + 8..at + 12].copy_from_slice(&number.to_le_bytes());
        file[at + 16..at + 24].copy_from_slice(&checksum.to_le_bytes());
        let checksum = xxh3_64(&file[at..at + 24]);
        file[at + 24..at + 32].copy_from_slice(&checksum.to_le_bytes());
        at = end;
    }
    file
}
