//! Renders a paper as one page of Markdown. Each claim, with its published numbers and the numbers
//! found here, stands below the figure or table that the claim is about.

use std::fmt::Write;

use itertools::Itertools;
use switchcost_reproduce::{Claim, Exhibit, Kind, Rule, Term, Verdict};

use super::{Cell, Reproduction, chart, word};
use crate::quantity::NO_NUMBER;
use crate::slug::slug;

/// Maximum number of rows of a table on the page.
const MOST_ROWS: usize = 16;
const MOST_COLUMNS: usize = 12;

/// Maximum number of a claim's numbers on the page. JSON has all of them.
const MOST_NUMBERS: usize = 4;

/// Renders a reproduction as Markdown. Its links lead to the figures written by `--figures`.
pub fn render_markdown(reproduction: &Reproduction<'_>) -> String {
    let paper = reproduction.paper;
    let mut page = format!(
        "# {}\n\n{}.\n\nResult: {}",
        paper.title(),
        paper.citation(),
        reproduction.answer()
    );
    add_unmet(&mut page, reproduction);
    // The version and the date of the kernel's build follow its release.
    let machine = reproduction.machine.split(" #").next().unwrap_or_default();
    let _ = write!(page, "\n\nMachine and kernel of the records: {machine}.");
    let has_claims = |exhibit: &Exhibit| !exhibit.claims.is_empty();
    if reproduction.exhibits.iter().any(has_claims) {
        let _ = write!(
            page,
            " Intervals have 90 % confidence. `switchcost reproduce {paper} --claims --details` defines numbers and rules."
        );
    }
    page.push('\n');
    for exhibit in reproduction.exhibits {
        if !exhibit.claims.is_empty() || is_table(exhibit) || has_figure(exhibit) {
            add_exhibit(&mut page, reproduction, exhibit);
        }
    }
    page
}

/// Adds a list of the claims that are not reproduced, each with the name of its figure or table.
fn add_unmet(page: &mut String, reproduction: &Reproduction<'_>) {
    let mut unmet = Vec::new();
    for claim in reproduction
        .exhibits
        .iter()
        .flat_map(|exhibit| &exhibit.claims)
    {
        if claim.counts() && claim.verdict == Verdict::Differs {
            unmet.push(format!(
                "{} ({})",
                claim.entry.statement, claim.entry.exhibit
            ));
        }
    }
    if reproduction.is_judged && !unmet.is_empty() {
        let _ = write!(page, " Not true here: {}.", unmet.join("; "));
    }
}

fn has_figure(exhibit: &Exhibit) -> bool {
    exhibit.chart.as_ref().is_some_and(chart::has_points)
}

/// Names of tables that are not numbered, and yet are shown.
const TABLES: [&str; 2] = ["Context switching", "The simulator beside time"];

/// Returns true if the exhibit is a small table, rather than the points of a figure.
fn is_table(exhibit: &Exhibit) -> bool {
    let is_table = exhibit.name.starts_with("Table") || TABLES.contains(&exhibit.name.as_str());
    let is_small =
        exhibit.table.rows.len() <= MOST_ROWS && exhibit.table.columns.len() <= MOST_COLUMNS;
    is_table && exhibit.chart.is_none() && is_small
}

