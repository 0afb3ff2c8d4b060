//! The report on a simulation: what a switch costs in cycles on each design, and where that comes from.

mod amount;
mod answer;
mod causes;
mod csv;
mod curves;
mod designs;
mod json;
mod notes;
mod origins;
mod programs;
mod trace;
mod trials;

use analysis::simulation::{DesignFinding, Findings};
use record::Simulation;

use crate::page::Page;
use crate::{Format, Style};

pub use trials::{SIMULATE_TRIALS_SCHEMA, render_trials};

/// Name and version of the JSON form.
///
/// Version 1: the first.
pub const SIMULATE_REPORT_SCHEMA: &str = "switchcost.simulate/1";

/// Designs that the terminal shows in detail; all stand in the first table.
const DETAILED: usize = 6;

/// The findings of a record as text that ends in a newline.
pub fn render(head: &Simulation, findings: &Findings, format: Format, style: Style) -> String {
    match format {
        Format::Table => table(head, findings, style),
        Format::Json => json::render(head, findings),
        Format::Csv => csv::render(head, findings),
    }
}

/// First the answer, then the trace, then the numbers, then what to know about them.
fn table(head: &Simulation, findings: &Findings, style: Style) -> String {
    let mut page = Page::new(style);
    answer::add(&mut page, head, findings);
    trace::add(&mut page, head, findings);
    designs::add(&mut page, findings);
    designs::add_levels(&mut page, findings);
    causes::add(&mut page, findings);
    curves::add(&mut page, findings);
    origins::add(&mut page, findings);
    programs::add(&mut page, findings);
    notes::add(&mut page, findings);
    page.finish()
}

/// The designs that are shown in detail.
fn detailed(findings: &Findings) -> &[DesignFinding] {
    &findings.designs[..findings.designs.len().min(DETAILED)]
}
