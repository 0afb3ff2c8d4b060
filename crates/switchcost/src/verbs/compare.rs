//! `switchcost compare`: compares records.

mod history;
mod place;
mod sides;
mod verdicts;

use std::path::{Path, PathBuf};

use switchcost_analysis::compare::{Comparison, Pair, Request};
use switchcost_record::Source;
use switchcost_report::compare::render;
use switchcost_report::html::render_comparison;

use crate::cli::compare::CompareArguments;
use crate::exit::{Exit, Failure, Outcome};
use crate::runs;
use place::Place;
pub(super) use verdicts::Verdicts;

pub(crate) fn run(arguments: &CompareArguments) -> Outcome<Exit> {
    match (&arguments.history, &arguments.base, &arguments.new) {
        (Some(folder), ..) => history::run(folder, arguments),
        (None, Some(base), Some(new)) => two_sides(base, new, arguments),
        (None, ..) => unreachable!("the command line asks for both"),
    }
}

fn two_sides(base: &Path, new: &Path, arguments: &CompareArguments) -> Outcome<Exit> {
    let (base, new) = (records_at(base)?, records_at(new)?);
    let all = [&base[..], &new].concat();
    let place = Place::claim(arguments, &all)?;
    let verdicts = Verdicts::claim(&arguments.verdicts, &all)?;
    let names = [&base, &new].map(|side| {
        side.iter()
            .map(|record| record.path().display().to_string())
            .collect::<Vec<_>>()
    });
    let request = Request {
        base: &names[0],
        new: &names[1],
        confidence: arguments.confidence,
        run_spread: arguments.run_spread,
        fail_above: arguments.fail_above,
        across: &arguments.across,
    };
    let comparison = sides::compared(&base, &new, request)?;
    place.write(
        |style| render(&comparison, arguments.form.format(), style),
        || render_comparison(&comparison),
    )?;
    verdicts.write(&comparison)?;
    Ok(exit(&comparison))
}

/// Returns the exit code of a comparison, which tells whether a cost has grown by more than the
/// limit, or could not be compared.
pub(super) fn exit(comparison: &Comparison) -> Exit {
    match comparison.slower_than_allowed {
        Some(1..) => Exit::Grown,
        // A cost that could not be compared does not pass the limit.
        _ if comparison.pairs.iter().any(Pair::is_open) => Exit::Partial,
        _ if comparison.is_blind_to_limit() => Exit::Partial,
        _ => Exit::Success,
    }
}

/// Returns the record at a path, or all records of a folder in the order of their names.
fn records_at(path: &Path) -> Outcome<Vec<Source>> {
    if path.is_dir() {
        records_in(path)
    } else {
        Ok(vec![Source::named(path)])
    }
}

fn records_in(folder: &Path) -> Outcome<Vec<Source>> {
    let records: Vec<Source> = entries(folder)?
        .into_iter()
        .map(Source::listed)
        .filter(runs::is_named_as_record)
        .collect();
    if records.is_empty() {
        Err(Failure::record(format!(
            "there is no record in {}: no file ends in .jsonl or .parquet, and no .json file was written by observe; name another folder",
            folder.display()
        )))
    } else {
        Ok(records)
    }
}

/// Returns the entries of a folder in the order of their names.
fn entries(folder: &Path) -> Outcome<Vec<PathBuf>> {
    let failed = Failure::open_folder(folder);
    let entries = std::fs::read_dir(folder).map_err(failed)?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort_unstable();
    Ok(paths)
}
