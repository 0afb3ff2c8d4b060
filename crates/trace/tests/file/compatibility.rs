//! Files of every version stay readable. The samples are never written again; a new version gets a new one, by
//! `cargo test -p switchcost-trace --test file -- --ignored write_sample`.

use std::path::Path;

use switchcost_trace::testing::seeded;

use crate::shapes::Told;
use crate::support::read;

const SAMPLE_1: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/samples/trace-1.sctrace");
const SAMPLE_2: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/samples/trace-2.sctrace");

#[test]
fn a_file_of_version_1_reads_as_it_always_did() {
    let file = std::fs::read(SAMPLE_1).expect("the sample is in the tree");
    let (chunks, error) = read(&file);
    assert!(error.is_none(), "{error:?}");
    assert!(chunks == seeded(1, 1_500), "the sample has other chunks than it was made of");
}

fn told() -> Told {
    Told::seeded(2, 40, 1_500)
}

#[test]
fn a_file_of_version_2_reads_as_it_always_did() {
    told().check(&std::fs::read(SAMPLE_2).expect("the sample is in the tree"));
}

#[test]
#[ignore = "makes the sample of a new version"]
fn write_sample() {
    assert!(!Path::new(SAMPLE_2).exists(), "a sample is never written again");
    std::fs::write(SAMPLE_2, told().file).expect("the folder is there");
}
