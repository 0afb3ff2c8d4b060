use switchcost_analysis::simulation::Options;
use switchcost_analysis::{
    CaseFinding, CoreSharing, Findings, Point, Verdict, injection, observation, simulation,
};
use switchcost_design::result::Simulation;
use switchcost_record::injection::Injection;
use switchcost_record::observation::Observation;
use switchcost_record::{MeasureRecord, Plan, Source};
use switchcost_report::observe::By;
use switchcost_report::{Format, Style, html, inject, measure, observe, simulate};

use crate::earlier::Folder;
use crate::exit::{Exit, Failure, Outcome};
use crate::kinds::{is_injection, is_observation, is_simulation, refuse_trace};
use crate::records;

/// A record of any kind with its findings.
pub(crate) struct Loaded {
    name: String,
    content: Content,
}

enum Content {
    Measured {
        record: Box<MeasureRecord>,
        findings: Findings,
        points: Vec<Point>,
    },
    Observed {
        record: Box<Observation>,
        findings: Box<observation::Findings>,
        by: By,
    },
    Injected {
        record: Box<Injection>,
        findings: Box<injection::Findings>,
    },
    Simulated {
        head: Box<Simulation>,
        findings: simulation::Findings,
    },
}

impl Loaded {
    /// Reads a record of any kind, and analyses its content.
    pub(crate) fn read(source: impl Into<Source>) -> Outcome<Self> {
        let source = source.into();
        refuse_trace(&source)?;
        let path = source.path();
        let name = path
            .file_name()
            .unwrap_or(path.as_os_str())
            .to_string_lossy()
            .into_owned();
        let content = match () {
            () if is_simulation(&source) => simulated(&source)?,
            () if is_observation(&source) => observed(Observation::read(&source)?),
            () if is_injection(&source) => injected(&source)?,
            () => measured(&source)?,
        };
        Ok(Loaded { name, content })
    }

    /// Analyses an observation that was not read from a file.
    pub(crate) fn observed(record: Observation) -> Loaded {
        Loaded {
            name: String::new(),
            content: observed(record),
        }
    }

    /// Wraps a simulation with its findings.
    pub(crate) fn simulated(head: Simulation, findings: simulation::Findings) -> Loaded {
        Loaded {
            name: String::new(),
            content: Content::Simulated {
                head: Box::new(head),
                findings,
            },
        }
    }

    /// Adds the spread between earlier runs of the machine to the findings of a measurement.
    /// `earlier` is `None` if no folder of records is named.
    pub(super) fn add_history(mut self, earlier: Option<&Folder>) -> Outcome<Self> {
        let Some(earlier) = earlier else {
            return Ok(self);
        };
        match &mut self.content {
            Content::Measured {
                record, findings, ..
            } => {
                record.header.earlier = Some(earlier.runs_before(&record.header));
                *findings = switchcost_analysis::analyse(record);
                Ok(self)
            }
            _ => Err(Failure::usage(format!(
                "{} is not a record of measure, which --history needs; leave out --history",
                self.name
            ))),
        }
    }

