use switchcost_analysis::simulation::{DesignFinding, Findings, PlaceFinding, ProcessFinding};

use super::amount::ones;
use super::detailed;
use crate::quantity::{count, number, rounded, share};
use crate::{Entry, Grid, Page};

/// Maximum number of rows for each design.
const SHOWN: usize = 8;

/// Adds tables of the excess cycles by program, and by function and variable.
pub(super) fn add(page: &mut Page, findings: &Findings) {
    add_programs(page, findings);
    let title = "Most affected code";
    add_places(
        page,
        findings,
        title,
        "places with the most excess cycles",
        |design| &design.code,
    );
    let title = "Most affected data";
    add_places(
        page,
        findings,
        title,
        "data whose misses cause the excess cycles",
        |design| &design.data,
    );
}

fn add_programs(page: &mut Page, findings: &Findings) {
    let mut grid = Grid::new(2).left(["design", "program"]).right([
        ones(findings.private_by),
        "segments",
        "instructions",
        "CPI: shared",
        "private",
        "excess cycles per switch",
    ]);
    for design in detailed(findings) {
        design
            .processes
            .iter()
            .take(SHOWN)
            .for_each(|process| grid.row(program(&design.name, process)));
    }
    page.table("Programs", "those with the most instructions", grid);
}

fn program(design: &str, process: &ProcessFinding) -> Vec<Entry> {
    entries![
        design,
        &process.name,
        count(process.processes),
        count(process.segments),
        count(process.instructions),
        number(process.shared_cpi),
        number(process.private_cpi),
        rounded(process.excess_cycles_per_switch)
    ]
}

fn add_places(
    page: &mut Page,
    findings: &Findings,
    title: &str,
    what: &str,
    places: fn(&DesignFinding) -> &[PlaceFinding],
) {
    let mut grid = add_place_columns(Grid::new(2).left(["design"]));
    for design in detailed(findings) {
        let row = |found| [entries![&design.name], place(found)].concat();
        places(design)
            .iter()
            .take(SHOWN)
            .for_each(|found| grid.row(row(found)));
    }
    page.table(title, what, grid);
}

/// Adds the columns of a table of functions or variables.
pub(super) fn add_place_columns(grid: Grid) -> Grid {
    grid.left(["program", "place", "line", "after"])
        .right(["excess cycles", "share"])
}

/// Returns the cells of a function or variable.
pub(super) fn place(code: &PlaceFinding) -> Vec<Entry> {
    entries![
        &code.program,
        &code.place,
        code.line.as_deref(),
        &code.cause,
        rounded(code.excess_cycles as f64),
        share(code.share)
    ]
}
