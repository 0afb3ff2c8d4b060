//! Renders the exhibits of a reproduced paper: each published figure and table, and whether its
//! claims are reproduced on this machine.
//!
//! The input is the exhibits of one paper and the commands that were run. The output is sections
//! for a terminal or an HTML page, JSON, or CSV of the claims.

mod chart;
pub(crate) mod claims;
mod csv;
pub(crate) mod json;
mod listed;
mod markdown;
mod screen;

use std::collections::BTreeSet;

use itertools::Itertools;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use switchcost_reproduce::{Cell, Claim, Counts, Exhibit, Kind, Paper, Reason, Verdict, Verdicts};

use crate::format::written;
use crate::quantity::NO_NUMBER;
use crate::slug::slug;
use crate::{Document, Entry, Format, Grid, InEveryFormat, Page, Style, Table, Tone};

pub use claims::render_claims;
pub use listed::{Listed, stored_commands};
pub use markdown::render_markdown;

/// Maximum number of rows of a chart's table in a terminal. Longer tables of charts are only in the
/// HTML page and in JSON.
const ROWS_PRINTED: usize = 40;

/// Length in bytes of the longest reason that is printed in a table's cell.
const SHORT: usize = 30;

/// Maximum number of different reasons listed below a table.
const MOST_REASONS: usize = 4;

/// A command of the reproduction.
#[derive(Clone, Debug, JsonSchema, Serialize, Deserialize)]
pub struct Command {
    /// Name of the command's step and of its output file.
    pub step: String,
    /// The command line, as typed.
    #[serde(rename = "command")]
    pub line: String,
    /// Why the command left no record; `None` if it did.
    pub missing: Option<String>,
}

/// A paper with the results of its reproduction.
#[derive(Clone, Copy, Debug, JsonSchema, Serialize)]
pub struct Reproduction<'a> {
    /// Name of the paper.
    pub paper: Paper,
    /// Authors, title, and place and date of publication.
    citation: &'static str,
    /// Machine of the reproduction, in one line.
    pub(crate) machine: &'a str,
    /// Whether there are verdicts. `--quick` gives none, because it only shows that the steps work.
    is_judged: bool,
    /// Number of claims by kind and verdict.
    pub(crate) verdicts: Verdicts,
    /// One exhibit for each published figure or table.
    pub(crate) exhibits: &'a [Exhibit],
    /// Commands that were run.
    pub(crate) commands: &'a [Command],
}

impl<'a> Reproduction<'a> {
    /// Creates a reproduction from exhibits and commands. `machine` describes the machine of the
    /// runs.
    pub fn new(
        paper: Paper,
        exhibits: &'a [Exhibit],
        commands: &'a [Command],
        machine: &'a str,
    ) -> Self {
        let (citation, verdicts) = (paper.citation(), Verdicts::count(exhibits));
        Reproduction {
            paper,
            citation,
            machine,
            is_judged: true,
            verdicts,
            exhibits,
            commands,
        }
    }

    /// Returns sentences on the number of reproduced claims.
    fn answer(&self) -> String {
        answer(self.is_judged, &self.verdicts)
    }

    /// Turns verdicts on or off.
    pub fn judged_if(self, is_judged: bool) -> Self {
        Reproduction { is_judged, ..self }
    }
}

