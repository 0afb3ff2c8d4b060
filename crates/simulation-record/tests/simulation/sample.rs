//! A record of each version stays readable.

use std::path::Path;

use simulation_result::Interval;

use crate::fixture::{head, tuples};
use crate::read;

const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/samples/simulation-1.parquet");

/// It was written before lookups of the two views were compared.
#[test]
fn the_sample_of_version_1_is_read() {
    let (found_head, found) = read(Path::new(SAMPLE)).unwrap_or_else(|error| panic!("{error}"));
    let mut head = head();
    for design in &mut head.designs {
        design.miss_differences.clear();
        design.lost_cycles = None;
        design.calls.clear();
        design.physical_pages = None;
    }
    assert_eq!(found_head, head);
    let without = |tuple: Interval| Interval { lost_cycles: None, ..tuple };
    assert_eq!(found, tuples(300).into_iter().map(without).collect::<Vec<_>>());
}
