//! The report on a measurement: what a switch costs on the machine that the record was taken on.

mod answer;
pub(crate) mod conditions;
mod counters;
mod csv;
mod curves;
mod details;
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

use switchcost_analysis::{Findings, Point};
use switchcost_record::MeasureRecord;

use crate::for_programs::document;
use crate::page::{Block, Page};
use crate::{Format, Style};

/// The findings of a record as text that ends in a newline.
pub fn render(record: &MeasureRecord, findings: &Findings, format: Format, style: Style) -> String {
    match format {
        Format::Table => table(record, findings, style),
        Format::Json => document(json::report(record, findings)),
        Format::Csv => csv::render(findings),
    }
}

fn table(record: &MeasureRecord, findings: &Findings, style: Style) -> String {
    let mut page = Page::new(style);
    if style.is_detailed {
        add(&mut page, record, findings, &[])
    } else if ladder::is_one(record) {
        ladder::add(&mut page, record, findings)
    } else {
        screen::add(&mut page, record, findings)
    }
    page.finish()
}

/// The findings for a reader of figures. `points` are all times that were taken.
pub(crate) fn blocks(record: &MeasureRecord, findings: &Findings, points: &[Point]) -> Vec<Block> {
    let mut page = Page::with_figures();
    add(&mut page, record, findings, points);
    page.into_blocks()
}

/// First the answer, then on which machine, then the numbers, then what to know about them.
fn add(page: &mut Page, record: &MeasureRecord, findings: &Findings, points: &[Point]) {
    match ladder::is_one(record) {
        true => ladder::add_answer(page, record, findings),
        false => answer::add(page, findings),
    }
    if page.has_figures() {
        page.prose(&screen::machine(&record.header, findings));
        curves::add_first_figure(page, record, findings);
        page.heading("Machine and run", "");
    }
    machine::add(page, &record.header, findings);
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
    figures::samples::add(page, record, points);
    notes::add(page, findings);
    details::add(page, record, findings);
}
