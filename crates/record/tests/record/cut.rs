//! Tests that a record that was cut off anywhere after its header is read up to its last complete
//! line.

use proptest::prelude::*;
use proptest::sample::Index;
use switchcost_record::{MeasureRecord, ReadRecordError};

use crate::arbitrary::record;
use crate::{Folder, SAMPLE, read, written};

/// Returns the number of lines after the header.
fn count(record: &MeasureRecord) -> usize {
    let end = usize::from(record.end.is_some());
    let samples = record.samples.len() + record.cycles.len() + record.runtime_runs.len();
    record.self_tests.len() + record.latencies.len() + samples + record.refusals.len() + end
}

fn newlines(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte == b'\n').count()
}

fn is_read_to_its_last_whole_line(folder: &Folder, cut: &[u8]) {
    let whole = newlines(cut);
    match folder.read(cut) {
        Ok(found) => {
            assert_eq!(count(&found) + 1, whole, "{} bytes", cut.len());
            assert_eq!(
                found.has_cut_line,
                !cut.ends_with(b"\n"),
                "{} bytes",
                cut.len()
            );
        }
        Err(ReadRecordError::Foreign { why, .. }) => {
            let expected = if cut.is_empty() {
                "it is empty"
            } else {
                "its only line is cut off"
            };
            assert_eq!((whole, why.as_str()), (0, expected));
        }
        Err(error) => panic!("{} bytes: {error}", cut.len()),
    }
}

#[test]
fn the_sample_may_be_cut_anywhere() {
    let folder = Folder::new();
    // Steps through all kinds of places, up to the whole sample.
    for length in (0..=SAMPLE.len()).rev().step_by(7) {
        is_read_to_its_last_whole_line(&folder, &SAMPLE.as_bytes()[..length]);
    }
}

#[test]
fn what_was_read_before_a_cut_is_what_was_written() {
    let whole = read(SAMPLE.as_bytes()).expect("a record");
    let cut = read(&SAMPLE.as_bytes()[..SAMPLE.len() - 1]).expect("a record");
    assert_eq!(
        cut,
        MeasureRecord {
            end: None,
            has_cut_line: true,
            ..whole
        }
    );
}

proptest! {
    #[test]
    fn any_record_may_be_cut_at_any_byte((header, lines) in record(), at in any::<Index>()) {
        let bytes = written(&header, &lines);
        is_read_to_its_last_whole_line(&Folder::new(), &bytes[..at.index(bytes.len() + 1)]);
    }
}
