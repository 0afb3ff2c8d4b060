//! Shows a last-level cache that processes time-share or use concurrently: a table for people, and
//! JSON and CSV for programs.

use schemars::JsonSchema;
use serde::Serialize;
use switchcost_design::result::LastLevelCounts;

use crate::for_programs::{self, Column};
use crate::format::written;
use crate::quantity::{count, share};
use crate::{Document, Format, Grid, InEveryFormat, OutputFormat, Page, Style, Table};

/// Counts of one design's last level, time-shared and used concurrently.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct AtOnce {
    /// Counts with time-sharing, in long time slices.
    pub in_turn: LastLevelCounts,
    /// Counts with concurrent use, in alternating time slices of a few instructions.
    pub at_once: LastLevelCounts,
}

/// Report on a last level that is time-shared and used concurrently.
#[derive(Clone, Copy, JsonSchema, Serialize)]
pub(crate) struct Report<'a> {
    /// Name of the trace.
    source: &'a str,
    /// Length of a time slice with time-sharing, in instructions.
    in_turn_instructions: u64,
    /// Length of a time slice with concurrent use, in instructions.
    at_once_instructions: u64,
    /// Counts of each design's last level.
    designs: &'a [AtOnce],
}

impl OutputFormat for Report<'_> {
    /// Name of the JSON schema, with its version.
    const NAME: &'static str = "switchcost.simulate-at-once/1";
}

/// Renders the misses of last-level caches as text that ends in a newline. `turns` is the length of
/// a time slice in instructions, first with time-sharing, then with concurrent use.
pub fn render_at_once(
    source: &str,
    turns: [u64; 2],
    pairs: &[AtOnce],
    format: Format,
    style: Style,
) -> String {
    let [in_turn_instructions, at_once_instructions] = turns;
    written(
        &Report {
            source,
            in_turn_instructions,
            at_once_instructions,
            designs: pairs,
        },
        format,
        style,
    )
}

impl InEveryFormat for Report<'_> {
    fn add_to(&self, page: &mut Page) {
        add(page, self);
    }

    fn document(&self) -> impl Serialize + JsonSchema {
        Document::new(*self)
    }

    fn tables(&self) -> Vec<Table> {
        vec![for_programs::table(&COLUMNS, self.designs)]
    }
}

const COLUMNS: [Column; 6] = [
    ("design", "/in_turn/design"),
    ("level", "/in_turn/level"),
    ("lookups", "/in_turn/lookups"),
    ("misses_alone", "/in_turn/alone"),
    ("misses_in_turn", "/in_turn/shared"),
    ("misses_at_once", "/at_once/shared"),
];

fn more(shared: u64, alone: u64) -> String {
    share((alone > 0).then(|| shared as f64 / alone as f64 - 1.0))
}

fn answer(pair: &AtOnce) -> String {
    let (in_turn, at_once) = (&pair.in_turn, &pair.at_once);
    let filled = in_turn.held.max(at_once.held) as f64 / in_turn.lines.max(1) as f64;
    if filled < switchcost_analysis::simulation::FULL_FROM {
        return format!(
            "The trace is too short to fill the {} of design {} ({} full), so the cost of sharing it is unknown. Trace for longer.",
            in_turn.level,
            in_turn.design,
            share(filled)
        );
    }
    let [more_in_turn, more_at_once] = [in_turn, at_once].map(|one| more(one.shared, one.alone));
    format!(
        "If the processes time-share the {} of design {}, it has {more_in_turn} more misses than if each process had its own; \
         if they use it concurrently, {more_at_once} more.",
        in_turn.level, in_turn.design
    )
}

fn add(page: &mut Page, report: &Report<'_>) {
    page.paragraph(
        report
            .designs
            .first()
            .map_or_else(|| "No design was simulated.".to_owned(), answer),
    );
    page.heading(
        "A shared last level",
        format!("misses in {}", report.source),
    );
    let mut grid = Grid::new(2).left(["design", "level"]).right([
        "accesses",
        "misses if private",
        "if time-shared",
        "if used concurrently",
    ]);
    let compared = |counts: &LastLevelCounts| match counts.alone {
        0 => count(counts.shared),
        alone => format!("{} (+{})", count(counts.shared), more(counts.shared, alone)),
    };
    for pair in report.designs {
        let (one, other) = (&pair.in_turn, &pair.at_once);
        grid.row(entries![
            &one.design,
            &one.level,
            count(one.lookups),
            count(one.alone),
            compared(one),
            compared(other),
        ]);
    }
    page.grid(grid);
    page.prose(format!(
        "time-shared: in slices of {} instructions; concurrently: in steps of {} instructions. Each process has its own first levels.",
        count(report.in_turn_instructions),
        count(report.at_once_instructions)
    ));
    page.method(["reordering"]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_fields_of_findings() {
        crate::for_programs::tests::assert_known::<AtOnce>(COLUMNS.map(|(_, path)| path));
    }
}
