//! Tests that files of each version stay readable. A sample is never written again; a new version
//! gets new samples, by `cargo test -p switchcost-trace --test file -- --ignored write_samples`.

use std::io::Cursor;
use std::path::Path;

use switchcost_trace::testing::seeded;
use switchcost_trace::{Chunk, dependences};

use crate::shapes::Recorded;
use crate::support::{read_whole, written};

/// Sample of version 3 with shapes of several blocks.
const SHAPES_3: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/samples/trace-3-shapes.sctrace"
);
/// Sample of version 3 with marks of all kinds.
const MARKS_3: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/samples/trace-3-marks.sctrace"
);

fn shapes() -> Recorded {
    Recorded::seeded(3, 12, 3_000)
}

fn marks() -> Vec<Chunk> {
    seeded(1, 1_500)
}

fn sample(path: &str) -> Vec<u8> {
    std::fs::read(path).expect("the sample is in the tree")
}

#[test]
fn a_file_of_version_3_reads_as_it_always_did() {
    shapes().check(&sample(SHAPES_3));
    assert!(dependences(&mut Cursor::new(sample(SHAPES_3))).is_ok_and(|found| found.is_empty()));
    assert!(
        read_whole(&sample(MARKS_3)) == marks(),
        "the sample has other chunks than it was made of"
    );
}

#[test]
#[ignore = "makes the samples of a new version"]
fn write_samples() {
    for (path, file) in [(SHAPES_3, shapes().file), (MARKS_3, written(&marks()))] {
        assert!(!Path::new(path).exists(), "a sample is never written again");
        std::fs::write(path, file).expect("the folder is there");
    }
}
