//! Exhibits to text: what each published figure and table shows, and whether it shows here.
//!
//! What comes in: the exhibits of one paper and the commands behind them. What goes out: the same sections for the
//! terminal and for a page, JSON, and CSV of the claims.

mod chart;
mod csv;
mod json;
mod screen;

use ::reproduce::{Cell, Claim, Exhibit, Paper, Shape};

use crate::entry::{Entry, Side, Tone};
use crate::figure::Figure;
use crate::format::{Format, Style};
use crate::grid::Grid;
use crate::page::{Block, Page};
use crate::quantity::NO_NUMBER;
use crate::slug::slug;

pub use json::REPRODUCE_SCHEMA;

/// A longer table of a figure is for the page and the JSON.
const ROWS_PRINTED: usize = 40;

/// A longer reason does not go into a cell.
const SHORT: usize = 30;

/// What became of a command.
#[derive(Clone, Debug)]
pub struct Command {
    /// The step's name, and that of the file that it left.
    pub step: String,
    /// The command line, as one would type it.
    pub line: String,
    /// Why it left nothing; none where it did.
    pub missing: Option<String>,
}

/// One paper, redone.
#[derive(Clone, Copy, Debug)]
pub struct Reproduction<'a> {
    /// Which.
    pub paper: Paper,
    /// Its figures and tables.
    pub exhibits: &'a [Exhibit],
    /// What was run.
    pub commands: &'a [Command],
    /// The machine, in one line.
    pub machine: &'a str,
}

/// Writes them for a terminal, or for programs: one object of JSON, or a row of CSV for each claim.
pub fn render(reproductions: &[Reproduction<'_>], format: Format, style: Style) -> String {
    match format {
        Format::Table => {
            let mut page = Page::new(style);
            if style.is_detailed {
                reproductions.iter().for_each(|reproduction| add(&mut page, reproduction));
            } else {
                screen::add(&mut page, reproductions);
            }
            page.finish()
        }
        Format::Csv => csv::render(reproductions),
        Format::Json => json::render(reproductions),
    }
}

pub(crate) fn blocks(reproduction: &Reproduction<'_>) -> Vec<Block> {
    let mut page = Page::with_figures();
    add(&mut page, reproduction);
    page.into_blocks()
}

/// How many claims are reproduced, are not, and could not be decided.
pub fn tally(exhibits: &[Exhibit]) -> [usize; 3] {
    let mut tally = [0; 3];
    for claim in exhibits.iter().flat_map(|exhibit| &exhibit.claims) {
        tally[match claim.shape {
            Shape::Holds => 0,
            Shape::Differs(_) => 1,
            Shape::NotShown(_) => 2,
        }] += 1;
    }
    tally
}

/// How many claims are reproduced.
fn add_answer(page: &mut Page, reproduction: &Reproduction<'_>) {
    let [hold, differ, open] = tally(reproduction.exhibits);
    let are = |number: usize| if number == 1 { "is" } else { "are" };
    page.paragraph(&format!(
        "{}: of {} claims, {hold} {} reproduced, {differ} {} not reproduced, and {open} {} inconclusive.",
        reproduction.paper.title(),
        hold + differ + open,
        are(hold),
        are(differ),
        are(open),
    ));
}

fn add(page: &mut Page, reproduction: &Reproduction<'_>) {
    add_answer(page, reproduction);
    page.prose(&format!("{}.", reproduction.paper.citation()));
    page.prose(&format!("Here: {}.", reproduction.machine));
    page.heading("Verdicts", "what the paper claims, and whether it is reproduced here");
    page.grid(&verdicts(reproduction.exhibits));
    for exhibit in reproduction.exhibits {
        add_exhibit(page, reproduction.paper, exhibit);
    }
    page.method(&["reproduction"]);
    add_commands(page, reproduction.commands);
}

fn word(claim: &Claim) -> (&'static str, Tone) {
    match claim.shape {
        Shape::Holds => ("reproduced", Tone::Good),
        Shape::Differs(_) => ("not reproduced", Tone::Suspect),
        Shape::NotShown(_) => ("inconclusive", Tone::Bad),
    }
}

fn why(claim: &Claim) -> &str {
    match &claim.shape {
        Shape::Holds => "",
        Shape::Differs(why) | Shape::NotShown(why) => why,
    }
}

fn verdicts(exhibits: &[Exhibit]) -> Grid {
    let mut grid = Grid::new(1);
    for name in ["in the paper", "claim", "here", "found", "a possible reason, or what is missing"] {
        grid.column(name, Side::Left);
    }
    for exhibit in exhibits {
        for claim in &exhibit.claims {
            let (word, tone) = word(claim);
            grid.row(vec![
                Entry::from(&exhibit.name),
                Entry::from(&claim.statement),
                Entry::new(word, tone),
                Entry::from(&claim.found),
                Entry::from(why(claim)),
            ]);
        }
    }
    grid
}

fn add_exhibit(page: &mut Page, paper: Paper, exhibit: &Exhibit) {
    page.heading(&exhibit.name, &exhibit.title);
    for claim in &exhibit.claims {
        let because = why(claim);
        let found = if claim.found.is_empty() { String::new() } else { format!(" Found: {}.", claim.found) };
        let because = match &claim.shape {
            Shape::Holds => String::new(),
            Shape::Differs(_) => format!(" A possible reason: {because}."),
            Shape::NotShown(_) => format!(" Missing: {because}."),
        };
        page.item(&format!("{} ({}).{found}{because}", claim.statement, word(claim).0));
    }
    for note in &exhibit.notes {
        page.prose(note);
    }
    let table = grid(exhibit);
    let is_short = exhibit.table.rows.len() <= ROWS_PRINTED;
    match &exhibit.chart {
        Some(chart) => {
            page.figure(|| {
                Some(Figure {
                    name: format!("{paper}-{}", slug(&exhibit.name)),
                    title: format!("{}: {}", exhibit.name, exhibit.title),
                    caption: chart::caption(chart),
                    drawing: chart::draw(chart),
                    table: Some(table.clone()),
                })
            });
            if !page.has_figures() && is_short {
                page.grid(&table);
            }
        }
        None => page.grid(&table),
    }
}

fn grid(exhibit: &Exhibit) -> Grid {
    let rows = &exhibit.table.rows;
    let is_number = |column: usize| {
        rows.iter().any(|row| matches!(row[column], Cell::Number { .. }))
            && !rows.iter().any(|row| matches!(&row[column], Cell::Text(text) if !text.is_empty()))
    };
    let mut grid = Grid::new(1);
    for (number, name) in exhibit.table.columns.iter().enumerate() {
        grid.column(name, if is_number(number) { Side::Right } else { Side::Left });
    }
    for row in rows {
        grid.row(row.iter().map(entry).collect());
    }
    grid
}

fn entry(cell: &Cell) -> Entry {
    match cell {
        Cell::Text(text) => Entry::from(text),
        Cell::Number { value, decimals } => Entry::from(format!("{value:.decimals$}")),
        Cell::Missing { why } if why.len() <= SHORT => Entry::new(why, Tone::Suspect),
        // The claims say why, and so does the JSON.
        Cell::Missing { .. } => Entry::new(NO_NUMBER, Tone::Suspect),
    }
}

fn add_commands(page: &mut Page, commands: &[Command]) {
    page.heading("Commands", "each leaves a record, from which everything above was computed");
    for command in commands {
        page.line(&command.line, Tone::Usual);
        if let Some(why) = &command.missing {
            page.item(&format!("left nothing: {why}"));
        }
    }
}

#[cfg(test)]
mod tests;
