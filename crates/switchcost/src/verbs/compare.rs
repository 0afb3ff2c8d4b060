//! `switchcost compare`: records judged against each other.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use analysis::Findings;
use analysis::compare::{Analysed, Comparison, Options, compare};
use record::MeasureRecord;
use report::compare::{Request, render};
use report::html::render_comparison;

use crate::cli::compare::CompareArguments;
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::runs;
use crate::verbs::report::{claim_page, pictures};

/// Records of one side, with what was found in them.
struct Loaded {
    names: Vec<String>,
    records: Vec<(MeasureRecord, Findings)>,
}

pub(crate) fn run(arguments: &CompareArguments) -> Result<Exit, Failure> {
    let (base, new) = (records_at(&arguments.base)?, records_at(&arguments.new)?);
    let output = claim(arguments, &[&base[..], &new].concat())?;
    let (base, new) = (Loaded::read(base)?, Loaded::read(new)?);
    refuse_copies(&base, &new)?;
    let confidence = f64::from(arguments.confidence) / 1000.0;
    let options = Options { confidence, run_spread: arguments.run_spread };
    let comparison = compare(&base.analysed(), &new.analysed(), options);
    let request = Request { base: &base.names, new: &new.names, fail_above: arguments.fail_above };
    write(&comparison, &request, arguments, output)?;
    let has_grown = |share| comparison.slower_by_more_than(share).next().is_some();
    Ok(match arguments.fail_above {
        Some(share) if has_grown(share) => Exit::Grown,
        // What could not be looked at has not passed.
        _ if comparison.compared < comparison.pairs.len() => Exit::Reservations,
        _ => Exit::Success,
    })
}

/// A place for the page, or for text; none where figures alone are wanted.
fn claim(arguments: &CompareArguments, records: &[PathBuf]) -> Result<Option<Output>, Failure> {
    match (&arguments.output, &arguments.figures) {
        (Some(page), _) => claim_page(records, page).map(Some),
        (None, Some(_)) => Ok(None),
        (None, None) => Output::claim(arguments.form.out.as_deref()).map(Some),
    }
}

fn write(
    comparison: &Comparison,
    request: &Request<'_>,
    arguments: &CompareArguments,
    output: Option<Output>,
) -> Result<(), Failure> {
    if arguments.output.is_none() && arguments.figures.is_none() {
        return output.map_or(Ok(()), |output| {
            let text = render(comparison, request, arguments.form.format, output.style());
            output.write(&text)
        });
    }
    let html = render_comparison(comparison, request);
    if let Some(output) = output {
        output.write(&html.page)?;
    }
    arguments.figures.as_deref().map_or(Ok(()), |folder| pictures::write(&html, folder))
}

impl Loaded {
    fn read(paths: Vec<PathBuf>) -> Result<Loaded, Failure> {
        let names = paths.iter().map(|path| path.display().to_string()).collect();
        let read = |path: &PathBuf| -> Result<_, Failure> {
            let record = MeasureRecord::read(path)?;
            let findings = analysis::analyse(&record);
            Ok((record, findings))
        };
        Ok(Loaded { names, records: paths.iter().map(read).collect::<Result<_, _>>()? })
    }

    fn analysed(&self) -> Vec<Analysed<'_>> {
        self.records.iter().map(|(record, findings)| (record, findings)).collect()
    }
}

/// A copy of a run would count as another run that came out exactly alike: a spread of 0, and a verdict from nothing.
fn refuse_copies(base: &Loaded, new: &Loaded) -> Result<(), Failure> {
    let mut known: HashMap<(&str, u64), (&str, &String)> = HashMap::new();
    for (side, loaded) in [("base", base), ("new", new)] {
        for (name, (record, _)) in loaded.names.iter().zip(&loaded.records) {
            let run = (record.header.started_at.as_str(), record.header.seed);
            let Some((first_side, first)) = known.insert(run, (side, name)) else { continue };
            let place =
                if first_side == side { format!("twice in the {side} records") } else { "on both sides".to_owned() };
            return Err(Failure::SameRun { place, first: first.clone(), second: name.clone() });
        }
    }
    Ok(())
}

/// One record, or all of a folder in the order of their names.
fn records_at(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    if path.is_dir() { records_in(path) } else { Ok(vec![path.to_owned()]) }
}

fn records_in(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let failed = |source| Failure::Open { path: folder.to_owned(), source };
    let entries = std::fs::read_dir(folder).map_err(failed)?;
    let mut paths: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(|path| runs::is_jsonl(path)).collect();
    paths.sort_unstable();
    if paths.is_empty() { Err(Failure::NoRecords(folder.to_owned())) } else { Ok(paths) }
}
