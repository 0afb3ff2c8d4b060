//! The record from outside: what is written is read back, and what is broken is named.

mod append;
mod arbitrary;
mod checksums;
mod compatibility;
mod cut;
mod damage;
mod round_trip;
mod versions;
mod write_errors;

use std::path::PathBuf;

use switchcost_record::{Header, Line, MeasureRecord, MeasureWriter, ReadRecordError};
use tempfile::TempDir;

/// A record of version 1 with every kind of line, as a run left it.
const SAMPLE: &str = include_str!("../samples/measure-1.jsonl");

/// The same of version 2.
const CHECKED: &str = include_str!("../samples/measure-2.jsonl");

fn sample_lines() -> Vec<&'static str> {
    SAMPLE.lines().collect()
}

fn parsed(line: &str) -> Line {
    serde_json::from_str(line).expect("a line")
}

/// A folder of its own for each test, gone with it.
struct Folder(TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(TempDir::new().expect("a folder"))
    }

    fn file(&self) -> PathBuf {
        self.0.path().join("run.jsonl")
    }

    /// Reads a record that holds these bytes.
    fn read(&self, bytes: &[u8]) -> Result<MeasureRecord, ReadRecordError> {
        std::fs::write(self.file(), bytes).expect("room");
        MeasureRecord::read(&self.file())
    }
}

fn read(bytes: &[u8]) -> Result<MeasureRecord, ReadRecordError> {
    Folder::new().read(bytes)
}

/// A damaged line, by number, and what is wrong with it.
fn damage(bytes: &[u8]) -> (u64, String) {
    match read(bytes) {
        Err(ReadRecordError::Damaged { line, whole, why, .. }) => {
            assert_eq!(whole, line - 1);
            (line, why)
        }
        other => panic!("not damaged: {other:?}"),
    }
}

/// Lines with their newlines.
fn joined<S: AsRef<str>>(lines: &[S]) -> Vec<u8> {
    lines.iter().flat_map(|line| [line.as_ref(), "\n"]).collect::<String>().into_bytes()
}

/// The bytes of a record that was written, line by line.
fn written(header: &Header, lines: &[Line]) -> Vec<u8> {
    let folder = Folder::new();
    let mut writer = MeasureWriter::create(&folder.file(), header.clone()).expect("a free name");
    lines.iter().for_each(|line| writer.append(line).expect("room"));
    std::fs::read(folder.file()).expect("a record")
}
