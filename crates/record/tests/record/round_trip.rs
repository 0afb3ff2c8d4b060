//! Tests that a reader gets exactly what was written.

use proptest::prelude::*;
use switchcost_record::{Header, Line, MeasureRecord};

use crate::arbitrary::{header, line, record};
use crate::{Folder, SAMPLE, bodies, create, parsed};

/// Returns the record that a reader should make of these lines.
fn expected(header: Header, lines: &[Line]) -> MeasureRecord {
    let mut record = MeasureRecord::new(header);
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
    fn every_line_goes_through_json(line in line()) {
        let json = serde_json::to_string(&line).expect("JSON");
        prop_assert!(!json.contains('\n'), "a line is one line");
        prop_assert_eq!(serde_json::from_str::<Line>(&json).expect("a line"), line);
    }

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

    #[test]
    fn a_record_is_written_as_one_of_the_newest_version(header in header()) {
        let folder = Folder::new();
        let older = Header { schema: "switchcost.record.measure/1".to_owned(), ..header.clone() };
        create(&folder.file(), older).expect("a free name");
        prop_assert_eq!(MeasureRecord::read(&folder.file()).expect("a record").header, header);
    }

    #[test]
    fn a_header_alone_is_a_record(header in header()) {
        let folder = Folder::new();
        create(&folder.file(), header.clone()).expect("a free name");
        prop_assert_eq!(MeasureRecord::read(&folder.file()).expect("a record"), MeasureRecord::new(header));
    }
}

#[test]
fn a_record_may_be_read_while_it_is_written() {
    let folder = Folder::new();
    let lines: Vec<Line> = SAMPLE.lines().map(parsed).collect();
    let Line::Header(header) = &lines[0] else {
        panic!("a header first")
    };
    let mut writer = create(&folder.file(), (**header).clone()).expect("a free name");
    for count in 1..lines.len() {
        writer.append(&lines[count]).expect("room");
        let found = MeasureRecord::read(&folder.file()).expect("a record");
        assert_eq!(found, expected((**header).clone(), &lines[1..=count]));
    }
}

#[test]
fn what_is_read_is_written_as_it_was() {
    for line in bodies() {
        assert_eq!(serde_json::to_string(&parsed(&line)).expect("JSON"), line);
    }
    assert!(SAMPLE.ends_with("}\n"));
}
