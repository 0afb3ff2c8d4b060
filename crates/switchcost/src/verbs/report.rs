//! `switchcost report`: prints again what `measure` or `simulate` printed, from the record alone.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use analysis::simulation::{Analyser, Options};
use analysis::{Findings, Verdict};
use record::{MeasureRecord, SimulationRecord};

use crate::cli::{Form, ReportArguments};
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::runs;

pub(crate) fn run(arguments: &ReportArguments) -> Result<Exit, Failure> {
    let path = arguments.record.clone().map_or_else(runs::newest_record, Ok)?;
    let output = Output::claim(arguments.form.out.as_deref())?;
    show(&path, &arguments.form, output)
}

/// Analyses a record and writes its findings: the one way from a record to a reader.
pub(crate) fn show(path: &Path, form: &Form, output: Output) -> Result<Exit, Failure> {
    if is_parquet(path) {
        return show_simulation(path, form, output);
    }
    let record = MeasureRecord::read(path)?;
    let findings = analysis::analyse(&record);
    let text = report::measure::render(&record, &findings, form.format, output.style());
    output.write(&text)?;
    Ok(exit(&findings))
}

/// Whether a file begins as the records of simulations do. What cannot be read is for the reader to say.
fn is_parquet(path: &Path) -> bool {
    let mut start = [0; 4];
    File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok() && &start == b"PAR1"
}

fn show_simulation(path: &Path, form: &Form, output: Output) -> Result<Exit, Failure> {
    let record = SimulationRecord::read(path)?;
    let mut analyser = Analyser::new(&record.head, Options::default());
    for batch in record.tuples()? {
        analyser.add(&batch?);
    }
    let findings = analyser.finish();
    let text = report::simulate::render(&record.head, &findings, form.format, output.style());
    output.write(&text)?;
    Ok(Exit::Success)
}

fn exit(findings: &Findings) -> Exit {
    let is_missing = |verdict: &Verdict| matches!(verdict, Verdict::NotMeasured { .. });
    if findings.results.iter().any(|result| is_missing(&result.verdict)) { Exit::Reservations } else { Exit::Success }
}
