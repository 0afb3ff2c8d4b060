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

use crate::for_programs::{Document, Table};
use crate::format::{InEveryFormat, written};
use crate::page::{Block, Page};
use crate::quantity::count;
use crate::{Format, Style};

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

struct Observed<'a> {
    observation: &'a Observation,
    findings: &'a Findings,
    by: By,
}

impl InEveryFormat for Observed<'_> {
    fn add_to(&self, page: &mut Page, style: Style) {
        let limits = if style.is_detailed {
            tables::ALL
        } else {
            tables::ONE_SCREEN
        };
        add(page, self.observation, self.findings, self.by, &limits);
    }

    fn document(&self) -> impl Serialize + JsonSchema {
        Document::new(json::report(self.observation, self.findings))
    }

    fn tables(&self) -> Vec<Table> {
        vec![csv::table(self.findings)]
    }
}

/// Returns the findings as blocks of a page with figures.
pub(crate) fn blocks(observation: &Observation, findings: &Findings) -> Vec<Block> {
    let mut page = Page::with_figures();
    add(&mut page, observation, findings, By::Program, &tables::ALL);
    page.into_blocks()
}

/// Adds the answer (which a page also draws as a figure), then programs, causes, other programs,
/// and notes.
fn add(
    page: &mut Page,
    observation: &Observation,
    findings: &Findings,
    by: By,
    limits: &tables::Limits,
) {
    answer::add(page, observation, findings);
    figures::add(page, observation, findings);
    tables::add(page, findings, by, limits);
    notes::add(page, observation, findings, limits.is_all());
}

/// Returns the title of a table, with the number of rows that are not shown.
pub(super) fn title(title: &str, shown: usize, all: usize) -> String {
    if all > shown {
        format!("{title}; {} of {}", count(shown as u64), count(all as u64))
    } else {
        title.to_owned()
    }
}
