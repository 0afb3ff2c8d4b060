//! Shows the misses per thousand instructions of each program in each level of each design.

use switchcost_analysis::simulation::{Findings, ProcessFinding};
use switchcost_design::result::View;

use super::compared;
use crate::quantity::number;
use crate::{Entry, Grid, Page};
use itertools::Itertools;

/// Maximum number of programs listed for each design.
const ALL_PROGRAMS: usize = 32;

/// Adds a table of the misses of each program in each level, with columns for the shared, private
/// and flushed hierarchies.
pub(super) fn add_programs(page: &mut Page, findings: &Findings) {
    let designs = compared(findings);
    let levels = designs.iter().flat_map(|design| &design.levels);
    let levels = levels
        .map(|level| level.level.as_str())
        .unique()
        .collect_vec();
    let mut grid = Grid::single_line_rows(3)
        .left(["design", "program", "hierarchy"])
        .right(levels.iter().copied());
    for design in designs {
        for program in design.processes.iter().take(ALL_PROGRAMS) {
            for (name, view) in VIEWS {
                let cells = levels.iter().map(|level| mpki(program, level, view));
                let cells: Vec<Option<String>> = cells.collect();
                if cells.iter().any(Option::is_some) {
                    let keys = [design.name.as_str(), &program.name, name].map(Entry::from);
                    grid.row(keys.into_iter().chain(cells.into_iter().map(Entry::from)));
                }
            }
        }
    }
    let programs = designs.iter().map(|design| design.processes.len());
    let more = programs.max().unwrap_or(0).saturating_sub(ALL_PROGRAMS);
    let has_rows = !grid.is_empty();
    page.table(
        "MPKI by program",
        "misses per 1,000 instructions of the program",
        grid,
    );
    if has_rows && more > 0 {
        page.prose(format!(
            "and {more} more programs, of fewer instructions: --format json"
        ));
    }
}

const VIEWS: [(&str, View); 3] = [
    ("shared", View::Shared),
    ("private", View::Private),
    ("flushed", View::Flushed),
];

/// Formats the misses of a program per thousand instructions in a level; `None` if unknown.
fn mpki(program: &ProcessFinding, level: &str, view: View) -> Option<String> {
    let found = program.levels.iter().find(|one| one.level == level)?;
    Some(number(*found.mpki.get(view)))
}
