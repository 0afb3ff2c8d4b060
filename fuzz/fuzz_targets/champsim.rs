//! Any bytes, read as records of ChampSim: chunks that hold together, or an error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use switchcost_trace::{Checker, Chunk, ChunkPlace, Importer, TaskId};

fuzz_target!(|bytes: &[u8]| {
    let Ok(mut importer) = Importer::champsim(bytes) else {
        return;
    };
    let mut checker = Checker::default();
    let mut place = ChunkPlace::default();
    let mut chunk = Chunk::default();
    while let Ok(true) = importer.next_into(&mut chunk) {
        checker.chunk(&chunk, place);
        place.running = TaskId(1);
    }
    assert_eq!(checker.finish().problems, []);
});