/// Renders reproductions in one format, as text that ends in a newline. CSV has a row for each
/// claim.
pub fn render(reproductions: &[Reproduction<'_>], format: Format, style: Style) -> String {
    written(&reproductions, format, style)
}

impl InEveryFormat for &[Reproduction<'_>] {
    fn add_to(&self, page: &mut Page) {
        if page.is_detailed() {
            self.iter().for_each(|reproduction| add(page, reproduction));
        } else {
            screen::add(page, self);
        }
    }

    fn document(&self) -> impl Serialize + JsonSchema {
        Document::new(json::Report {
            version: env!("CARGO_PKG_VERSION"),
            papers: self,
        })
    }

    fn tables(&self) -> Vec<Table> {
        vec![csv::table(self)]
    }
}

/// Adds sentences on the number of reproduced claims of a paper, and the paper's title.
fn add_answer(page: &mut Page, reproduction: &Reproduction<'_>) {
    page.paragraph(reproduction.answer());
    let title = reproduction.paper.title().replacen(':', ",", 1);
    page.prose(format!("Study: {title}."));
}

/// Sentence for reproductions without verdicts.
const ONLY_SHOWN: &str =
    "No claim is judged, because --quick measures too few sizes for too short a time.";

/// Sentence for papers without a judged claim, whose numbers are only compared.
const NO_CLAIMS: &str = "No claim is judged; the numbers are only shown.";

/// Returns a sentence on the number of reproduced claims, or on the reason why no claim is judged.
pub(crate) fn answer(is_judged: bool, verdicts: &Verdicts) -> String {
    if is_judged {
        counted(verdicts)
    } else {
        ONLY_SHOWN.to_owned()
    }
}

/// Adds sentences on whether the verdicts rest on several results, and on how many are expected to
/// be wrong by chance; nothing if no claim is judged.
fn add_chance(page: &mut Page, reproduction: &Reproduction<'_>) {
    if !reproduction.is_judged {
        return;
    }
    let claims = || {
        reproduction
            .exhibits
            .iter()
            .flat_map(|exhibit| &exhibit.claims)
    };
    let wrong = reproduction.verdicts.wrong_by_chance;
    if wrong <= 0.0 {
        return;
    }
    let results = if claims().any(|claim| !claim.others.is_empty()) {
        "Each verdict agrees with the other results"
    } else {
        "These verdicts rest on one result; repeat on another day, and add the other result with --with"
    };
    page.prose(format!(
        "{results}. At most 5 % of the verdicts, or {wrong:.1}, are expected to be wrong by chance."
    ));
}

/// Returns sentences on the tested claims, on the calibrated claims, and on
/// switchcost's own questions. Claims without a verdict are not counted.
fn counted(verdicts: &Verdicts) -> String {
    let Verdicts {
        tested,
        calibrated,
        own,
        ..
    } = verdicts;
    if tested.total() + calibrated.total() + own.total() == 0 {
        return NO_CLAIMS.to_owned();
    }
    let fitted = match tested.total() {
        0 => "calibrated claims",
        _ => "more calibrated claims",
    };
    let sentences = [
        (
            tested,
            "The claim",
            "claims",
            "reproduced here",
            "inconclusive",
        ),
        (
            calibrated,
            "One calibrated claim",
            fitted,
            "consistent with the study",
            "inconclusive",
        ),
        (
            own,
            "Our own claim",
            "claims of our own",
            "true here",
            "open",
        ),
    ];
    let mut sentences = sentences
        .iter()
        .filter(|(counts, ..)| counts.total() > 0)
        .map(|(counts, one, all, yes, open)| sentence(counts, [one, all], [yes, open]));
    sentences.join(" ")
}

/// Returns a sentence on the verdicts of one kind of claims. `subjects` are the subjects for one
/// claim and for several, `predicates` are the predicates for claims that hold and for those that
/// are inconclusive.
fn sentence(counts: &Counts, subjects: [&str; 2], predicates: [&str; 2]) -> String {
    let ([one, all], [yes, open]) = (subjects, predicates);
    let Counts {
        holds,
        differs,
        inconclusive,
    } = *counts;
    match (counts.total(), holds, differs) {
        (1, 1, _) => return format!("{one} is {yes}."),
        (1, _, 1) => return format!("{one} is not {yes}."),
        (1, ..) => return format!("{one} is {open}."),
        _ => {}
    }
    let is = |number: usize| if number == 1 { "is" } else { "are" };
    let first = format!("{holds} of {} {all} {} {yes}", counts.total(), is(holds));
    let others = [(differs, "not"), (inconclusive, open)];
    let others = others
        .iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, what)| format!("{number} {} {what}", is(*number)))
        .collect::<Vec<_>>();
    match &others[..] {
        [] => format!("{first}."),
        [only] => format!("{first}, and {only}."),
        _ => format!("{first}, {}.", others.join(", and ")),
    }
}

