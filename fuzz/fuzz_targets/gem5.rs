//! Any bytes, read as packets of gem5: chunks that hold together, or an error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use switchcost_trace::{Checker, Chunk, ChunkPlace, Importer, TaskId};

fuzz_target!(|bytes: &[u8]| {
    let Ok(mut importer) = Importer::gem5(bytes) else {
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