fn add_exhibit(page: &mut String, reproduction: &Reproduction<'_>, exhibit: &Exhibit) {
    let _ = write!(page, "\n## {}: {}\n\n", exhibit.name, exhibit.title);
    if has_figure(exhibit) {
        let (paper, name) = (reproduction.paper, slug(&exhibit.name));
        let _ = write!(
            page,
            "![{}](figures/{paper}/figure-r1-{paper}-{name}.svg)\n\n",
            exhibit.name
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

/// Returns the cells of a claim: the paper's statement, its numbers, the rule, the numbers found
/// here, and the verdict with its reason.
fn claim_cells(claim: &Claim) -> Vec<String> {
    let entry = &claim.entry;
    let quoted = entry.quotation.as_ref();
    let words = quoted.map_or(String::new(), |words| format!("\"{words}\", "));
    let published = entry.published.iter().map(ToString::to_string).collect();
    // The beginning of the page lists the calibrated claims.
    let verdict = match entry.kind {
        Kind::Shown => "",
        _ => word(claim).0.trim_end_matches(" after calibration"),
    };
    let why = reason(claim);
    // The heading gives the name of the figure or table.
    let here = format!("{}, ", entry.exhibit.to_lowercase());
    let place = entry.place.strip_prefix(&here).unwrap_or(&entry.place);
    let place = place.replace("section ", "§");
    vec![
        format!("{} ({words}{place})", entry.statement),
        first_few(published).join(", "),
        rule(claim),
        numbers(claim),
        match (verdict, why.as_str()) {
            (verdict, "") => verdict.to_owned(),
            ("", why) => why.to_owned(),
            (verdict, why) => format!("{verdict}: {why}"),
        },
    ]
}

/// Formats a claim's rule as a range, such as `> 1.00`.
fn rule(claim: &Claim) -> String {
    let words = claim.entry.rule.words();
    let (range, some) = match claim.entry.rule {
        Rule::Every(_) => (words.strip_prefix("every number "), ""),
        Rule::Some(_) => (words.strip_prefix("at least one number "), "at least one "),
    };
    let Some(range) = range else {
        return String::new();
    };
    let range = range.replace("above", ">").replace("below", "<");
    let range = range.replace("between ", "").replace(" and ", " to ");
    format!("{some}{range}")
}

/// Formats the numbers of a claim. A common end of their names is printed once before the numbers,
/// and names do not repeat the claim's subject.
fn numbers(claim: &Claim) -> String {
    let statement = &claim.entry.statement;
    let subject = statement.split_once(':').map_or("", |(subject, _)| subject);
    let mut terms = claim.terms.clone();
    for term in &mut terms {
        let rest = term.name.strip_prefix(subject);
        let rest = rest.and_then(|rest| rest.strip_prefix(", "));
        // As in `Term::words`, for a common end of the names, too.
        term.name = rest.unwrap_or(&term.name).replace(" over ", " / ");
    }
    let shared = shared_end(&terms).unwrap_or_default();
    for term in &mut terms {
        term.name.truncate(term.name.len() - shared.len());
    }
    let numbers = first_few(terms.iter().map(Term::words).collect()).join("; ");
    match shared.trim_start_matches([':', ',', ' ']) {
        "" => numbers,
        shared => format!("{shared}: {numbers}"),
    }
}

/// Returns the end of the names from the first comma or colon, if there are several names and all
/// have the same end; `None` otherwise.
fn shared_end(terms: &[Term]) -> Option<String> {
    let end = |term: &Term| {
        term.name
            .find([',', ':'])
            .map(|at| term.name[at..].to_owned())
    };
    let first = end(terms.first()?)?;
    let is_shared = terms.len() > 1 && terms.iter().all(|term| end(term).as_ref() == Some(&first));
    is_shared.then_some(first)
}

/// Keeps the first two numbers of a long list, and replaces the others by their count.
fn first_few(mut numbers: Vec<String>) -> Vec<String> {
    if numbers.len() > MOST_NUMBERS {
        let more = numbers.len() - 2;
        numbers.truncate(2);
        numbers.push(format!("{more} more"));
    }
    numbers
}

/// Returns the reason for a claim's verdict; empty if none is needed. If several numbers are
/// judged, the number that decides comes first. The interval of a single number stands in the cell
/// before.
fn reason(claim: &Claim) -> String {
    let decides = match (claim.entry.kind, claim.verdict, &claim.missing) {
        (Kind::Shown, ..) => return claim.entry.bounds.clone(),
        (_, Verdict::Inconclusive, Some(missing)) => open_number(claim, missing),
        (_, Verdict::NotMeasured, Some(missing)) => missing.clone(),
        (_, Verdict::Differs, _) if claim.terms.len() > MOST_NUMBERS => {
            claim.unmet_term().map_or(String::new(), Term::words)
        }
        _ => String::new(),
    };
    let parts = [decides, claim.why_not.clone().unwrap_or_default()];
    parts.into_iter().filter(|part| !part.is_empty()).join("; ")
}

/// Returns the number that leaves a claim open, or what is missing.
fn open_number(claim: &Claim, missing: &str) -> String {
    match claim.open_term() {
        Some(_) if !claim.settings.is_empty() => missing.to_owned(),
        Some(_) if claim.terms.len() == 1 => String::new(),
        Some(open) if claim.terms.len() > MOST_NUMBERS => open.words(),
        Some(open) => open.interval_words(),
        None => missing.to_owned(),
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
    let cells = cells
        .iter()
        .map(|cell| {
            let plain = cell.replace('<', "&lt;").replace('\n', " ");
            plain.replace('|', "\\|")
        })
        .join(" | ");
    let _ = writeln!(page, "| {cells} |");
}