fn add(page: &mut Page, reproduction: &Reproduction<'_>) {
    add_answer(page, reproduction);
    add_chance(page, reproduction);
    page.prose(format!("{}.", reproduction.paper.citation()));
    page.prose(format!("Machine: {}.", reproduction.machine));
    for exhibit in reproduction.exhibits {
        add_exhibit(page, reproduction, exhibit);
    }
    if reproduction.is_judged {
        page.heading("Verdicts", "for each claim of the paper");
        page.grid(verdicts(reproduction.exhibits));
    }
    page.method(["reproduction"]);
    add_commands(page, reproduction.commands);
}

fn word(claim: &Claim) -> (&'static str, Tone) {
    let (word, tone) = match claim.verdict {
        Verdict::Holds => ("reproduced", Tone::Good),
        Verdict::Differs => ("not reproduced", Tone::Bad),
        Verdict::Inconclusive => ("inconclusive", Tone::Suspect),
        Verdict::NotMeasured => ("not measured here", Tone::Usual),
    };
    match (claim.entry.kind, claim.verdict) {
        (Kind::Shown, _) => ("shown without a verdict", Tone::Usual),
        (Kind::Own, Verdict::Holds) => ("true here", Tone::Usual),
        (Kind::Own, Verdict::Differs) => ("not true here", Tone::Usual),
        (Kind::Calibrated, Verdict::Holds) => ("consistent after calibration", tone),
        (Kind::Calibrated, Verdict::Differs) => ("not consistent after calibration", tone),
        _ => (word, tone),
    }
}

/// Returns a sentence on the reason why a claim has no verdict, or sentences on the tested reasons
/// why it is not reproduced; empty for other claims.
fn reason(claim: &Claim) -> String {
    match (&claim.missing, claim.verdict) {
        _ if claim.entry.kind == Kind::Shown => format!("No verdict: {}.", claim.entry.bounds),
        (Some(missing), _) if claim.reasons.is_empty() => format!("Missing: {missing}."),
        (Some(missing), _) => format!("Missing: {missing}. {}", reasons(&claim.reasons)),
        (None, Verdict::Differs) if claim.counts() => reasons(&claim.reasons),
        _ => String::new(),
    }
}

fn reasons(reasons: &[Reason]) -> String {
    let one = |reason: &Reason| {
        let word = match reason.verdict {
            Verdict::Holds => "Shown by",
            Verdict::Differs => "Refuted by",
            Verdict::Inconclusive | Verdict::NotMeasured => "Inconclusive in",
        };
        format!(
            "{word} {}: {} ({}).",
            reason.run, reason.statement, reason.found
        )
    };
    if reasons.is_empty() {
        return "No reason found: none was tested.".to_owned();
    }
    let is_shown = reasons
        .iter()
        .any(|reason| reason.verdict == Verdict::Holds);
    let none = (!is_shown).then(|| "No reason found.".to_owned());
    reasons.iter().map(one).chain(none).join(" ")
}

fn verdicts(exhibits: &[Exhibit]) -> Grid {
    let mut grid = Grid::new(1).left([
        "in the paper",
        "claim",
        "here",
        "found",
        "reasons, or what is missing",
    ]);
    for exhibit in exhibits {
        for claim in &exhibit.claims {
            let (word, tone) = word(claim);
            grid.row(entries![
                &exhibit.name,
                &claim.entry.statement,
                Entry::new(word, tone),
                &claim.found,
                reason(claim)
            ]);
        }
    }
    grid
}

