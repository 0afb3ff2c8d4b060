//! Chooses paths for records that the user did not name, and finds stored records.

pub(crate) mod calibrations;
pub(crate) mod core_sharing;

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use switchcost_host::abandoned::take_over;
use switchcost_record::trust::{HeldPath, open_lock};
use switchcost_record::{Readers, Source};
use time::format_description::BorrowedFormatItem;
use time::format_description::well_known::Rfc3339;
use time::macros::format_description;
use time::{OffsetDateTime, PrimitiveDateTime};

use crate::exit::{Failure, Outcome};
use crate::home::{self, NoHome, make_temporary, make_writable};
use crate::kinds::{INJECTION, MEASURE, OBSERVATION, SIMULATION, is_observation};
use crate::messages::say;

/// Path of a record to be written, and who may read the record.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) path: PathBuf,
    pub(crate) readers: Readers,
}

impl Place {
    /// Chooses the path named by the user, or a new name in the usual folder. The usual folder is
    /// created if needed. If the usual folder is not writable, a temporary folder is used, which is
    /// reported. Only this user may read a record in the usual folder.
    pub(crate) fn choose(named: Option<&Path>, ending: &str) -> Outcome<Place> {
        let is_usual = |path: &&Path| folder().is_ok_and(|folder| path.starts_with(folder));
        match named {
            Some(path) if is_usual(&path) => Ok(Place {
                path: path.to_owned(),
                readers: Readers::Owner,
            }),
            Some(path) => Ok(Place {
                path: path.to_owned(),
                readers: Readers::AsUsual,
            }),
            None => Place::usual(ending),
        }
    }

    fn usual(ending: &str) -> Outcome<Place> {
        Ok(Place {
            path: new_name(ending)?,
            readers: Readers::Owner,
        })
    }
}

/// Returns a new path in the usual folder, which is created if needed.
pub(crate) fn new_name(ending: &str) -> Outcome<PathBuf> {
    let folder = usual_folder("runs")?;
    let now = name_stamp(OffsetDateTime::now_utc());
    Ok(folder.join(format!("{now}-{}-{ending}", std::process::id())))
}

