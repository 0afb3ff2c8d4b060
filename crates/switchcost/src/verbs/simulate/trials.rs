//! Simulates several traces, one after the other: trials of one workload, or one workload under
//! different conditions.

use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use switchcost_analysis::simulation::{Findings, Options, over_trials};
use switchcost_design::result::Simulation;
use switchcost_report::simulate::render_trials;
use switchcost_report::{Format, Style};

use super::ended::Several;
use super::{orders, print_notes, refuse_capture_flags, simulate};
use crate::cli::simulate::{DesignArguments, SimulateArguments};
use crate::exit::{Exit, Failure, Outcome};
use crate::output::Output;
use crate::signals::Interrupt;
use crate::verbs::trace::look;

pub(super) fn run(paths: &[PathBuf], arguments: &SimulateArguments) -> Outcome<Exit> {
    let quantum = (!arguments.quantum.is_empty()).then_some("--quantum");
    if let Some(flag) = arguments.flag_of_stored_trace().or(quantum) {
        return Err(Failure::usage(format!(
            "{flag} takes one trace, not {}; run simulate once for each",
            paths.len()
        )));
    }
    refuse_capture_flags(&arguments.capture)?;
    refuse_copies(paths)?;
    let designs = &arguments.designs;
    if designs.record.is_some() {
        return Err(orders::record_of_several(paths.len()));
    }
    designs.form.format_of_text()?;
    let output = Output::claim(designs.form.output.as_deref())?;
    let interrupt = Interrupt::watch()?;
    let (mut ended, mut are_whole) = (Vec::new(), true);
    for (number, path) in paths.iter().enumerate() {
        print_notes(look::open(path)?.header());
        let record = orders::new_record(number + 1)?;
        let Some((one, is_whole)) = simulate(path, designs, Some(record), &interrupt)? else {
            return interrupt.exit().ok_or_else(|| Failure::empty(path));
        };
        let is_recorded = one.is_recorded();
        ended.push(one);
        are_whole &= is_whole;
        if interrupt.is_raised() || !is_recorded {
            break;
        }
    }
    let several = Several::load(ended)?;
    let text = text(&several, designs, output.style(designs.verbosity));
    output.write(&text)?;
    several.check()?;
    Ok(if are_whole {
        Exit::Success
    } else {
        Exit::Record
    })
}

/// Returns an error if two traces are copies. A copy would count as another trial with the same
/// result, which would make the interval too small.
fn refuse_copies(paths: &[PathBuf]) -> Outcome {
    for (number, path) in paths.iter().enumerate() {
        for other in &paths[..number] {
            // A file that cannot be read is reported when it is simulated.
            if is_copy(other, path).unwrap_or(false) {
                return Err(Failure::usage(format!(
                    "the same trace is given twice, as {} and {}; leave one out",
                    other.display(),
                    path.display()
                )));
            }
        }
    }
    Ok(())
}

fn is_copy(path: &Path, other: &Path) -> io::Result<bool> {
    let (facts, others) = (fs::metadata(path)?, fs::metadata(other)?);
    // Reading a pipe would leave nothing to simulate.
    if !facts.is_file() || facts.len() != others.len() {
        return Ok(false);
    }
    let (file, other) = (File::open(path)?, File::open(other)?);
    let bytes = BufReader::new(file).bytes();
    for (byte, other) in bytes.zip(BufReader::new(other).bytes()) {
        if byte? != other? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns the report on the trials. A table is followed by the command that draws the curves.
fn text(several: &Several, arguments: &DesignArguments, style: Style) -> String {
    let loaded = &several.contents;
    let findings: Vec<Findings> = loaded
        .iter()
        .map(|(_, findings)| findings.clone())
        .collect();
    let designs = over_trials(&findings, Options::default().confidence);
    let trials: Vec<(&Simulation, &Findings)> = loaded
        .iter()
        .map(|(head, findings)| (head, findings))
        .collect();
    let text = render_trials(&trials, &designs, arguments.form.format(), style);
    if arguments.form.format() == Format::Table {
        text + &several.curves()
    } else {
        text
    }
}
