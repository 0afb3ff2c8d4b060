//! `switchcost report`: prints the report of a record again, or writes it as an HTML page.

mod loaded;
pub(super) mod pictures;
mod stacks;

use std::path::Path;

use switchcost_record::Source;
use switchcost_report::{Format, Style, html};

use crate::cli::report::ReportArguments;
use crate::cli::{OutputArguments, Verbosity};
use crate::earlier::Folder;
use crate::exit::{Exit, Failure, Outcome};
use crate::output::Output;
use crate::runs;
pub(super) use loaded::Loaded;
pub(super) use stacks::StackFiles;

pub(crate) fn run(arguments: &ReportArguments) -> Outcome<Exit> {
    let records: Vec<Source> = if arguments.record.is_empty() {
        let newest = runs::newest_record()?;
        runs::report_future_records();
        vec![newest]
    } else {
        arguments.record.iter().map(Source::from).collect()
    };
    let form = &arguments.form;
    let is_one_text = form.format() != Format::Table && !form.is_page();
    let stacks = StackFiles::claim(&records, &arguments.stacks)?;
    if records.len() > 1 && (is_one_text || stacks.is_any()) {
        return Err(one_record(records.len()));
    }
    let is_elsewhere = arguments.figures.is_some() || stacks.is_any();
    let output = (form.is_elsewhere() || !is_elsewhere)
        .then(|| claim(&records, form.output.as_deref()))
        .transpose()?;
    let earlier = arguments.history.as_deref().map(Folder::open).transpose()?;
    let read = |record: &Source| -> Outcome<Loaded> {
        Loaded::read(record)?
            .group_by(arguments.rows.by)
            .add_history(earlier.as_ref())
    };
    let loaded: Vec<Loaded> = records.iter().map(read).collect::<Result<_, _>>()?;
    if let [one] = loaded.as_slice() {
        stacks.write(one)?;
    }
    if let Some(folder) = &arguments.figures {
        pictures::write(&html_of(&loaded), folder)?;
    }
    if let Some(output) = output {
        let style = output.style(arguments.verbosity);
        output.write(&match (records.as_slice(), loaded.as_slice()) {
            _ if form.is_page() => html_of(&loaded).page,
            ([record], [one]) => text(one, record.path(), form.format(), style),
            _ => render_several(&records, &loaded, style),
        })?;
    }
    Ok(loaded.iter().map(Loaded::exit).fold(Exit::Success, worse))
}

fn html_of(loaded: &[Loaded]) -> html::Html {
    html::render(&loaded.iter().map(Loaded::part).collect::<Vec<_>>())
}

/// Reads and analyses a record, and writes its report.
pub(crate) fn show(
    path: &Path,
    form: &OutputArguments,
    verbosity: Verbosity,
    output: Output,
) -> Outcome<Exit> {
    show_loaded(&Loaded::read(path)?, path, form, verbosity, output)
}

/// Writes the report of a record that has been read from `path`.
pub(super) fn show_loaded(
    loaded: &Loaded,
    path: &Path,
    form: &OutputArguments,
    verbosity: Verbosity,
    output: Output,
) -> Outcome<Exit> {
    let text = match form.is_page() {
        true => html::render(&[loaded.part()]).page,
        false => text(loaded, path, form.format(), output.style(verbosity)),
    };
    output.write(&text)?;
    Ok(loaded.exit())
}

/// Writes the report of a record that is not in a file.
pub(super) fn show_text(
    loaded: &Loaded,
    form: &OutputArguments,
    verbosity: Verbosity,
    output: Output,
) -> Outcome {
    let text = match form.is_page() {
        true => html::render(&[loaded.part()]).page,
        false => loaded.text(form.format(), output.style(verbosity)),
    };
    output.write(&text)
}

/// Renders the report of a record. A report on one screen ends with the commands for the full
/// report and for the figures, and with the path of the record.
fn text(loaded: &Loaded, path: &Path, format: Format, style: Style) -> String {
    let text = loaded.text(format, style);
    if format != Format::Table || style.is_detailed {
        return text;
    }
    // `report` without a name shows the newest record.
    let is_newest = runs::newest_record().is_ok_and(|newest| newest.path() == path);
    let record = if is_newest {
        String::new()
    } else {
        format!(" {}", switchcost_report::as_argument(path))
    };
    format!(
        "{text}\nfull report: switchcost report --details{record}\nfigures:     switchcost report -o page.html{record}\n\
         raw data:    {}\n",
        switchcost_report::plain(&runs::short(path))
    )
}

fn render_several(records: &[Source], loaded: &[Loaded], style: Style) -> String {
    let headed = |(record, loaded): (&Source, &Loaded)| {
        format!(
            "== {}\n\n{}\n",
            switchcost_report::plain(loaded.name()),
            text(loaded, record.path(), Format::Table, style)
        )
    };
    records.iter().zip(loaded).map(headed).collect()
}

fn worse(a: Exit, b: Exit) -> Exit {
    if a == Exit::Success { b } else { a }
}

/// Opens an output; an error if the output is one of the records, because a typing mistake would
/// destroy the record.
pub(super) fn claim(records: &[Source], name: Option<&Path>) -> Outcome<Output> {
    if let Some(name) = name
        && let Ok(place) = name.canonicalize()
        && records.iter().any(|source| {
            source
                .path()
                .canonicalize()
                .is_ok_and(|record| record == place)
        })
    {
        return Err(Failure::usage(format!(
            "{} is one of the records, and a record is never overwritten; choose another name with -o",
            name.display()
        )));
    }
    Output::claim(name)
}

fn one_record(found: usize) -> Failure {
    Failure::usage(format!(
        "{found} records cannot be printed as one result; name one of them, or print all as tables"
    ))
}