    /// Sets the grouping of the rows in an observation's table of costs.
    pub(crate) fn group_by(mut self, wanted: By) -> Self {
        if let Content::Observed { by, .. } = &mut self.content {
            *by = wanted;
        }
        self
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the measurement with its findings; `None` for a record of another kind.
    pub(crate) fn measurement(&self) -> Option<(&MeasureRecord, &Findings)> {
        match &self.content {
            Content::Measured {
                record, findings, ..
            } => Some((record, findings)),
            _ => None,
        }
    }

    /// Returns a measurement's evidence on core sharing, for later measurements; `None` if there is
    /// none.
    pub(crate) fn core_sharing(&self) -> Option<(&MeasureRecord, CoreSharing)> {
        let (record, findings) = self.measurement()?;
        Some((record, switchcost_analysis::core_sharing(record, findings)?))
    }

    /// Returns the observation; `None` for a record of another kind.
    pub(super) fn observation(&self) -> Option<&Observation> {
        let Content::Observed { record, .. } = &self.content else {
            return None;
        };
        Some(record)
    }

    pub(super) fn text(&self, format: Format, style: Style) -> String {
        match &self.content {
            Content::Measured {
                record, findings, ..
            } => measure::render(record, findings, format, style),
            Content::Observed {
                record,
                findings,
                by,
            } => observe::render(record, findings, *by, format, style),
            Content::Injected { record, findings } => {
                inject::render(record, findings, format, style)
            }
            Content::Simulated { head, findings } => {
                simulate::render(head, findings, format, style)
            }
        }
    }

    pub(super) fn part(&self) -> html::Part<'_> {
        let name = &self.name;
        match &self.content {
            Content::Measured {
                record,
                findings,
                points,
            } => html::Part::Measured {
                name,
                record,
                findings,
                points,
            },
            Content::Observed {
                record, findings, ..
            } => html::Part::Observed {
                name,
                observation: record,
                findings,
            },
            Content::Injected { record, findings } => html::Part::Injected {
                name,
                record,
                findings,
            },
            Content::Simulated { head, findings } => html::Part::Simulated {
                name,
                head,
                findings,
            },
        }
    }

    /// Returns the exit code of a command that reports this record: [`Exit::Partial`] if too many
    /// results are missing, or an injection is doubtful.
    pub(in crate::verbs) fn exit(&self) -> Exit {
        let is_any_missing = match &self.content {
            Content::Measured {
                record, findings, ..
            } => is_much_missing(&record.header.plan, findings),
            Content::Injected { record, findings } => {
                findings.footprints.iter().any(|found| !found.is_measured())
                    || injection::doubt(record, findings).is_some()
            }
            Content::Observed { .. } | Content::Simulated { .. } => false,
        };
        if is_any_missing {
            Exit::Partial
        } else {
            Exit::Success
        }
    }
}

/// Returns true if too many results are missing: any case that the user selected, or more than a
/// third of the cases of a preset.
fn is_much_missing(plan: &Plan, findings: &Findings) -> bool {
    let is_missing = |result: &&CaseFinding| matches!(result.verdict, Verdict::NotMeasured { .. });
    let missing = findings.results.iter().filter(is_missing).count();
    let bearable = if plan.preset == "selected" {
        0
    } else {
        findings.results.len() / 3
    };
    missing > bearable
}

fn measured(source: &Source) -> Outcome<Content> {
    let record = Box::new(MeasureRecord::read(source)?);
    let (findings, points) = (
        switchcost_analysis::analyse(&record),
        switchcost_analysis::points(&record),
    );
    Ok(Content::Measured {
        record,
        findings,
        points,
    })
}

fn observed(record: Observation) -> Content {
    let findings = Box::new(observation::analyse(&record));
    Content::Observed {
        record: Box::new(record),
        findings,
        by: By::default(),
    }
}

fn injected(source: &Source) -> Outcome<Content> {
    let record = Box::new(Injection::read(source)?);
    let findings = Box::new(injection::analyse(&record));
    Ok(Content::Injected { record, findings })
}

fn simulated(source: &Source) -> Outcome<Content> {
    let (head, findings) = records::simulation(source, Options::default())?;
    Ok(Content::Simulated {
        head: Box::new(head),
        findings,
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_result_that_cannot_be_ends_with_reservations() {
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/injection_record/small");
        let loaded = |change: fn(&mut switchcost_record::injection::Injection)| {
            let mut record = Box::new(
                switchcost_record::injection::Injection::read(&path)
                    .expect("a record of this version"),
            );
            record.header.plan.footprints_bytes.truncate(2);
            record.runs.retain(|run| run.footprint < 2);
            change(&mut record);
            let findings = Box::new(injection::analyse(&record));
            Loaded {
                name: String::new(),
                content: Content::Injected { record, findings },
            }
            .exit()
        };
        assert_eq!(loaded(|_| ()), Exit::Success);
        // Makes a larger footprint cost less.
        assert_eq!(
            loaded(|record| record
                .runs
                .iter_mut()
                .for_each(|run| run.footprint = 1 - run.footprint)),
            Exit::Partial
        );
    }
}
