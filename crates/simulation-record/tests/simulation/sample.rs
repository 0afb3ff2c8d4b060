//! Tests that the sample of the record stays readable.

use std::path::Path;

use switchcost_design::result::PrivateBy;

use crate::fixture::{head, intervals};
use crate::read;

const SAMPLE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/samples/simulation-1.parquet"
);

/// Reads a file that version 0.1.0 of the program wrote. If this test fails, records have become
/// unreadable: after a release, a change needs a new version of the format, a second sample next to
/// this one, and a reader of both.
#[test]
fn the_sample_of_version_1_is_read() {
    let (found_head, found) = read(Path::new(SAMPLE)).unwrap_or_else(|error| panic!("{error}"));
    // Misses by process, lost lines and tasks as processes were added later, so a record may lack
    // them.
    let mut expected = head();
    expected
        .designs
        .iter_mut()
        .for_each(|design| design.by_process.clear());
    expected
        .designs
        .iter_mut()
        .filter_map(|design| design.detail.as_mut())
        .for_each(|detail| detail.lost_lines.clear());
    expected.private_by = PrivateBy::Process;
    expected
        .processes
        .iter_mut()
        .for_each(|process| process.task = None);
    assert_eq!(found_head, expected);
    assert_eq!(found, intervals(300));
}
