//! Renders a simulation on one screen: the cost in words, the trace, one table, and the worst
//! notes.

use switchcost_analysis::simulation::{DesignFinding, Findings};
use switchcost_design::result::Simulation;

use super::amount::{as_time, ends, perhaps, time_note, with_bound};
use super::designs::{cpi, scale_to_order};
use super::{answer, notes, sweep, trace};
use crate::quantity::share;
use crate::{Entry, Grid, Page};

/// Maximum number of designs in the table.
const DESIGNS: usize = 6;

/// Number of designs above which variants of one design are shown as a sweep.
const FEW: usize = 3;

/// Maximum number of notes on the screen.
const MOST_NOTES: usize = 3;

pub(super) fn add(page: &mut Page, head: &Simulation, findings: &Findings) {
    answer::add(page, head, findings, false);
    trace::add_in_short(page, head);
    add_title(page, head, findings);
    let is_many = findings.designs.len() > FEW;
    if !(is_many && sweep::add(page, findings)) {
        add_designs(page, findings);
    }
    let notes = notes::short_notes(findings);
    if !notes.is_empty() {
        page.gap();
    }
    page.items_up_to(sweep::MOST_LINES, &notes[..notes.len().min(MOST_NOTES)]);
}

/// Longest title of a design that is shown, in bytes.
const LONGEST_TITLE: usize = 85;

/// Adds the title of the first design, which is the design of the answer.
fn add_title(page: &mut Page, head: &Simulation, findings: &Findings) {
    let first = findings.designs.first();
    let designs = head.designs.iter().map(|result| &result.design);
    let shown = designs.filter(|design| first.is_some_and(|first| first.name == design.name));
    let is_short = |title: &str| (1..=LONGEST_TITLE).contains(&title.len());
    for design in shown.filter(|design| is_short(&design.title)).take(1) {
        page.prose(format!("{}: {}", design.name, design.title));
    }
}

/// Adds a table of the cost of a switch, with a row for each design.
fn add_designs(page: &mut Page, findings: &Findings) {
    if findings.designs.is_empty() {
        return;
    }
    let is_known = |design: &DesignFinding| design.average_cost_cycles.estimate.is_some();
    if !findings.designs.iter().any(is_known) {
        return add_instructions(page, findings);
    }
    let confidence = findings
        .designs
        .iter()
        .find_map(|design| design.average_cost_cycles.confidence);
    let interval = confidence.map(|share| {
        format!(
            ", with {:.0} % confidence intervals for this trace",
            share * 100.0
        )
    });
    page.heading(
        "Cost of a switch",
        format!("additional cycles{}", interval.unwrap_or_default()),
    );
    let (head, labels) = sweep::labels(findings);
    let head = if head.is_empty() {
        "design".to_owned()
    } else {
        head
    };
    let grid = Grid::single_line_rows(1)
        .left([head])
        .right([
            "cycles per switch",
            "interval",
            "time per switch",
            "all switches",
            "CPI",
        ])
        .with_rows(
            labels
                .iter()
                .zip(&findings.designs)
                .take(DESIGNS)
                .map(|(name, design)| design_row(name, design)),
        );
    page.grid(grid);
    let more = findings.designs.len().saturating_sub(DESIGNS);
    if more > 0 {
        page.prose(format!("and {more} more: --details"));
    }
    page.prose("all switches: share of all simulated cycles; CPI: cycles per instruction of the whole trace");
    let shown = || findings.designs.iter().take(DESIGNS);
    if time_note(shown().map(scale_to_order)).is_some() {
        page.prose("time: assumes that misses do not overlap; real cores needed between 1/120 of this time and all of it");
    } else if shown().any(has_clock_range) {
        page.prose("time: at the highest and the lowest clock rate of the design");
    }
}

/// Adds a table of the cycles per instruction, for a trace that has no cost of a switch.
fn add_instructions(page: &mut Page, findings: &Findings) {
    page.heading("Cycles per instruction", "");
    let (head, labels) = sweep::labels(findings);
    let grid = Grid::single_line_rows(1)
        .left([head])
        .right(["CPI"])
        .with_rows(
            labels
                .iter()
                .zip(&findings.designs)
                .take(DESIGNS)
                .map(|(name, design)| entries![name, perhaps(cpi(design))]),
        );
    page.grid(grid);
}

/// Returns true if the design has a range of clock rates.
fn has_clock_range(design: &DesignFinding) -> bool {
    design.cycle_ns.is_some_and(|[short, long]| short < long)
}

fn design_row(name: &str, design: &DesignFinding) -> Vec<Entry> {
    let net = design.reported_cost();
    let reported = net.estimate.filter(|_| !net.is_covering_zero());
    entries![
        name,
        with_bound(net),
        ends(net),
        reported.map(|cycles| as_time(cycles, design.cycle_ns)),
        reported.map(|_| share(design.overhead)),
        perhaps(cpi(design))
    ]
}
