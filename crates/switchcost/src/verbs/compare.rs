//! `switchcost compare`: records judged against each other.

mod sides;

use std::path::{Path, PathBuf};

use switchcost_analysis::compare::{Comparison, Pair, Request};
use switchcost_report::compare::render;
use switchcost_report::html::render_comparison;

use crate::cli::compare::CompareArguments;
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::runs;
use crate::verbs::report::{self as verb, pictures};

pub(crate) fn run(arguments: &CompareArguments) -> Result<Exit, Failure> {
    let (base, new) = (records_at(&arguments.base)?, records_at(&arguments.new)?);
    let output = claim(arguments, &[&base[..], &new].concat())?;
    let names = [&base, &new].map(|side| side.iter().map(|path| path.display().to_string()).collect::<Vec<_>>());
    let request = Request {
        base: &names[0],
        new: &names[1],
        confidence: arguments.confidence,
        run_spread: arguments.run_spread,
        fail_above: arguments.fail_above,
    };
    let comparison = sides::compared(&base, &new, request)?;
    write(&comparison, arguments, output)?;
    Ok(match comparison.slower_than_allowed {
        Some(1..) => Exit::Grown,
        // What could not be looked at has not passed.
        _ if comparison.pairs.iter().any(Pair::is_open) => Exit::Partial,
        _ => Exit::Success,
    })
}

/// A place for the page, or for text; none where figures alone are wanted.
fn claim(arguments: &CompareArguments, records: &[PathBuf]) -> Result<Option<Output>, Failure> {
    match (&arguments.output, &arguments.figures) {
        (Some(page), _) => verb::claim(records, Some(page)).map(Some),
        (None, Some(_)) => Ok(None),
        (None, None) => verb::claim(records, arguments.form.out.as_deref()).map(Some),
    }
}

fn write(comparison: &Comparison, arguments: &CompareArguments, output: Option<Output>) -> Result<(), Failure> {
    if arguments.output.is_none() && arguments.figures.is_none() {
        return output.map_or(Ok(()), |output| {
            let text = render(comparison, arguments.form.format, output.style(arguments.verbosity));
            output.write(&text)
        });
    }
    let html = render_comparison(comparison);
    if let Some(output) = output {
        output.write(&html.page)?;
    }
    arguments.figures.as_deref().map_or(Ok(()), |folder| pictures::write(&html, folder))
}

/// One record, or all of a folder in the order of their names.
fn records_at(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    if path.is_dir() { records_in(path) } else { Ok(vec![path.to_owned()]) }
}

fn records_in(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let failed = |source| Failure::Open { path: folder.to_owned(), source };
    let entries = std::fs::read_dir(folder).map_err(failed)?;
    let mut paths: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(|path| runs::is_named_as_record(path)).collect();
    paths.sort_unstable();
    if paths.is_empty() { Err(Failure::NoRecords(folder.to_owned())) } else { Ok(paths) }
}
