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

use crate::for_programs::{Document, Table};
use crate::format::{InEveryFormat, written};
use crate::page::{Block, Page};
use crate::{Format, Style};

/// Renders the findings of a record as text that ends in a newline.
pub fn render(record: &MeasureRecord, findings: &Findings, format: Format, style: Style) -> String {
    written(&Measured { record, findings }, format, style)
}

struct Measured<'a> {
    record: &'a MeasureRecord,
    findings: &'a Findings,
}

impl InEveryFormat for Measured<'_> {
    fn add_to(&self, page: &mut Page, style: Style) {
        if style.is_detailed {
            add(page, self.record, self.findings, &[])
        } else if ladder::is_one(self.record) {
            ladder::add(page, self.record, self.findings)
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

/// Returns the findings as blocks of a page with figures. `points` are all measured times.
pub(crate) fn blocks(record: &MeasureRecord, findings: &Findings, points: &[Point]) -> Vec<Block> {
    let mut page = Page::with_figures();
    add(&mut page, record, findings, points);
    page.into_blocks()
}

/// Adds the answer, then the machine, the numbers, and notes on them.
fn add(page: &mut Page, record: &MeasureRecord, findings: &Findings, points: &[Point]) {
    match ladder::is_one(record) {
        true => ladder::add_answer(page, record, findings),
        false => answer::add(page, findings),
    }
    if page.has_figures() {
        page.prose(&screen::machine(&record.header, findings));
        earlier::describe_earlier(&record.header, findings)
            .into_iter()
            .for_each(|words| page.prose(&words));
        curves::add_first_figure(page, record, findings);
        page.heading("Machine and run", "");
    }
    machine::add(page, &record.header, findings);
    if !page.has_figures() {
        earlier::describe_earlier(&record.header, findings)
            .into_iter()
            .for_each(|words| page.prose(&words));
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
    figures::add_samples(page, record, points);
    notes::add(page, findings);
    details::add(page, record, findings);
}
