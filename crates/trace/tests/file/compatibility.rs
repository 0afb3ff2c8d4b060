//! Files of every version stay readable. The samples are never written again; a new version gets a new one, by
//! `cargo test -p switchcost-trace --test file -- --ignored write_sample`.

use std::path::Path;

use switchcost_trace::testing::seeded;

use crate::shapes::Recorded;
use crate::support::read;

const SAMPLE_1: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/samples/trace-1.sctrace");
const SAMPLE_2: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/samples/trace-2.sctrace");
const SAMPLE_3: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/samples/trace-3.sctrace");

#[test]
fn a_file_of_version_1_reads_as_it_always_did() {
    let file = std::fs::read(SAMPLE_1).expect("the sample is in the tree");
    let (chunks, error) = read(&file);
    assert!(error.is_none(), "{error:?}");
    assert!(chunks == seeded(1, 1_500), "the sample has other chunks than it was made of");
}

#[test]
fn a_file_of_version_2_reads_as_it_always_did() {
    Recorded::seeded(2, 40, 1_500).check(&std::fs::read(SAMPLE_2).expect("the sample is in the tree"));
}

fn recorded() -> Recorded {
    Recorded::seeded(3, 12, 3_000)
}

#[test]
fn a_file_of_version_3_reads_as_it_always_did() {
    recorded().check(&std::fs::read(SAMPLE_3).expect("the sample is in the tree"));
}

#[test]
#[ignore = "makes the sample of a new version"]
fn write_sample() {
    assert!(!Path::new(SAMPLE_3).exists(), "a sample is never written again");
    std::fs::write(SAMPLE_3, recorded().file).expect("the folder is there");
}
