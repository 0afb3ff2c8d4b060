//! Shows misses per thousand instructions, for every design in every level, and for every program.

use switchcost_analysis::simulation::{DesignFinding, Findings};
use switchcost_design::result::{ByView, View};

use super::compared;
use crate::entry::Entry;
use crate::grid::Grid;
use crate::page::Page;
use crate::quantity::number;

/// Maximum number of programs of each design.
const ALL_PROGRAMS: usize = 32;

/// Adds every level of every program on every design, in all three hierarchies.
pub(super) fn add_programs(page: &mut Page, findings: &Findings) {
    let designs = compared(findings);
    let mut table = Levels::with_keys(&["design", "program", "hierarchy"], designs);
    for design in designs {
        for program in design.processes.iter().take(ALL_PROGRAMS) {
            for (name, view) in [
                ("shared", View::Shared),
                ("private", View::Private),
                ("flushed", View::Flushed),
            ] {
                let of = |level: &str| program.levels.iter().find(|one| one.level == level);
                table.keyed(&[&design.name, &program.name, name], |level| {
                    mpki(Some(&of(level)?.mpki), view)
                });
            }
        }
    }
    if !table.grid.is_empty() {
        page.heading(
            "MPKI by program",
            "misses per 1,000 instructions of the program",
        );
        page.grid(&table.grid);
        let more = designs
            .iter()
            .map(|design| design.processes.len())
            .max()
            .unwrap_or(0)
            .saturating_sub(ALL_PROGRAMS);
        if more > 0 {
            page.prose(&format!(
                "and {more} more programs, of fewer instructions: --format json"
            ));
        }
    }
}

/// A table with a column for each level.
struct Levels<'a> {
    names: Vec<&'a str>,
    grid: Grid,
}

impl<'a> Levels<'a> {
    /// Creates a table with all levels of these designs, by first occurrence.
    fn with_keys(keys: &[&str], designs: &'a [DesignFinding]) -> Levels<'a> {
        let mut names: Vec<&str> = Vec::new();
        for level in designs.iter().flat_map(|design| &design.levels) {
            if !names.contains(&level.level.as_str()) {
                names.push(&level.level);
            }
        }
        let grid = Grid::single_line_rows(keys.len())
            .left(keys.iter().copied())
            .right(names.iter().copied());
        Levels { names, grid }
    }

    /// Adds a row, unless no level has a number.
    fn keyed(&mut self, keys: &[&str], of_level: impl Fn(&str) -> Option<String>) {
        let cells: Vec<Option<String>> = self.names.iter().map(|level| of_level(level)).collect();
        if cells.iter().any(Option::is_some) {
            let keys = keys.iter().map(|key| Entry::from(*key));
            self.grid
                .row(keys.chain(cells.into_iter().map(Entry::from)));
        }
    }
}

fn mpki(all: Option<&ByView<f64>>, view: View) -> Option<String> {
    all.map(|all| number(*all.get(view)))
}
