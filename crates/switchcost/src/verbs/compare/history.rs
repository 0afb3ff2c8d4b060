//! `compare --history`: compares the states in a folder. Each state is a record or a folder of
//! records.

use std::path::{Path, PathBuf};

use switchcost_analysis::Findings;
use switchcost_analysis::compare::{History, Request, State, history};
use switchcost_record::{MeasureRecord, Source};
use switchcost_report::compare::render_history;
use switchcost_report::html::render_history as page_of;
use time::OffsetDateTime;

use super::place::Place;
use super::{entries, records_in};
use crate::cli::compare::CompareArguments;
use crate::exit::{Exit, Failure, Outcome};
use crate::kinds::{Kind, kind};
use crate::messages::say;
use crate::runs;

/// A state of the history, with its records and their findings.
struct Loaded {
    name: String,
    records: Vec<(MeasureRecord, Findings)>,
}

pub(super) fn run(folder: &Path, arguments: &CompareArguments) -> Outcome<Exit> {
    let places = states(folder)?;
    let records: Vec<Source> = places
        .iter()
        .flat_map(|(_, records)| records.clone())
        .collect();
    let place = Place::claim(arguments, &records)?;
    let mut loaded = places
        .iter()
        .map(|(path, records)| load(path, records))
        .collect::<Result<Vec<_>, _>>()?;
    loaded.sort_by(|a, b| begun(a).cmp(begun(b)));
    let now = runs::stamp(OffsetDateTime::now_utc());
    for future in loaded.iter().filter(|state| begun(state) > now.as_str()) {
        say!(
            "{} is dated in the future ({}), and counts as the newest",
            switchcost_report::plain(&future.name),
            begun(future)
        );
    }
    let states: Vec<State<'_>> = loaded.iter().map(state).collect();
    let request = Request {
        confidence: arguments.confidence,
        fail_above: arguments.fail_above,
        ..Request::default()
    };
    let found = history(&states, request);
    place.write(
        |style| render_history(&found, arguments.form.format(), style),
        || page_of(&found),
    )?;
    Ok(exit(&found))
}

/// Returns the states in a folder: records and folders of records, each with its records. Folders
/// without records are skipped.
fn states(folder: &Path) -> Outcome<Vec<(PathBuf, Vec<Source>)>> {
    let is_state =
        |path: &PathBuf| path.is_dir() || runs::is_named_as_record(&Source::listed(path));
    let states: Vec<(PathBuf, Vec<Source>)> = entries(folder)?
        .into_iter()
        .filter(is_state)
        .filter_map(|path| {
            let records = if path.is_dir() {
                records_in(&path).ok()?
            } else {
                vec![Source::listed(&path)]
            };
            Some((path, records))
        })
        .collect();
    if states.len() < 2 {
        Err(Failure::usage(format!(
            "a trend needs two or more states, but {} has {}; add a record, or a folder of records, for each state",
            folder.display(),
            states.len()
        )))
    } else {
        Ok(states)
    }
}

fn load(path: &Path, records: &[Source]) -> Outcome<Loaded> {
    let name = if path.is_dir() {
        path.file_name()
    } else {
        path.file_stem()
    };
    let name = name.unwrap_or_default().to_string_lossy().into_owned();
    let mut records = records.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    records.sort_by(|(a, _), (b, _)| a.header.started_at.cmp(&b.header.started_at));
    Ok(Loaded { name, records })
}

fn read(source: &Source) -> Outcome<(MeasureRecord, Findings)> {
    match kind(source) {
        Kind::Measurement => super::sides::read(source),
        other => Err(Failure::broken(format!(
            "{other} in {} cannot be compared by --history, which takes records of measure; take it out of the folder",
            source.path().display()
        ))),
    }
}

/// Returns the start of a state's first record. Times in UTC sort as text.
fn begun(state: &Loaded) -> &str {
    state
        .records
        .first()
        .map_or("", |(record, _)| record.header.started_at.as_str())
}

fn state(loaded: &Loaded) -> State<'_> {
    let records = loaded
        .records
        .iter()
        .map(|(record, findings)| (record, findings))
        .collect();
    State {
        name: loaded.name.clone(),
        records,
    }
}

fn exit(history: &History) -> Exit {
    match history.grown {
        Some(1..) => Exit::Grown,
        // A cost that could not be compared does not pass the limit.
        _ if history.newest().any(|(_, step)| step.is_open()) => Exit::Partial,
        _ => Exit::Success,
    }
}
