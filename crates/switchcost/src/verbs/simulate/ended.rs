//! Results of simulations: written records, or the content of a record that could not be written.

use std::path::PathBuf;

use switchcost_analysis::simulation::{Findings, Options};
use switchcost_design::result::Simulation;
use switchcost_report::as_argument;
use switchcost_simulation_record::WriteSimulationError;

use crate::cli::simulate::DesignArguments;
use crate::exit::{Exit, Outcome};
use crate::output::Output;
use crate::records::simulation;
use crate::verbs::report::{self, Loaded};

pub(super) enum Ended {
    /// Path of the record that was written.
    Recorded(PathBuf),
    /// The content of a record that could not be written, and the error. The content is shown
    /// before the error.
    Unrecorded(Box<(Simulation, Findings)>, WriteSimulationError),
}

impl Ended {
    /// Returns true if the record was written, so that the next record can probably be written,
    /// too.
    pub(super) fn is_recorded(&self) -> bool {
        matches!(self, Ended::Recorded(_))
    }

    /// Prints the report on the simulation.
    pub(super) fn show(self, arguments: &DesignArguments, output: Output) -> Outcome<Exit> {
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

/// Results of several simulations, which are reported together.
pub(super) struct Several {
    pub(super) contents: Vec<(Simulation, Findings)>,
    records: Vec<PathBuf>,
    unrecorded: Option<WriteSimulationError>,
}

impl Several {
    pub(super) fn load(ended: Vec<Ended>) -> Outcome<Several> {
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

    /// Returns a line with the command that draws the curves of the records; empty if no record was
    /// written.
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

    /// Returns the error of a record that could not be written, if any. To be called after
    /// everything else is reported.
    pub(super) fn check(self) -> Outcome {
        self.unrecorded.map_or(Ok(()), |error| Err(error.into()))
    }
}
