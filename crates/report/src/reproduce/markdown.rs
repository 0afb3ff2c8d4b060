//! Renders one page of Markdown for a paper: its claims in its own words, next to the published
//! numbers and those found here, each with its figure.

use std::fmt::Write;

use switchcost_reproduce::{Claim, Exhibit, Kind};

use super::{Cell, Reproduction, chart, counted, reason, word};
use crate::quantity::NO_NUMBER;
use crate::slug::slug;

/// Largest table of a paper that is printed whole, in rows.
const MOST_ROWS: usize = 110;

/// Renders the page. Links to figures are those of `--figures`.
pub fn render_markdown(reproduction: &Reproduction<'_>) -> String {
    let paper = reproduction.paper;
    let mut page = format!(
        "# {}\n\n{}.\n\nHere: {}",
        paper.title(),
        paper.citation(),
        if reproduction.is_judged {
            counted(&reproduction.verdicts)
        } else {
            super::ONLY_SHOWN.to_owned()
        }
    );
    let _ = write!(
        page,
        "\n\nMachine of the records: {}.\n",
        reproduction.machine
    );
    for exhibit in reproduction.exhibits {
        if !exhibit.claims.is_empty() || is_published(exhibit) {
            add_exhibit(&mut page, reproduction, exhibit);
        }
    }
    page
}

/// Whether the exhibit is a table of the paper, judged by its name.
fn is_published(exhibit: &Exhibit) -> bool {
    exhibit.chart.is_none()
        && exhibit.name.starts_with("Table")
        && exhibit.table.rows.len() <= MOST_ROWS
}

fn add_exhibit(page: &mut String, reproduction: &Reproduction<'_>, exhibit: &Exhibit) {
    let _ = write!(page, "\n## {}: {}\n\n", exhibit.name, exhibit.title);
    if exhibit.chart.as_ref().is_some_and(chart::has_points) {
        let (paper, name) = (reproduction.paper, slug(&exhibit.name));
        let _ = write!(
            page,
            "![{}](figures/{paper}/figure-r1-{paper}-{name}.svg)\n\n",
            exhibit.title
        );
    }
    if !exhibit.claims.is_empty() {
        page.push_str("| claim | published | here | verdict | why |\n|---|---|---|---|---|\n");
        for claim in &exhibit.claims {
            add_row(page, claim_cells(claim));
        }
        page.push('\n');
    }
    if is_published(exhibit) {
        add_table(page, exhibit);
    }
    for note in &exhibit.notes {
        let _ = write!(page, "{note}\n\n");
    }
}

/// Returns the cells of a claim: the paper's words if they are quoted, its numbers, the numbers
/// found, the verdict, and the rule with the reason.
fn claim_cells(claim: &Claim) -> Vec<String> {
    let entry = &claim.entry;
    let words = entry.quotation.as_ref().map_or_else(
        || format!("{} ({})", entry.statement, entry.place),
        |words| format!("\"{words}\" ({}): {}", entry.place, entry.statement),
    );
    let published: Vec<String> = entry.published.iter().map(ToString::to_string).collect();
    let rule = format!(
        "{}: {} ({}).",
        entry.quantity,
        entry.rule.words(),
        entry.bounds
    );
    let why = match (entry.kind, reason(claim)) {
        (Kind::Shown, why) => why,
        (_, why) if why.is_empty() => rule,
        (_, why) => format!("{why} Rule: {rule}"),
    };
    vec![
        words,
        published.join(", "),
        claim.found.clone(),
        word(claim).0.to_owned(),
        why,
    ]
}

fn add_table(page: &mut String, exhibit: &Exhibit) {
    add_row(page, exhibit.table.columns.clone());
    let _ = writeln!(page, "|{}", "---|".repeat(exhibit.table.columns.len()));
    for row in &exhibit.table.rows {
        add_row(page, row.iter().map(cell).collect());
    }
    page.push('\n');
}

fn cell(cell: &Cell) -> String {
    match cell {
        Cell::Text(text) => text.clone(),
        Cell::Number { value, decimals } => format!("{value:.decimals$}"),
        Cell::Missing { .. } => NO_NUMBER.to_owned(),
    }
}

fn add_row(page: &mut String, cells: Vec<String>) {
    let cells: Vec<String> = cells
        .iter()
        .map(|cell| {
            let plain = cell.replace('<', "&lt;").replace('\n', " ");
            plain.replace('|', "\\|")
        })
        .collect();
    let _ = writeln!(page, "| {} |", cells.join(" | "));
}
