//! The report on a measurement: what a switch costs on the machine that the record was taken on.

mod answer;
pub(crate) mod conditions;
mod counters;
mod csv;
mod curves;
mod json;
mod lmbench;
mod machine;
mod matrix;
mod mechanisms;
mod notes;
mod row;
mod working_sets;

use analysis::Findings;
use record::MeasureRecord;

use crate::page::Page;
use crate::{Format, Style};

/// Name and version of the JSON form.
///
/// Version 1: the first.
pub const MEASURE_REPORT_SCHEMA: &str = "switchcost.measure/1";

/// The findings of a record as text that ends in a newline.
pub fn render(record: &MeasureRecord, findings: &Findings, format: Format, style: Style) -> String {
    match format {
        Format::Table => table(record, findings, style),
        Format::Json => json::render(record, findings),
        Format::Csv => csv::render(findings),
    }
}

/// First the answer, then on which machine, then the numbers, then what to know about them.
fn table(record: &MeasureRecord, findings: &Findings, style: Style) -> String {
    let mut page = Page::new(style);
    answer::add(&mut page, findings);
    machine::add(&mut page, &record.header);
    mechanisms::add(&mut page, findings);
    working_sets::add(&mut page, findings);
    curves::add(&mut page, findings);
    lmbench::add(&mut page, findings);
    matrix::add(&mut page, findings);
    counters::add(&mut page, record, findings);
    notes::add(&mut page, findings);
    page.finish()
}