fn add_exhibit(page: &mut Page, reproduction: &Reproduction<'_>, exhibit: &Exhibit) {
    page.heading(&exhibit.name, &exhibit.title);
    for note in &exhibit.notes {
        page.prose(note);
    }
    let table = grid(exhibit);
    let is_short = exhibit.table.rows.len() <= ROWS_PRINTED;
    match exhibit
        .chart
        .as_ref()
        .filter(|chart| chart::has_points(chart))
    {
        Some(chart) => {
            page.figure(|| {
                let name = format!("{}-{}", reproduction.paper, slug(&exhibit.name));
                let title = format!("{}: {}", exhibit.name, exhibit.title);
                chart::draw(chart, name, title).numbers(table.clone())
            });
            if !page.has_figures() && is_short {
                page.grid(table);
            }
        }
        None => page.grid(table),
    }
    add_missing(page, exhibit);
    if reproduction.is_judged {
        add_claims(page, &exhibit.claims);
    }
}

/// Adds the reasons for missing numbers that are too long for a cell, each reason once, up to
/// [`MOST_REASONS`].
fn add_missing(page: &mut Page, exhibit: &Exhibit) {
    let cells = exhibit.table.rows.iter().flatten();
    let reasons: BTreeSet<&str> = cells
        .filter_map(|cell| match cell {
            Cell::Missing { why } if why.len() > SHORT => Some(why.as_str()),
            _ => None,
        })
        .collect();
    for why in reasons.into_iter().take(MOST_REASONS) {
        page.item(format!("{NO_NUMBER}: {why}"));
    }
}

fn add_claims(page: &mut Page, claims: &[Claim]) {
    for claim in claims {
        let found = if claim.found.is_empty() {
            String::new()
        } else {
            format!(" Found: {}.", claim.found)
        };
        let free = if claim.entry.free.is_empty() {
            String::new()
        } else {
            format!(" Free: {}.", claim.entry.free.join("; "))
        };
        let (rule, bounds) = (claim.entry.rule.words(), &claim.entry.bounds);
        let (statement, quantity) = (&claim.entry.statement, &claim.entry.quantity);
        let why = reason(claim);
        let verdict = word(claim).0;
        page.item(
            format!(
                "{statement} ({verdict}).{found} Rule: {quantity}: {rule} ({bounds}).{free} {why}"
            )
            .trim_end(),
        );
    }
}

fn grid(exhibit: &Exhibit) -> Grid {
    let rows = &exhibit.table.rows;
    let is_number = |column: usize| {
        rows.iter()
            .any(|row| matches!(row[column], Cell::Number { .. }))
            && !rows
                .iter()
                .any(|row| matches!(&row[column], Cell::Text(text) if !text.is_empty()))
    };
    let names = exhibit.table.columns.iter().enumerate();
    let empty = names.fold(Grid::new(1), |grid, (number, name)| {
        match is_number(number) {
            true => grid.right([name]),
            false => grid.left([name]),
        }
    });
    empty.with_rows(rows.iter().map(|row| row.iter().map(entry)))
}

fn entry(cell: &Cell) -> Entry {
    match cell {
        Cell::Text(text) => Entry::from(text),
        Cell::Number { value, decimals } => Entry::from(format!("{value:.decimals$}")),
        Cell::Missing { why } if why.len() <= SHORT => Entry::new(why, Tone::Suspect),
        // The lines below the table give the reason.
        Cell::Missing { .. } => Entry::new(NO_NUMBER, Tone::Suspect),
    }
}

fn add_commands(page: &mut Page, commands: &[Command]) {
    page.heading(
        "Commands",
        "their records are the source of all numbers above",
    );
    for command in commands {
        page.line(&command.line);
        if let Some(why) = &command.missing {
            page.item(format!("no result: {why}"));
        }
    }
}

#[cfg(test)]
mod tests;
