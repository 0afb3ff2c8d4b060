//! `switchcost report`: prints again what `measure` or `simulate` printed, from the record alone, or makes a page of it.

mod loaded;
pub(super) mod pictures;
mod stacks;

use std::path::Path;

use switchcost_record::Source;
use switchcost_report::{Format, Style, html};

use crate::cli::report::ReportArguments;
use crate::cli::{OutputArguments, Verbosity};
use crate::earlier::Folder;
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::runs;
pub(super) use loaded::Loaded;
pub(super) use stacks::StackFiles;

pub(crate) fn run(arguments: &ReportArguments) -> Result<Exit, Failure> {
    let records: Vec<Source> = if arguments.record.is_empty() {
        let newest = runs::newest_record()?;
        runs::report_future_records();
        vec![newest]
    } else {
        arguments.record.iter().map(Source::from).collect()
    };
    let stacks = StackFiles::claim(&records, &arguments.stacks)?;
    if arguments.output.is_none() && arguments.figures.is_none() && !stacks.is_any() {
        return print(&records, arguments);
    }
    let output = arguments
        .output
        .as_deref()
        .map(|page| claim(&records, Some(page)))
        .transpose()?;
    let earlier = arguments.history.as_deref().map(Folder::open).transpose()?;
    let loaded: Vec<Loaded> = records
        .iter()
        .map(|record| Loaded::read(record)?.beside(earlier.as_ref()))
        .collect::<Result<_, _>>()?;
    if stacks.is_any() {
        let [one] = loaded.as_slice() else {
            return Err(Failure::OneRecord(loaded.len()));
        };
        stacks.write(one)?;
        if output.is_none() && arguments.figures.is_none() {
            return Ok(one.exit());
        }
    }
    let parts: Vec<html::Part<'_>> = loaded.iter().map(Loaded::part).collect();
    let html = html::render(&parts);
    if let Some(output) = output {
        output.write(&html.page)?;
    }
    if let Some(folder) = &arguments.figures {
        pictures::write(&html, folder)?;
    }
    Ok(loaded.iter().map(Loaded::exit).fold(Exit::Success, worse))
}

/// Analyses a record and writes its findings: the one way from a record to a reader.
pub(crate) fn show(
    path: &Path,
    form: &OutputArguments,
    verbosity: Verbosity,
    output: Output,
) -> Result<Exit, Failure> {
    show_loaded(&Loaded::read(path)?, path, form, verbosity, output)
}

/// The same of a record that is read.
pub(super) fn show_loaded(
    loaded: &Loaded,
    path: &Path,
    form: &OutputArguments,
    verbosity: Verbosity,
    output: Output,
) -> Result<Exit, Failure> {
    let text = text(loaded, path, form.format, output.style(verbosity));
    output.write(&text)?;
    Ok(loaded.exit())
}

/// The same of what is in no file.
pub(super) fn show_text(
    loaded: &Loaded,
    form: &OutputArguments,
    verbosity: Verbosity,
    output: Output,
) -> Result<(), Failure> {
    let text = loaded.text(form.format, output.style(verbosity));
    output.write(&text)
}

/// What a record says, and behind one screen of it where the rest is.
fn text(loaded: &Loaded, path: &Path, format: Format, style: Style) -> String {
    let text = loaded.text(format, style);
    if format != Format::Table || style.is_detailed {
        return text;
    }
    // The newest record is what is shown where none is named.
    let is_newest = runs::newest_record().is_ok_and(|newest| newest.path() == path);
    let record = if is_newest {
        String::new()
    } else {
        format!(" {}", switchcost_report::as_argument(path))
    };
    format!(
        "{text}\nall of it: switchcost report --details{record}\nfigures:   switchcost report -o page.html{record}\n\
         raw data:  {}\n",
        switchcost_report::plain(&runs::short(path))
    )
}

fn print(records: &[Source], arguments: &ReportArguments) -> Result<Exit, Failure> {
    let (form, by) = (&arguments.form, arguments.rows.by);
    if form.format != Format::Table && records.len() > 1 {
        return Err(Failure::OneRecord(records.len()));
    }
    let earlier = arguments.history.as_deref().map(Folder::open).transpose()?;
    let read = |record: &Source| -> Result<Loaded, Failure> {
        Loaded::read(record)?.by(by).beside(earlier.as_ref())
    };
    let output = claim(records, form.out.as_deref())?;
    if let [one] = records {
        return show_loaded(&read(one)?, one.path(), form, arguments.verbosity, output);
    }
    let style = output.style(arguments.verbosity);
    let mut text = String::new();
    let mut exit = Exit::Success;
    for record in records {
        let loaded = read(record)?;
        text += &headed(&loaded, record.path(), style);
        exit = worse(exit, loaded.exit());
    }
    output.write(&text)?;
    Ok(exit)
}

fn headed(loaded: &Loaded, path: &Path, style: Style) -> String {
    format!(
        "== {}\n\n{}\n",
        switchcost_report::plain(loaded.name()),
        text(loaded, path, Format::Table, style)
    )
}

fn worse(a: Exit, b: Exit) -> Exit {
    if a == Exit::Success { b } else { a }
}

/// A place for what is made of these records. A slip of the finger must not cost one of them.
pub(super) fn claim(records: &[Source], name: Option<&Path>) -> Result<Output, Failure> {
    if let Some(name) = name
        && let Ok(place) = name.canonicalize()
        && records.iter().any(|source| {
            source
                .path()
                .canonicalize()
                .is_ok_and(|record| record == place)
        })
    {
        return Err(Failure::OverRecord(name.to_owned()));
    }
    Output::claim(name)
}
