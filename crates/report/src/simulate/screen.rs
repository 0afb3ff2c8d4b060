//! Renders one screen: the cost in words, the trace, one table, and notes, the worst first.
//! `--details` and the page have the rest.

use switchcost_analysis::simulation::{DesignFinding, Findings};
use switchcost_design::result::Simulation;

use super::amount::{as_time, ends, perhaps, time_note, with_bound};
use super::designs::{cpi, scale_to_order};
use super::{answer, notes, sweep, trace};
use crate::entry::Entry;
use crate::grid::Grid;
use crate::page::Page;
use crate::quantity::share;

/// Maximum number of lines of the screen, without the lines that refer to the rest.
const MOST_LINES: usize = 27;

/// Maximum number of designs with a row.
const DESIGNS: usize = 6;

/// Number of designs above which they may be variants of one design, which are compared with each
/// other.
const FEW: usize = 3;

/// Maximum number of notes on the screen.
const MOST_NOTES: usize = 3;

pub(super) fn add(page: &mut Page, head: &Simulation, findings: &Findings) {
    answer::add(page, head, findings);
    trace::add_in_short(page, head);
    let is_many = findings.designs.len() > FEW;
    if !(is_many && sweep::add(page, findings, Some(MOST_LINES))) {
        add_designs(page, findings);
    }
    let notes = notes::short_notes(findings);
    if !notes.is_empty() {
        page.gap();
    }
    page.items_up_to(MOST_LINES, &notes[..notes.len().min(MOST_NOTES)]);
}

/// Adds the cost of a switch, with a row for each design.
fn add_designs(page: &mut Page, findings: &Findings) {
    if findings.designs.is_empty() {
        return;
    }
    let confidence = findings
        .designs
        .iter()
        .find_map(|design| design.average_cost_cycles.confidence);
    page.heading("Cost of a switch", "in simulated cycles");
    let (head, labels) = sweep::labels(findings);
    let interval = confidence.map(|share| {
        format!(
            "interval: {:.0} % confidence, for this trace; ",
            share * 100.0
        )
    });
    let grid = Grid::single_line_rows(1)
        .left([head])
        .right(["cycles", "interval", "time", "share of cycles", "CPI"])
        .with_rows(
            labels
                .iter()
                .zip(&findings.designs)
                .take(DESIGNS)
                .map(|(name, design)| design_row(name, design)),
        );
    page.grid(&grid);
    let more = findings.designs.len().saturating_sub(DESIGNS);
    if more > 0 {
        page.prose(&format!("and {more} more: --details"));
    }
    page.prose(&format!(
        "{}share of cycles: by all switches together",
        interval.unwrap_or_default()
    ));
    if time_note(findings.designs.iter().take(DESIGNS).map(scale_to_order)).is_some() {
        page.prose(
            "time: as if no two misses overlapped; measured reloads took between 1/120 of this time and all of it",
        );
    }
}

fn design_row(name: &str, design: &DesignFinding) -> Vec<Entry> {
    let net = &design.average_cost_cycles;
    let reported = net.estimate.filter(|_| !net.is_covering_zero());
    entries![
        name,
        with_bound(net),
        ends(net),
        reported.map(|cycles| as_time(cycles, design.cycle_ns)),
        reported.map(|_| share(design.excess_share)),
        perhaps(cpi(design))
    ]
}
