//! Tests the errors when a record cannot be written, after which no file may be left behind.

use switchcost_design::result::Interval;
use switchcost_simulation_record::{SimulationWriter, WriteSimulationError};

use crate::Folder;
use crate::fixture::{head, intervals};

fn finished(interval: Interval) -> (Folder, Result<(), WriteSimulationError>) {
    let folder = Folder::new();
    let mut writer = SimulationWriter::create(&folder.file()).expect("a free name");
    writer.write(&[interval]).expect("room");
    let outcome = writer.finish(&head());
    (folder, outcome)
}

#[test]
fn a_file_is_never_overwritten() {
    let folder = Folder::new();
    std::fs::write(folder.file(), "mine").expect("room");
    let path = folder.file();
    let expected = format!(
        "{} already exists, and records are never overwritten; choose another name with --record, or move the file away",
        path.display()
    );
    assert_eq!(
        SimulationWriter::create(&path)
            .err()
            .expect("taken")
            .to_string(),
        expected
    );
    std::fs::remove_file(&path).expect("there");
    let writer = SimulationWriter::create(&path).expect("free now");
    std::fs::write(&path, "mine").expect("room");
    assert_eq!(
        writer
            .finish(&head())
            .expect_err("taken meanwhile")
            .to_string(),
        expected
    );
    assert_eq!(std::fs::read(&path).expect("there"), b"mine");
    assert_eq!(folder.names(), ["run.parquet"]);
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let path = Folder::new().0.path().join("none/run.parquet");
    let error = SimulationWriter::create(&path)
        .err()
        .expect("no folder")
        .to_string();
    let start = format!(
        "cannot create {}: No such file or directory",
        path.display()
    );
    assert!(error.starts_with(&start), "{error}");
    let end = "choose another place with --record, in a folder that exists and may be written";
    assert!(error.ends_with(end), "{error}");
}

#[test]
fn an_unfinished_record_leaves_nothing() {
    let folder = Folder::new();
    let mut writer = SimulationWriter::create(&folder.file()).expect("a free name");
    writer.write(&intervals(1000)).expect("room");
    drop(writer);
    assert_eq!(folder.names(), [""; 0]);
}

#[test]
fn an_interval_beyond_the_head_is_refused() {
    let interval = intervals(1)[0];
    for (wrong, what) in [
        (
            Interval {
                design: 2,
                ..interval
            },
            "design 2 is not one of the 2",
        ),
        (
            Interval {
                process: 3,
                ..interval
            },
            "process 3 is not one of the 3",
        ),
        (
            Interval {
                cause: 4,
                ..interval
            },
            "cause 4 is not one of the 4",
        ),
        (
            Interval {
                end: u32::MAX,
                ..interval
            },
            "cause 4294967295 is not one of the 4",
        ),
    ] {
        let (folder, outcome) = finished(wrong);
        let expected = format!(
            "the record was not kept: an interval of {what} in the head; this is a bug of switchcost, report it"
        );
        assert_eq!(outcome.expect_err("beyond the head").to_string(), expected);
        assert_eq!(folder.names(), [""; 0]);
    }
}
