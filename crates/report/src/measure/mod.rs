//! Renders the report on a measurement: the cost of a switch on the measured machine.

mod answer;
pub(crate) mod conditions;
pub(crate) mod counters;
mod csv;
mod curves;
mod details;
mod earlier;
mod figures;
pub(crate) mod json;
mod ladder;
mod lmbench;
mod machine;
mod matrix;
mod mechanisms;
mod notes;
mod reload;
mod row;
mod screen;
mod shared_cache;
mod working_sets;

use schemars::JsonSchema;
use serde::Serialize;
use switchcost_analysis::{Findings, Point};
use switchcost_record::MeasureRecord;

use crate::format::written;
use crate::{Document, Format, InEveryFormat, Page, Style, Table};

/// Renders the findings of a measurement as text that ends in a newline.
pub fn render(record: &MeasureRecord, findings: &Findings, format: Format, style: Style) -> String {
    let measured = Measured {
        record,
        findings,
        points: &[],
    };
    written(&measured, format, style)
}

/// A measurement with its findings. `points` are all measured samples, which only an HTML page
/// shows; empty otherwise.
pub(crate) struct Measured<'a> {
    pub(crate) record: &'a MeasureRecord,
    pub(crate) findings: &'a Findings,
    pub(crate) points: &'a [Point],
}

impl InEveryFormat for Measured<'_> {
    fn add_to(&self, page: &mut Page) {
        if page.is_detailed() {
            add(page, self)
        } else {
            screen::add(page, self.record, self.findings)
        }
    }

    fn document(&self) -> impl Serialize + JsonSchema {
        Document::new(json::report(self.record, self.findings))
    }

    fn tables(&self) -> Vec<Table> {
        vec![csv::table(self.findings)]
    }
}

fn add_answer(page: &mut Page, record: &MeasureRecord, findings: &Findings) {
    match ladder::is_one(record) {
        true => page.paragraph(ladder::describe_answer(record, findings)),
        false => answer::add(page, findings),
    }
}

/// Adds the answer, the machine, the tables and their notes.
fn add(page: &mut Page, measured: &Measured<'_>) {
    let (record, findings) = (measured.record, measured.findings);
    add_answer(page, record, findings);
    if page.has_figures() {
        page.prose(screen::machine(&record.header, findings));
        earlier::add(page, &record.header, findings);
        curves::add_first_figure(page, record, findings);
        page.heading("Machine and run", "");
    }
    machine::add(page, &record.header, findings);
    if !page.has_figures() {
        earlier::add(page, &record.header, findings);
    }
    details::add_environment(page, record, findings);
    if ladder::is_one(record) {
        ladder::add_tables(page, findings);
        ladder::add_runs(page, record);
    }
    mechanisms::add(page, findings);
    working_sets::add(page, findings);
    reload::add(page, findings);
    shared_cache::add(page, findings);
    curves::add(page, record, findings);
    figures::add_comparisons(page, findings);
    lmbench::add(page, findings);
    matrix::add(page, findings);
    counters::add(page, record, findings);
    figures::add_samples(page, record, measured.points);
    notes::add(page, findings);
    details::add(page, record, findings);
}
