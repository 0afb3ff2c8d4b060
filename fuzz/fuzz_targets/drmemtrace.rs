//! Any bytes, read as records of drmemtrace, packed or not: a sound stream up to the end or an error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use switchcost_trace::{Checker, Chunk, ChunkPlace, Importer, Lives};

/// A header of version 2: no mutation should have to find it.
const HEADER: [u8; 12] = [25, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0];

fuzz_target!(|bytes: &[u8]| {
    read(bytes);
    read(&[&HEADER, bytes].concat());
});

fn read(bytes: &[u8]) {
    let Ok(mut importer) = Importer::drmemtrace(bytes) else { return };
    let mut checker = Checker::default();
    let (mut lives, mut place) = (Lives::default(), ChunkPlace::default());
    let mut chunk = Chunk::default();
    while let Ok(true) = importer.next_into(&mut chunk) {
        checker.chunk(&chunk, place);
        chunk.marks.iter().for_each(|placed| lives.follow(&placed.mark));
        place.running = lives.running;
    }
    assert_eq!(checker.finish().problems, []);
}
