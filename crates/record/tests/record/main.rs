//! Tests the record from outside: what is written can be read, and damage is reported.

mod append;
mod arbitrary;
mod checksums;
mod compatibility;
mod cut;
mod damage;
mod round_trip;
mod versions;
mod write_errors;

use std::path::{Path, PathBuf};

use switchcost_record::{
    Header, Line, MeasureRecord, ReadRecordError, Readers, SealedLog, WriteRecordError,
};
use tempfile::TempDir;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// A record of a run, with every kind of line except the report of a runtime.
const SAMPLE: &str = include_str!("../samples/measure-2.jsonl");

/// Returns the lines of the sample without checksums.
fn bodies() -> Vec<String> {
    SAMPLE.lines().map(body).collect()
}

/// Returns a line without its checksum.
fn body(line: &str) -> String {
    let (body, _) = line.rsplit_once(",\"check\":\"").expect("a checksum");
    format!("{body}}}")
}

/// Adds a checksum to each line, as docs/formats/measure-record.md defines it.
fn sealed<L: AsRef<[u8]>>(lines: &[L]) -> Vec<u8> {
    let mut check = 0;
    let mut bytes = Vec::new();
    for line in lines {
        let body = line.as_ref().strip_suffix(b"}").expect("an object");
        check = xxh3_64_with_seed(body, check);
        bytes.extend_from_slice(body);
        bytes.extend_from_slice(format!(",\"check\":\"{check:016x}\"}}\n").as_bytes());
    }
    bytes
}

fn parsed(line: &str) -> Line {
    serde_json::from_str(line).expect("a line")
}

/// Returns the header and the other lines of the sample.
fn sample() -> (Header, Vec<Line>) {
    let mut lines: Vec<Line> = SAMPLE.lines().map(parsed).collect();
    match lines.remove(0) {
        Line::Header(header) => (*header, lines),
        other => panic!("{other:?}"),
    }
}

/// A temporary folder for one test, which is removed when the value is dropped.
struct Folder(TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(TempDir::new().expect("a folder"))
    }

    fn file(&self) -> PathBuf {
        self.0.path().join("run.jsonl")
    }

    /// Reads a record that consists of these bytes.
    fn read(&self, bytes: &[u8]) -> Result<MeasureRecord, ReadRecordError> {
        std::fs::write(self.file(), bytes).expect("room");
        MeasureRecord::read(&self.file())
    }
}

fn read(bytes: &[u8]) -> Result<MeasureRecord, ReadRecordError> {
    Folder::new().read(bytes)
}

/// Returns the number of the damaged line, and the fault.
fn damage(bytes: &[u8]) -> (u64, String) {
    match read(bytes) {
        Err(ReadRecordError::Damaged { line, why, .. }) => (line, why),
        other => panic!("not damaged: {other:?}"),
    }
}

/// Joins lines, each with a newline.
fn joined<S: AsRef<str>>(lines: &[S]) -> Vec<u8> {
    lines
        .iter()
        .flat_map(|line| [line.as_ref(), "\n"])
        .collect::<String>()
        .into_bytes()
}

/// Creates a record of a measurement.
fn create(path: &Path, header: Header) -> Result<SealedLog<Line>, WriteRecordError> {
    SealedLog::create(Readers::AsUsual, path, header)
}

/// Writes a record line by line, and returns its bytes.
fn written(header: &Header, lines: &[Line]) -> Vec<u8> {
    let folder = Folder::new();
    let mut writer = create(&folder.file(), header.clone()).expect("a free name");
    lines
        .iter()
        .for_each(|line| writer.append(line).expect("room"));
    std::fs::read(folder.file()).expect("a record")
}
