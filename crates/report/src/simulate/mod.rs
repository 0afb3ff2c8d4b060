//! Renders the report on a simulation: the cost of a switch in cycles on each design, its causes,
//! and the most affected code.

pub(crate) mod amount;
mod answer;
pub(crate) mod at_once;
mod calls;
mod causes;
mod csv;
mod curves;
mod designs;
mod details;
mod figures;
mod heavy_calls;
pub(crate) mod json;
mod levels;
mod notes;
pub(crate) mod orders;
mod origins;
mod plane;
mod programs;
mod screen;
mod sweep;
mod time_lost;
mod trace;
mod traffic;
pub(crate) mod trials;

use schemars::JsonSchema;
use serde::Serialize;
use switchcost_analysis::simulation::{DesignFinding, Findings};
use switchcost_design::result::Simulation;

use crate::format::written;
use crate::{Document, Format, InEveryFormat, Page, Style, Table};

pub use at_once::{AtOnce, render_at_once};
pub use orders::render_orders;
pub use trials::render_trials;

/// Maximum number of designs that are shown in detail. The first table has all designs.
const DETAILED: usize = 6;

/// Renders the findings of a simulation as text that ends in a newline.
pub fn render(head: &Simulation, findings: &Findings, format: Format, style: Style) -> String {
    written(&Simulated { head, findings }, format, style)
}

/// A simulation with its findings.
pub(crate) struct Simulated<'a> {
    pub(crate) head: &'a Simulation,
    pub(crate) findings: &'a Findings,
}

impl InEveryFormat for Simulated<'_> {
    fn add_to(&self, page: &mut Page) {
        if page.is_detailed() {
            add(page, self.head, self.findings)
        } else {
            screen::add(page, self.head, self.findings)
        }
    }

    fn document(&self) -> impl Serialize + JsonSchema {
        Document::new(json::report(self.head, self.findings))
    }

    fn tables(&self) -> Vec<Table> {
        vec![csv::table(self.findings)]
    }
}

/// Adds figures that compare several records to a page. `records` has their names, heads and
/// findings.
pub(crate) fn add_of_all(page: &mut Page, records: &[(&str, &Simulation, &Findings)]) {
    if records.len() > 1 {
        figures::add_of_all(page, records);
    }
}

/// Adds the answer, the trace, the tables and their notes.
fn add(page: &mut Page, head: &Simulation, findings: &Findings) {
    answer::add(page, head, findings, true);
    page.figure(|| figures::costs(findings));
    page.figure(|| figures::first_touches(findings));
    trace::add(page, head, findings);
    designs::add(page, findings);
    sweep::add(page, findings);
    designs::add_levels(page, findings);
    time_lost::add(page, findings);
    traffic::add(page, findings);
    figures::add(page, head, findings);
    causes::add(page, findings);
    curves::add(page, findings);
    origins::add(page, findings);
    programs::add(page, findings);
    levels::add_programs(page, findings);
    calls::add(page, findings);
    notes::add(page, findings);
    details::add(page, head);
}

/// Maximum number of designs whose levels are all shown. A larger number of designs is a sweep,
/// which has another table.
const COMPARED: usize = 32;

/// Returns the designs whose cache levels are all shown: all designs, or the first few of a sweep.
fn compared(findings: &Findings) -> &[DesignFinding] {
    if findings.designs.len() <= COMPARED {
        &findings.designs
    } else {
        detailed(findings)
    }
}

/// Returns the first [`DETAILED`] designs, which are shown in detail.
fn detailed(findings: &Findings) -> &[DesignFinding] {
    &findings.designs[..findings.designs.len().min(DETAILED)]
}
