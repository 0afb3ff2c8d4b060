//! Reads any bytes in the format of `trace import` that $IMPORT_FORMAT names. The stream up to the
//! end, or up to an error, must pass the checker. Drmemtrace is also read after a header, zipped,
//! and as two files.
#![no_main]

use std::io::{BufReader, Cursor};
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use switchcost_trace::{
    Checker, Chunk, ChunkPlace, ImportError, ImportFormat, Importer, ProcessTable, Unzipped,
};

static FORMAT: LazyLock<ImportFormat> = LazyLock::new(|| {
    let name = std::env::var("IMPORT_FORMAT").expect("a format in IMPORT_FORMAT");
    name.parse().expect("a format of trace import")
});
const WORD_BYTES: u64 = 4;
/// Header of drmemtrace, version 2, which is put before the bytes so that no mutation must find it.
const HEADER: [u8; 12] = [25, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0];

fuzz_target!(|bytes: &[u8]| {
    read(Importer::new(*FORMAT, bytes, WORD_BYTES));
    if *FORMAT == ImportFormat::Drmemtrace {
        read_as_drmemtrace(bytes);
    }
});

fn read_as_drmemtrace(bytes: &[u8]) {
    read(Importer::new(*FORMAT, &[&HEADER, bytes].concat()[..], WORD_BYTES));
    if let Ok(unzipped) = Unzipped::new(Cursor::new(bytes)) {
        read(Importer::new(*FORMAT, BufReader::new(unzipped), WORD_BYTES));
    }
    let (one, other) = bytes.split_at(bytes.len() / 24 * 12);
    for cpu in [None, Some(0)] {
        read(Importer::drmemtrace_files(
            vec![("one".to_owned(), one), ("other".to_owned(), other)],
            cpu,
        ));
    }
}

fn read(importer: Result<Importer<'_>, ImportError>) {
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
