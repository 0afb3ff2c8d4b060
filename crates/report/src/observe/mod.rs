//! Renders the report on observed programs: the cost of their switches, the causes, and the
//! competing programs.

mod answer;
mod caches;
mod csv;
mod figures;
pub(crate) mod interval;
pub(crate) mod json;
mod matched;
mod neighbours;
mod notes;
mod tables;
#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::Serialize;
use strum::{Display, EnumIter, EnumString};
use switchcost_analysis::observation::Findings;
use switchcost_record::observation::Observation;

pub(crate) use answer::name;
pub use interval::render_interval;

use crate::format::written;
use crate::quantity::count;
use crate::{Document, Format, InEveryFormat, Page, Style, Table};

/// Grouping of the rows in the table of costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Display, EnumIter, EnumString)]
#[strum(serialize_all = "kebab-case")]
pub enum By {
    /// A row for each program: all processes of one name. Names that differ only in a number count
    /// as one.
    #[default]
    Program,
    /// A row for each control group.
    ControlGroup,
}

/// Renders an observation and its findings as text that ends in a newline.
pub fn render(
    observation: &Observation,
    findings: &Findings,
    by: By,
    format: Format,
    style: Style,
) -> String {
    written(
        &Observed {
            observation,
            findings,
            by,
        },
        format,
        style,
    )
}

/// An observation with its findings.
pub(crate) struct Observed<'a> {
    pub(crate) observation: &'a Observation,
    pub(crate) findings: &'a Findings,
    pub(crate) by: By,
}

impl InEveryFormat for Observed<'_> {
    /// Adds the answer, figures for an HTML page, costs by program, causes, competing programs and
    /// notes.
    fn add_to(&self, page: &mut Page) {
        let (observation, findings) = (self.observation, self.findings);
        answer::add(page, observation, findings);
        figures::add(page, observation, findings);
        tables::add(page, findings, self.by);
        notes::add(page, observation, findings);
    }

    fn document(&self) -> impl Serialize + JsonSchema {
        Document::new(json::report(self.observation, self.findings))
    }

    fn tables(&self) -> Vec<Table> {
        vec![csv::table(self.findings)]
    }
}

/// Returns the title of a table, with the number of rows shown if some are left out.
pub(super) fn title(title: &str, shown: usize, all: usize) -> String {
    if all > shown {
        format!(
            "{title}; first {} of {} rows",
            count(shown as u64),
            count(all as u64)
        )
    } else {
        title.to_owned()
    }
}
