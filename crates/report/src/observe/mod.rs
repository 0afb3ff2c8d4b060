//! Renders the report on an observation: cost of switching to live programs, causes of their
//! switches, and other programs involved.

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

/// Grouping of the rows in the first table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Display, EnumIter, EnumString)]
#[strum(serialize_all = "kebab-case")]
pub enum By {
    /// Each row is a program: processes of one name, with numbered names as one.
    #[default]
    Program,
    /// Each row is a control group.
    ControlGroup,
}

/// Renders the findings of an observation as text that ends in a newline.
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
    /// Adds the answer (which a page also draws as a figure), then programs, causes, other programs,
    /// and notes.
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

/// Returns the title of a table, with the number of rows that are not shown.
pub(super) fn title(title: &str, shown: usize, all: usize) -> String {
    if all > shown {
        format!("{title}; {} of {}", count(shown as u64), count(all as u64))
    } else {
        title.to_owned()
    }
}
