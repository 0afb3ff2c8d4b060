//! A record of each version stays readable.

use std::path::Path;

use crate::fixture::{head, tuples};
use crate::{read, write};

const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/samples/simulation-1.parquet");

#[test]
fn the_sample_of_version_1_is_read() {
    let (found_head, found) = read(Path::new(SAMPLE)).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(found_head, head());
    assert_eq!(found, tuples(300));
}

#[test]
#[ignore = "makes the sample of the newest version, once"]
fn make_the_sample() {
    write(Path::new(SAMPLE), &head(), &tuples(300), 100);
}
