//! Any bytes, read as records of drmemtrace, packed or not, as one file and as two: a sound stream up to the end or an error.
#![no_main]

use std::io::{BufRead, BufReader, Cursor};

use libfuzzer_sys::fuzz_target;
use switchcost_trace::{Checker, Chunk, ChunkPlace, ImportError, Importer, ProcessTable, Unzipped};

/// A header of version 2: no mutation should have to find it.
const HEADER: [u8; 12] = [25, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0];

fuzz_target!(|bytes: &[u8]| {
    read(Importer::drmemtrace(bytes));
    read(Importer::drmemtrace(&[&HEADER, bytes].concat()[..]));
    if let Ok(unzipped) = Unzipped::new(Cursor::new(bytes)) {
        read(Importer::drmemtrace(BufReader::new(unzipped)));
    }
    let (one, other) = bytes.split_at(bytes.len() / 24 * 12);
    for cpu in [None, Some(0)] {
        read(Importer::drmemtrace_files(
            vec![("one".to_owned(), one), ("other".to_owned(), other)],
            cpu,
        ));
    }
});

fn read<R: BufRead>(importer: Result<Importer<R>, ImportError>) {
    let Ok(mut importer) = importer else { return };
    let mut checker = Checker::default();
    let (mut table, mut place) = (ProcessTable::default(), ChunkPlace::default());
    let mut chunk = Chunk::default();
    while let Ok(true) = importer.next_into(&mut chunk) {
        checker.chunk(&chunk, place);
        for placed in &chunk.marks {
            table.follow(&placed.mark);
        }
        place.running = table.running;
    }
    assert_eq!(checker.finish().problems, []);
}
