//! Opens and unpacks trace files of other tools.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use switchcost_trace::Unzipped;

use crate::exit::{Failure, Outcome};

/// First bytes of every zip file.
const ZIP: &[u8; 4] = b"PK\x03\x04";

/// Files with the schedule of threads in a drmemtrace folder. They are not needed, because the
/// records contain the schedule, too.
const SCHEDULES: [&str; 2] = ["cpu_schedule.bin", "serial_schedule.bin"];

/// A trace file: its name, and its unpacked content.
type Named = (String, Box<dyn BufRead>);

pub(super) fn text(path: &Path) -> Outcome<Box<dyn BufRead>> {
    if path == Path::new("-") {
        return Ok(Box::new(io::stdin().lock()));
    }
    Ok(Box::new(buffered(open(path)?)))
}

/// Opens a file of records, or the file of each thread in a folder.
pub(super) fn records(path: &Path) -> Outcome<Vec<Named>> {
    if path.is_dir() {
        return threads(path)?.iter().map(|path| one(path)).collect();
    }
    Ok(vec![one(path)?])
}

fn one(path: &Path) -> Outcome<Named> {
    let name = name(path);
    if SCHEDULES.iter().any(|schedule| name.starts_with(schedule)) {
        return Err(Failure::record(format!(
            "{} has only the schedule of the threads; name the *.trace files next to it, or their folder",
            path.display()
        )));
    }
    // Input without a file name cannot be read twice.
    let records = if path.is_file() {
        perhaps_zipped(path)?
    } else {
        text(path)?
    };
    Ok((name, records))
}

fn perhaps_zipped(path: &Path) -> Outcome<Box<dyn BufRead>> {
    let failed = |error: std::io::Error| {
        Failure::record(format!(
            "{} cannot be unpacked ({error}); name a complete zip file",
            path.display()
        ))
    };
    let mut file = open(path)?;
    let mut first = Vec::new();
    (&mut file)
        .take(ZIP.len() as u64)
        .read_to_end(&mut first)
        .map_err(failed)?;
    file.seek(SeekFrom::Start(0)).map_err(failed)?;
    if first != ZIP {
        return Ok(Box::new(buffered(file)));
    }
    Ok(Box::new(buffered(Unzipped::new(file).map_err(failed)?)))
}

/// Returns the files of the threads in a folder, sorted by name. A drmemtrace folder has these
/// files in its subfolder `trace`.
fn threads(folder: &Path) -> Outcome<Vec<PathBuf>> {
    let mut paths = listed(folder)?;
    if paths.is_empty() && folder.join("trace").is_dir() {
        paths = listed(&folder.join("trace"))?;
    }
    if paths.is_empty() {
        let remedy = if folder.join("raw").is_dir() {
            ": drrun -t drmemtrace -indir FOLDER -tool basic_counts makes them of its raw files"
        } else {
            ""
        };
        return Err(Failure::record(format!(
            "{} is a folder without *.trace files; name one that drmemtrace has post-processed{remedy}",
            folder.display()
        )));
    }
    paths.sort();
    Ok(paths)
}

fn listed(folder: &Path) -> Outcome<Vec<PathBuf>> {
    let failed = Failure::open(folder);
    let entries = fs::read_dir(folder).map_err(failed)?;
    let paths = entries
        .map(|entry| entry.map(|entry| entry.path()).map_err(failed))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(paths
        .into_iter()
        .filter(|path| path.is_file() && is_trace(&name(path)))
        .collect())
}

/// Returns true for file names of the forms `drmemtrace.NAME.PID.ID.trace.zip` and
/// `NAME.memtrace.gz` (the older one).
fn is_trace(name: &str) -> bool {
    name.split('.')
        .any(|part| part == "trace" || part == "memtrace")
}

fn name(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

fn open(path: &Path) -> Outcome<File> {
    File::open(path).map_err(Failure::open(path))
}

fn buffered(from: impl Read) -> BufReader<impl Read> {
    BufReader::with_capacity(1 << 17, from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_is_recognized_by_its_name() {
        for name in [
            "drmemtrace.a.b.1.2.trace.zip",
            "x.trace",
            "chase.1.2.3.memtrace.sz",
            "x.trace.gz",
        ] {
            assert!(is_trace(name), "{name}");
        }
        for name in [
            "cpu_schedule.bin.zip",
            "funclist.log",
            "modules.log",
            "tracer.txt",
            "a.raw.gz",
        ] {
            assert!(!is_trace(name), "{name}");
        }
    }
}
