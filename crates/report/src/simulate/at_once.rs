//! A last level shared in turn and at once: a table, and the same for programs.

use schemars::JsonSchema;
use serde::Serialize;
use switchcost_simulation_result::LastLevelCounts;

use super::amount::{count, share};
use crate::entry::{Entry, Side};
use crate::for_programs::{self, Column, Form, document};
use crate::grid::Grid;
use crate::page::Page;
use crate::{Format, Style};

/// One design's last level in both.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct AtOnce {
    /// In long turns.
    pub in_turn: LastLevelCounts,
    /// A few instructions of each process after another.
    pub at_once: LastLevelCounts,
}

/// A last level shared in turn, and at once.
#[derive(JsonSchema, Serialize)]
pub(crate) struct Report<'a> {
    /// The trace.
    source: &'a str,
    /// Instructions of a turn, where processes take turns.
    in_turn_instructions: u64,
    /// The same where they run at once.
    at_once_instructions: u64,
    /// Each design's last level in both.
    designs: &'a [AtOnce],
}

impl Form for Report<'_> {
    /// Version 1: the first.
    const NAME: &'static str = "switchcost.simulate-at-once/1";
}

/// What last levels miss, as text that ends in a newline; `turns` are the instructions of a turn in both.
pub fn render_at_once(source: &str, turns: [u64; 2], pairs: &[AtOnce], format: Format, style: Style) -> String {
    let [in_turn_instructions, at_once_instructions] = turns;
    match format {
        Format::Table => table(source, turns, pairs, style),
        Format::Json => document(Report { source, in_turn_instructions, at_once_instructions, designs: pairs }),
        Format::Csv => {
            let names = COLUMNS.iter().map(|(name, _)| (*name).to_owned()).collect();
            let rows = pairs.iter().map(|pair| COLUMNS.iter().map(|(_, of)| of(pair)).collect());
            for_programs::csv(std::iter::once(names).chain(rows))
        }
    }
}

const COLUMNS: [Column<AtOnce>; 6] = [
    ("design", |pair| pair.in_turn.design.clone()),
    ("level", |pair| pair.in_turn.level.clone()),
    ("lookups", |pair| pair.in_turn.lookups.to_string()),
    ("misses_alone", |pair| pair.in_turn.alone.to_string()),
    ("misses_in_turn", |pair| pair.in_turn.shared.to_string()),
    ("misses_at_once", |pair| pair.at_once.shared.to_string()),
];

fn more(shared: u64, alone: u64) -> String {
    share((alone > 0).then(|| shared as f64 / alone as f64 - 1.0))
}

fn answer(pair: &AtOnce) -> String {
    let (in_turn, at_once) = (&pair.in_turn, &pair.at_once);
    let filled = in_turn.held.max(at_once.held) as f64 / in_turn.lines.max(1) as f64;
    if filled < switchcost_analysis::simulation::FULL_FROM {
        return format!(
            "The trace is too short to fill the {} of {} ({}): what sharing it costs is not known; trace for longer.",
            in_turn.level,
            in_turn.design,
            share(Some(filled))
        );
    }
    let [more_in_turn, more_at_once] = [in_turn, at_once].map(|one| more(one.shared, one.alone));
    format!(
        "The {} of {} misses {more_in_turn} more often where processes share it in turn than where each has it alone, and \
         {more_at_once} more where they share it at once.",
        in_turn.level, in_turn.design
    )
}

fn table(source: &str, [in_turn, at_once]: [u64; 2], pairs: &[AtOnce], style: Style) -> String {
    let mut page = Page::new(style);
    page.paragraph(&pairs.first().map_or_else(|| "No design was simulated.".to_owned(), answer));
    page.heading(
        "A shared last level",
        &format!(
            "{source}: misses of the last level, behind first levels of each process's own; in turns of {} instructions, and of \
             {}, which stand for all processes at once",
            count(in_turn),
            count(at_once)
        ),
    );
    let mut grid = Grid::new(2);
    grid.column("design", Side::Left);
    grid.column("level", Side::Left);
    for name in ["lookups", "alone", "in turn", "more", "at once", "more"] {
        grid.column(name, Side::Right);
    }
    for pair in pairs {
        let (one, other) = (&pair.in_turn, &pair.at_once);
        let cells: [Entry; 8] = [
            one.design.as_str().into(),
            one.level.as_str().into(),
            count(one.lookups).into(),
            count(one.alone).into(),
            count(one.shared).into(),
            more(one.shared, one.alone).into(),
            count(other.shared).into(),
            more(other.shared, other.alone).into(),
        ];
        grid.row(cells.into());
    }
    page.grid(&grid);
    page.method(&["reordering"]);
    page.finish()
}
