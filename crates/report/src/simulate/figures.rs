//! The figures of a simulation, after those of Mogul and Borg 1990: the same findings as in the tables, drawn.

mod causes;
mod code;
pub(super) mod costs;
mod curves;
mod evictions;
mod lengths;
mod overhead;
mod quanta;
mod series;
pub(super) mod sweep;

use switchcost_analysis::simulation::{Findings, Group};
use switchcost_design::result::Simulation;

use super::detailed;
use crate::page::Page;

/// What only several records together show.
pub(super) fn add_of_all(page: &mut Page, records: &[(&str, &Simulation, &Findings)]) {
    overhead::add_of_all(page, records);
    quanta::add_of_all(page, records);
}

/// All figures of one record, each design in its turn. Only the page has them: the terminal has its own short forms.
pub(super) fn add(page: &mut Page, head: &Simulation, findings: &Findings) {
    if !page.has_figures() {
        return;
    }
    lengths::add(page, findings);
    for (number, design) in detailed(findings).iter().enumerate() {
        curves::add(page, findings, design, number);
    }
    overhead::add(page, head, findings);
    causes::add(page, findings);
    evictions::add(page, findings);
    code::add(page, findings);
}

/// Classes of switches as figures name them.
fn name(group: &Group) -> String {
    match group {
        Group::All => "all".to_owned(),
        Group::Class(class) | Group::Tasks(class) => (*class).to_owned(),
        Group::Cause(cause) => cause.clone(),
        Group::EndClass(class) => format!("before {class}"),
    }
}
