//! Renders the report on injected preemptions: the cost of a preemption for each footprint of the
//! other task.

mod answer;
mod csv;
mod figure;
pub(crate) mod json;
mod notes;
mod periods;
mod service;
mod tables;
#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::Serialize;
use switchcost_analysis::injection::Findings;
use switchcost_record::injection::Injection;

use crate::format::written;
use crate::{Document, Format, InEveryFormat, Page, Style, Table};

/// Renders an injection and its findings as text that ends in a newline.
pub fn render(record: &Injection, findings: &Findings, format: Format, style: Style) -> String {
    written(&Injected { record, findings }, format, style)
}

/// A record of injected preemptions with its findings.
pub(crate) struct Injected<'a> {
    pub(crate) record: &'a Injection,
    pub(crate) findings: &'a Findings,
}

impl InEveryFormat for Injected<'_> {
    fn add_to(&self, page: &mut Page) {
        add(page, self.record, self.findings);
    }

    fn document(&self) -> impl Serialize + JsonSchema {
        Document::new(json::report(self.record, self.findings))
    }

    fn tables(&self) -> Vec<Table> {
        vec![csv::table(self.record, self.findings)]
    }
}

/// Adds the answer, the figure, the tables and the notes. A detailed page also lists every run.
fn add(page: &mut Page, record: &Injection, findings: &Findings) {
    match &findings.service {
        Some(found) => service::add(page, record, findings, found),
        None => answer::add(page, record, findings),
    }
    [
        answer::doubt_sentence(record, findings),
        answer::moves_sentence(record, findings),
        periods::answer(findings),
    ]
    .iter()
    .flatten()
    .for_each(|text| page.paragraph(text));
    tables::add_costs(page, findings);
    periods::add(page, findings);
    page.figure(|| figure::draw(findings));
    page.figure(|| figure::over_periods(findings));
    page.method(["injection", "statistics"]);
    notes::add(page, record, findings);
    match page.is_detailed() {
        true if record.header.service.is_some() => service::add_groups(page, record),
        true => tables::add_runs(page, record),
        false => {}
    }
}
