//! Where records are kept unless a place is named: the state folder of the XDG base directory specification.

pub(crate) mod core_sharing;

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use time::macros::format_description;

use crate::exit::Failure;
use crate::messages::say;
use crate::records;

/// For this user alone.
const PRIVATE: u32 = 0o700;

/// How names of records end: those of measurements, of observations and of simulations.
const MEASURE: &str = "measure.jsonl";
pub(crate) const OBSERVATION: &str = "observation.json";
pub(crate) const SIMULATION: &str = "simulation.parquet";

/// `$XDG_STATE_HOME/switchcost/runs`, by default `~/.local/state/switchcost/runs`.
pub(crate) fn folder() -> Result<PathBuf, Failure> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")));
    let state = state.ok_or_else(|| Failure::NoPlace("found neither XDG_STATE_HOME nor HOME set".to_owned()))?;
    Ok(state.join("switchcost/runs"))
}

/// `$XDG_STATE_HOME/switchcost/reproduce`: where the papers are redone unless a place is named.
pub(crate) fn reproduce_folder() -> Result<PathBuf, Failure> {
    Ok(folder()?.with_file_name("reproduce"))
}

/// A new name for a record of a measurement in the usual folder, which is made if need be; in a temporary one where that cannot
/// be written, which is said.
pub(crate) fn new_record(now: OffsetDateTime) -> Result<PathBuf, Failure> {
    new_name(now, MEASURE)
}

/// The same for what is made now, of any kind.
pub(crate) fn new_file(ending: &str) -> Result<PathBuf, Failure> {
    new_name(OffsetDateTime::now_utc(), ending)
}

fn new_name(now: OffsetDateTime, ending: &str) -> Result<PathBuf, Failure> {
    let folder = folder()?;
    let folder = match make_writable(&folder) {
        Ok(()) => folder,
        Err(refused) => temporary_folder(&folder, &refused)?,
    };
    let format = format_description!("[year]-[month]-[day]T[hour]-[minute]-[second]");
    let stamp = now.format(&format).unwrap_or_else(|_| now.unix_timestamp().to_string());
    Ok(folder.join(format!("{stamp}-{}-{ending}", std::process::id())))
}

/// Removes what runs have left that were killed before they had anything to keep: empty files with a name of ours and the number of a
/// process that is no more.
fn sweep(folder: &Path) {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    for path in entries.filter(|path| is_record(path) && is_empty(path) && !is_of_living(path)) {
        let _ = std::fs::remove_file(path);
    }
}

fn is_empty(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|file| file.is_file() && file.len() == 0)
}

/// Whether the process lives whose number is in the name: `2026-11-24T20-45-31-12474-observation.json`.
fn is_of_living(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let number = name.rsplit('-').nth(1).and_then(|number| number.parse::<u32>().ok());
    number.is_none_or(|number| Path::new(&format!("/proc/{number}")).exists())
}

/// Makes a folder where it is not there yet, and sees whether files can be made in it.
fn make_writable(folder: &Path) -> io::Result<()> {
    // Command lines are in records, and what others type in theirs.
    DirBuilder::new().recursive(true).mode(PRIVATE).create(folder)?;
    sweep(folder);
    tempfile::tempfile_in(folder).map(drop)
}

/// A new folder that stays, for what the usual one does not take: a home may be read-only.
fn temporary_folder(usual: &Path, refused: &io::Error) -> Result<PathBuf, Failure> {
    let made = tempfile::Builder::new().prefix("switchcost-runs-").tempdir();
    let folder = made.map(TempDir::keep).map_err(|error| {
        Failure::NoPlace(format!(
            "found {} not to be written ({refused}), nor a temporary folder ({error})",
            usual.display()
        ))
    })?;
    say!(
        "found {} not to be written ({refused}), need a folder that may be; this run is kept in {}; choose another place with \
         --record (-o for a trace), or for all runs with XDG_STATE_HOME",
        usual.display(),
        folder.display()
    );
    Ok(folder)
}

/// A path as people write it: below `~` where it is in the home folder.
pub(crate) fn short(path: &Path) -> String {
    let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
    match home.as_deref().and_then(|home| path.strip_prefix(home).ok()) {
        Some(below) => format!("~/{}", below.display()),
        None => path.display().to_string(),
    }
}

/// The newest record of the usual folder: their names sort by time.
pub(crate) fn newest_record() -> Result<PathBuf, Failure> {
    let folder = folder()?;
    let entries = std::fs::read_dir(&folder).map_err(|_| Failure::NoRecord(folder.clone()))?;
    let paths = entries.flatten().map(|entry| entry.path());
    paths.filter(|path| is_record(path) && !is_empty(path)).max().ok_or(Failure::NoRecord(folder))
}

/// The records of measurements in the usual folder, the newest last.
pub(crate) fn measurements() -> Vec<PathBuf> {
    let entries = folder().ok().and_then(|folder| std::fs::read_dir(folder).ok());
    let paths = entries.into_iter().flatten().flatten().map(|entry| entry.path());
    let mut paths: Vec<PathBuf> = paths.filter(|path| ends_with(path, MEASURE)).collect();
    paths.sort_unstable();
    paths
}

fn ends_with(path: &Path, ending: &str) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(&format!("-{ending}")))
}

fn is_record(path: &Path) -> bool {
    [MEASURE, OBSERVATION, SIMULATION].iter().any(|ending| ends_with(path, ending))
}

/// Whether a file is named as records are, wherever it lies, and has something in it. Much else is JSON: of that it takes what begins as an observation.
pub(crate) fn is_named_as_record(path: &Path) -> bool {
    !is_empty(path)
        && path.extension().is_some_and(|extension| {
            extension == "jsonl" || extension == "parquet" || (extension == "json" && records::is_observation(path))
        })
}

/// The moment as the record's header has it.
pub(crate) fn stamp(now: OffsetDateTime) -> String {
    now.format(&Rfc3339).unwrap_or_else(|_| now.unix_timestamp().to_string())
}
