//! Renders one page of Markdown for a paper: its claims in its own words, next to the published
//! numbers and those found here, each with its figure.

use std::fmt::Write;

use switchcost_reproduce::{Claim, Exhibit, Kind, Rule, Verdict};

use super::{Cell, Reproduction, chart, counted, word};
use crate::quantity::NO_NUMBER;
use crate::slug::slug;

/// Largest table of a paper that is printed, in rows and columns; the site has larger ones.
const MOST_ROWS: usize = 40;
const MOST_COLUMNS: usize = 12;

/// Most numbers of a claim that are printed; the rest are in the JSON.
const MOST_NUMBERS: usize = 4;

/// Renders the page. Links to figures are those of `--figures`.
pub fn render_markdown(reproduction: &Reproduction<'_>) -> String {
    let paper = reproduction.paper;
    let mut page = format!(
        "# {}\n\n{}.\n\nResult: {}",
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
        "\n\nMachine of the records: {}. Intervals are 90 % confidence intervals. `switchcost reproduce {paper} --claims` prints how each \
         number is computed, and the source of each rule.\n",
        reproduction.machine
    );
    for exhibit in reproduction.exhibits {
        if !exhibit.claims.is_empty() || is_table(exhibit) {
            add_exhibit(&mut page, reproduction, exhibit);
        }
    }
    page
}

/// Whether the exhibit is a short table of the paper's, and not the points of a figure.
fn is_table(exhibit: &Exhibit) -> bool {
    let is_of_paper = exhibit.name.starts_with("Table") || exhibit.name == "Context switching";
    let is_small =
        exhibit.table.rows.len() <= MOST_ROWS && exhibit.table.columns.len() <= MOST_COLUMNS;
    is_of_paper && exhibit.chart.is_none() && is_small
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
        page.push_str("| claim | published | rule | here | verdict |\n|---|---|---|---|---|\n");
        for claim in &exhibit.claims {
            add_row(page, claim_cells(claim));
        }
        page.push('\n');
    }
    if is_table(exhibit) {
        add_table(page, exhibit);
    }
    for note in &exhibit.notes {
        let _ = write!(page, "{note}\n\n");
    }
}

/// Cells of a claim: what the paper says, its numbers, the rule, the numbers found, and the verdict with its reason.
fn claim_cells(claim: &Claim) -> Vec<String> {
    let entry = &claim.entry;
    let quoted = entry.quotation.as_ref();
    let words = quoted.map_or(String::new(), |words| format!("\"{words}\", "));
    let published = entry.published.iter().map(ToString::to_string).collect();
    let verdict = word(claim).0;
    let why = reason(claim);
    vec![
        format!("{} ({words}{})", entry.statement, entry.place),
        first_few(published).join(", "),
        rule(claim),
        numbers(claim),
        if why.is_empty() {
            verdict.to_owned()
        } else {
            format!("{verdict}: {why}")
        },
    ]
}

/// The rule as a range, such as `> 1.00`.
fn rule(claim: &Claim) -> String {
    let words = claim.entry.rule.words();
    let (range, some) = match claim.entry.rule {
        Rule::Every(_) => (words.strip_prefix("every number "), ""),
        Rule::Some(_) => (words.strip_prefix("at least one number "), "one "),
    };
    let Some(range) = range else {
        return String::new();
    };
    let range = range.replace("above", ">").replace("below", "<");
    let range = range.replace("between ", "").replace(" and ", " to ");
    format!("{some}{range}")
}

fn numbers(claim: &Claim) -> String {
    let numbers = claim
        .terms
        .iter()
        .map(switchcost_reproduce::Term::words)
        .collect();
    first_few(numbers).join("; ")
}

/// Replaces all but the first numbers by their count.
fn first_few(mut numbers: Vec<String>) -> Vec<String> {
    let more = numbers.len().saturating_sub(MOST_NUMBERS);
    numbers.truncate(MOST_NUMBERS);
    if more > 0 {
        numbers.push(format!("{more} more"));
    }
    numbers
}

/// Reason for the verdict, if it needs one.
fn reason(claim: &Claim) -> String {
    match (claim.entry.kind, claim.verdict, &claim.missing) {
        (Kind::Shown, ..) => claim.entry.bounds.clone(),
        (_, Verdict::Undecided, Some(missing)) => missing.clone(),
        (_, Verdict::Differs, _) => claim.why_not.clone().unwrap_or_default(),
        _ => String::new(),
    }
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
