//! Tests that a reader gets exactly what was written.

use proptest::prelude::*;
use switchcost_record::{Header, Line, MEASURE_FORM, MeasureRecord};

use crate::arbitrary::record;
use crate::{Folder, create, sample};

/// Returns the record that a reader should make of these lines, in the newest format.
fn expected(header: Header, lines: &[Line]) -> MeasureRecord {
    let mut record = MeasureRecord::new(Header {
        schema: MEASURE_FORM.to_owned(),
        ..header
    });
    for line in lines.iter().cloned() {
        match line {
            Line::Header(_) => panic!("one header is enough"),
            Line::SelfTest(test) => record.self_tests.push(test),
            Line::Latency(latency) => record.latencies.push(latency),
            Line::Sample(sample) => record.samples.push(*sample),
            Line::Cycles(cycles) => record.cycles.push(*cycles),
            Line::Runtime(run) => record.runtime_runs.push(*run),
            Line::Refusal(refusal) => record.refusals.push(refusal),
            Line::End(end) => record.end = Some(end),
        }
    }
    record
}

proptest! {
    #[test]
    fn every_record_goes_through_a_file((header, lines) in record()) {
        let folder = Folder::new();
        let mut writer = create(&folder.file(), header.clone()).expect("a free name");
        prop_assert_eq!(writer.path(), folder.file());
        for line in &lines {
            writer.append(line).expect("room");
        }
        writer.sync().expect("a disk");
        prop_assert_eq!(MeasureRecord::read(&folder.file()).expect("a record"), expected(header, &lines));
        let newlines = std::fs::read(folder.file()).expect("a file").iter().filter(|byte| **byte == b'\n').count();
        prop_assert_eq!(newlines, lines.len() + 1);
    }
}

#[test]
fn a_record_may_be_read_while_it_is_written() {
    let folder = Folder::new();
    let (header, lines) = sample();
    let mut writer = create(&folder.file(), header.clone()).expect("a free name");
    for (place, line) in lines.iter().enumerate() {
        writer.append(line).expect("room");
        let found = MeasureRecord::read(&folder.file()).expect("a record");
        assert_eq!(found, expected(header.clone(), &lines[..=place]));
    }
}
