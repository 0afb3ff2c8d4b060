//! Tests the record of a simulation from outside: what is written can be read, and damage is
//! reported.

mod damage;
mod fixture;
mod hostile;
mod large;
mod round_trip;
mod sample;
mod write_errors;

use std::path::{Path, PathBuf};

use switchcost_design::result::{Interval, Simulation};
use switchcost_simulation_record::{ReadSimulationError, SimulationRecord, SimulationWriter};
use tempfile::TempDir;

use fixture::intervals;

/// A folder for one test, which is removed with the value.
struct Folder(TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(TempDir::new().expect("a folder"))
    }

    fn file(&self) -> PathBuf {
        self.0.path().join("run.parquet")
    }

    /// Returns the names of all files in the folder.
    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).expect("a folder");
        entries
            .map(|entry| {
                entry
                    .expect("an entry")
                    .file_name()
                    .into_string()
                    .expect("UTF-8")
            })
            .collect()
    }
}

/// Writes a record in row groups of `rows` rows.
fn write(path: &Path, head: &Simulation, intervals: &[Interval], rows: u64) {
    let mut writer = SimulationWriter::create(path)
        .expect("a free name")
        .with_row_group_rows(rows);
    for part in intervals.chunks(7) {
        writer.write(part).expect("room");
    }
    writer.finish(head).expect("room");
}

fn read_intervals(record: &SimulationRecord) -> Result<Vec<Interval>, ReadSimulationError> {
    let batches = record.intervals()?.collect::<Result<Vec<_>, _>>()?;
    Ok(batches.concat())
}

/// Returns the bytes of a record with this head and 300 intervals.
fn whole(head: &Simulation) -> Vec<u8> {
    let folder = Folder::new();
    write(&folder.file(), head, &intervals(300), 100);
    std::fs::read(folder.file()).expect("there")
}

fn read_bytes(bytes: &[u8]) -> Result<usize, ReadSimulationError> {
    let folder = Folder::new();
    std::fs::write(folder.file(), bytes).expect("room");
    read(&folder.file()).map(|(_, intervals)| intervals.len())
}

/// Returns the error for a file, without the folder at the beginning.
fn refusal(bytes: &[u8]) -> String {
    let error = read_bytes(bytes).expect_err("no record").to_string();
    let from_name = error.find("run.parquet").expect("it names the file");
    error[from_name..].to_owned()
}

/// Reads the head and the intervals of a file.
fn read(path: &Path) -> Result<(Simulation, Vec<Interval>), ReadSimulationError> {
    let record = SimulationRecord::read(path)?;
    let intervals = read_intervals(&record)?;
    Ok((record.head, intervals))
}
