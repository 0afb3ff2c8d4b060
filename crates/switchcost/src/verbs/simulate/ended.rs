//! Result of a simulation: its record, or the content of a record that could not be written.

use std::path::PathBuf;

use switchcost_analysis::simulation::{Findings, Options};
use switchcost_design::result::Simulation;
use switchcost_report::as_argument;
use switchcost_simulation_record::WriteSimulationError;

use crate::cli::simulate::DesignArguments;
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::records::simulation;
use crate::verbs::report::{self, Loaded};

pub(super) enum Ended {
    /// The record has been written.
    Recorded(PathBuf),
    /// The record could not be written, so the findings are shown before the error.
    Unrecorded(Box<(Simulation, Findings)>, WriteSimulationError),
}

impl Ended {
    /// Whether the record could be written, so that the next one may be, too.
    pub(super) fn is_recorded(&self) -> bool {
        matches!(self, Ended::Recorded(_))
    }

    /// Writes the report of the design.
    pub(super) fn show(self, arguments: &DesignArguments, output: Output) -> Result<Exit, Failure> {
        let (form, verbosity) = (&arguments.form, arguments.verbosity);
        match self {
            Ended::Recorded(record) => report::show(&record, form, verbosity, output),
            Ended::Unrecorded(content, error) => {
                let (head, findings) = *content;
                report::show_text(&Loaded::simulated(head, findings), form, verbosity, output)?;
                Err(error.into())
            }
        }
    }
}

/// Several results, reported together.
pub(super) struct Several {
    pub(super) contents: Vec<(Simulation, Findings)>,
    records: Vec<PathBuf>,
    unrecorded: Option<WriteSimulationError>,
}

impl Several {
    pub(super) fn load(ended: Vec<Ended>) -> Result<Several, Failure> {
        let mut several = Several {
            contents: Vec::new(),
            records: Vec::new(),
            unrecorded: None,
        };
        for one in ended {
            match one {
                Ended::Recorded(record) => {
                    several
                        .contents
                        .push(simulation(&record, Options::default())?);
                    several.records.push(record);
                }
                Ended::Unrecorded(content, error) => {
                    several.contents.push(*content);
                    several.unrecorded = Some(error);
                }
            }
        }
        Ok(several)
    }

    /// Returns a sentence that says where the curves are; empty if no record has them.
    pub(super) fn curves(&self) -> String {
        if self.records.is_empty() {
            return String::new();
        }
        let names: Vec<String> = self.records.iter().map(as_argument).collect();
        format!(
            "\ncurves: switchcost report -o page.html {}\n",
            names.join(" ")
        )
    }

    /// Returns the error of a record that could not be written, after everything else has been
    /// reported.
    pub(super) fn check(self) -> Result<(), Failure> {
        self.unrecorded.map_or(Ok(()), |error| Err(error.into()))
    }
}