/// Format of the time in the names of records. Names in this format sort by time.
const NAME_STAMP: &[BorrowedFormatItem<'_>] =
    format_description!("[year]-[month]-[day]T[hour]-[minute]-[second]");

fn name_stamp(time: OffsetDateTime) -> String {
    time.format(NAME_STAMP)
        .unwrap_or_else(|_| time.unix_timestamp().to_string())
}

/// Returns the folder of records, `~/.local/state/switchcost/runs` by default. The folder may not
/// exist.
pub(crate) fn folder() -> Result<PathBuf, NoHome> {
    home::state().map(|state| state.join("runs"))
}

/// Longest time that a process may hold a lock. A process that holds the lock longer has hung.
const LONGEST_TURN: Duration = Duration::from_secs(60);

/// Waits for a lock that only one run may hold at a time. The lock is held while the returned file
/// is open. Returns `None` if the lock cannot be taken, or if `is_over` becomes true before.
pub(crate) fn take_turn(name: &str, is_over: impl Fn() -> bool) -> Option<File> {
    let folder = folder().ok()?;
    make_writable(&folder).ok()?;
    let path = folder.with_file_name(format!("{name}.lock"));
    let file = open_lock(&path).ok()?;
    let begun = Instant::now();
    while !take_over(&file).ok()? {
        if begun.elapsed() > LONGEST_TURN || is_over() {
            return None;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Some(file)
}

/// Returns the default folder for the site of reproduced papers, which is created if needed.
pub(crate) fn reproduce_folder() -> Outcome<PathBuf> {
    usual_folder("reproduce")
}

/// Returns a writable folder of the given name in the state folder, or a temporary folder if the
/// state folder cannot be used.
fn usual_folder(name: &str) -> Outcome<PathBuf> {
    let usual = home::state().map(|state| state.join(name));
    match usual.and_then(|folder| make_writable(&folder).map(|()| folder)) {
        Ok(folder) => {
            sweep(&folder);
            Ok(folder)
        }
        Err(refused) => temporary_folder(&refused),
    }
}

/// Removes empty records of runs that were killed before they had data. A record is removed only if
/// the process whose PID is in the file name has ended.
fn sweep(folder: &Path) {
    let Ok(folder) = HeldPath::found_folder(folder) else {
        return;
    };
    let entries = std::fs::read_dir(&folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    for path in entries.filter(|path| is_record(path) && is_empty(path) && !is_of_living(path)) {
        let _ = std::fs::remove_file(path);
    }
}

fn is_empty(path: &Path) -> bool {
    path.symlink_metadata()
        .is_ok_and(|file| file.is_file() && file.len() == 0)
}

/// Returns true if the process whose PID is in the file name is alive, or if the name has no PID.
/// The PID is 12474 in `2026-11-24T20-45-31-12474-observation.json`.
fn is_of_living(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let number = name
        .rsplit('-')
        .nth(1)
        .and_then(|number| number.parse::<u32>().ok());
    number.is_none_or(|number| Path::new(&format!("/proc/{number}")).exists())
}

/// Creates a temporary folder for files that the usual folder cannot take, and returns the same
/// folder when called again. A home may be read-only, and a daemon has none. The folder is never
/// removed.
fn temporary_folder(refused: &NoHome) -> Outcome<PathBuf> {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    if let Some(folder) = FOLDER.get() {
        return Ok(folder.clone());
    }
    let folder = make_temporary("switchcost-runs-").map_err(|error| {
        Failure::broken(format!(
            "cannot save the record: {refused}, and no temporary folder can be created ({error}); name a file with \
             --record"
        ))
    })?;
    say!(
        "{refused}, so the record of this run is {}; choose another place with --record (-o for a trace), or for all \
         runs with XDG_STATE_HOME",
        folder.display()
    );
    Ok(FOLDER.get_or_init(|| folder).clone())
}

/// Shortens a path in the user's home to one that begins with `~`.
pub(crate) fn short(path: &Path) -> String {
    let home = std::env::var_os("HOME")
        .map(PathBuf::from)
        .filter(|home| home.is_absolute());
    match home
        .as_deref()
        .and_then(|home| path.strip_prefix(home).ok())
    {
        Some(below) => format!("~/{}", below.display()),
        None => path.display().to_string(),
    }
}

/// Returns the newest readable record in the usual folder; an error if there is none.
pub(crate) fn newest_record() -> Outcome<Source> {
    let folder = folder()
        .map_err(|why| Failure::record(format!("no record is given, and {why}; name the file")))?;
    let none = || {
        Failure::record(format!(
            "there is no record in {}; make one with switchcost measure, or name the file",
            folder.display()
        ))
    };
    let records = newest_first(&folder, is_record).map_err(|source| match source.kind() {
        ErrorKind::NotFound => none(),
        _ => Failure::open_folder(&folder)(source),
    })?;
    let mut refused = None;
    for record in records {
        match record.open() {
            Ok(_) => {
                if let Some((newer, why)) = refused {
                    say_once(&folder, &newer, &why);
                }
                return Ok(record);
            }
            Err(why) => drop(refused.get_or_insert((record, why))),
        }
    }
    Err(match refused {
        Some((record, source)) => Failure::open(record.path())(source),
        None => none(),
    })
}

/// Prints a notice on a record in the usual folder that is dated in the future. The clock may have
/// been set back since, or the file renamed. Such a record counts as older than all others.
pub(crate) fn report_future_records() {
    let records = folder().map(|folder| newest_first(&folder, is_record));
    let mut records = records.into_iter().flatten().flatten();
    let Some(record) = records.find(|record| Age::read(record.path()).is_future) else {
        return;
    };
    let path = record.path();
    say!(
        "{} has a time in the future and is not taken as the newest record; to see it: switchcost report {}",
        short(path),
        switchcost_report::as_argument(path)
    );
}

/// Sort key of the records in the usual folder. The newest record has the greatest key.
#[derive(Debug, PartialEq, Eq)]
struct Age {
    is_future: bool,
    /// Time in the file's name, or the time of the last change if the name has none.
    stamp: String,
    /// Time of the last change, which orders records of the same second; `None` if unknown.
    changed: Option<SystemTime>,
}

impl Age {
    fn read(path: &Path) -> Age {
        let changed = path.metadata().and_then(|file| file.modified()).ok();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Age::new(&name, changed, OffsetDateTime::now_utc())
    }

    fn new(name: &str, changed: Option<SystemTime>, now: OffsetDateTime) -> Age {
        let dated = name
            .get(.."2026-11-24T20-45-31".len())
            .filter(|stamp| PrimitiveDateTime::parse(stamp, NAME_STAMP).is_ok())
            .map(str::to_owned);
        let stamp = dated
            .or_else(|| Some(name_stamp(changed?.into())))
            .unwrap_or_default();
        let is_future = stamp > name_stamp(now);
        Age {
            is_future,
            stamp,
            changed,
        }
    }
}

impl Ord for Age {
    fn cmp(&self, other: &Age) -> Ordering {
        other
            .is_future
            .cmp(&self.is_future)
            .then_with(|| self.stamp.cmp(&other.stamp))
            .then(self.changed.cmp(&other.changed))
    }
}

impl PartialOrd for Age {
    fn partial_cmp(&self, other: &Age) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Returns the records of measurements in the usual folder, newest first.
pub(crate) fn measurements() -> impl Iterator<Item = Source> {
    records(MEASURE)
}

/// Returns the records of injections in the usual folder, newest first.
pub(crate) fn injections() -> impl Iterator<Item = Source> {
    records(INJECTION)
}

/// Returns the records in the usual folder whose names end in `ending`, newest first. Prints a
/// notice on an unreadable folder, and on the first unreadable record.
fn records(ending: &'static str) -> impl Iterator<Item = Source> {
    let in_folder = |folder: PathBuf| {
        let is_one = |path: &Path| ends_with(path, ending);
        match newest_first(&folder, is_one) {
            Ok(records) => records,
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            Err(error) => {
                say_once(&folder, &Source::found(&folder), &error);
                Vec::new()
            }
        }
        .into_iter()
        .filter(move |record| {
            let opened = record.open();
            opened
                .inspect_err(|why| say_once(&folder, record, why))
                .is_ok()
        })
    };
    folder().ok().map(in_folder).into_iter().flatten()
}

/// Returns the files of a folder whose names `is_one` accepts, newest first, including unreadable
/// ones. Empty files are left out.
fn newest_first(folder: &Path, is_one: impl Fn(&Path) -> bool) -> io::Result<Vec<Source>> {
    let entries = std::fs::read_dir(folder)?.flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.retain(|path| is_one(path) && !is_empty(path));
    paths.sort_by_cached_key(|path| std::cmp::Reverse(Age::read(path)));
    Ok(paths.into_iter().map(Source::found).collect())
}

/// Prints a notice on an unreadable record, once for each folder, because a folder is read several
/// times.
fn say_once(folder: &Path, refused: &Source, why: &io::Error) {
    static SAID_OF: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    let mut said_of = SAID_OF.lock().unwrap_or_else(PoisonError::into_inner);
    if said_of.insert(folder.to_owned()) {
        say!("{} is not used: {why}", refused.path().display());
    }
}

fn ends_with(path: &Path, ending: &str) -> bool {
    path.file_name()
        .is_some_and(|name| name.to_string_lossy().ends_with(ending))
}

fn is_record(path: &Path) -> bool {
    [MEASURE, INJECTION, OBSERVATION, SIMULATION]
        .iter()
        .any(|ending| ends_with(path, &format!("-{ending}")))
}

/// Returns true if a file is not empty, and its extension is `jsonl`, `parquet`, or `json` if the
/// file begins like an observation.
pub(crate) fn is_named_as_record(source: &Source) -> bool {
    let path = source.path();
    !is_empty(path)
        && path.extension().is_some_and(|extension| {
            extension == "jsonl"
                || extension == "parquet"
                || (extension == "json" && is_observation(source))
        })
}

/// Formats a time as in the header of a record (RFC 3339).
pub(crate) fn stamp(now: OffsetDateTime) -> String {
    now.format(&Rfc3339)
        .unwrap_or_else(|_| now.unix_timestamp().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_ordered_by_when_they_were_made_and_those_of_the_future_are_the_oldest() {
        let now = time::macros::datetime!(2026-11-28 12:00 UTC);
        let changed = |seconds| Some((now + time::Duration::seconds(seconds)).into());
        let in_order = [
            ("2027-01-01T00-00-00-7-measure.jsonl", changed(-900)),
            ("2027-01-01T00-00-00-6-measure.jsonl", changed(-800)),
            ("from-elsewhere-measure.jsonl", changed(-700)),
            ("2026-11-28T11-50-00-99999-injection.jsonl", changed(-500)),
            ("2026-11-28T11-50-00-100-measure.jsonl", changed(-400)),
            ("2026-11-28T12-00-00-100-measure.jsonl", changed(0)),
        ];
        let ages: Vec<Age> = in_order
            .iter()
            .map(|(name, changed)| Age::new(name, *changed, now))
            .collect();
        assert!(ages.is_sorted(), "{ages:?}");
        let future = ages.iter().filter(|age| age.is_future).count();
        assert_eq!(future, 2);
        assert!(Age::new("later-measure.jsonl", changed(5), now).is_future);
    }
}
