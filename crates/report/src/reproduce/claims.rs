//! Renders the claims of papers with the rules that judge them, before anything is run.

use itertools::Itertools;
use schemars::JsonSchema;
use serde::Serialize;
use switchcost_reproduce::{Entry, Kind, Paper, table};

use crate::format::written;
use crate::{Document, Format, InEveryFormat, OutputFormat, Page, Style, Table};

/// Claims of a paper, with the rules that judge them.
#[derive(JsonSchema, Serialize)]
pub(crate) struct Claims {
    /// Claims of each requested paper.
    papers: Vec<PaperClaims>,
}

impl OutputFormat for Claims {
    /// Name of the JSON schema, with its version.
    const NAME: &'static str = "switchcost.claims/1";
}

/// The claims of one paper.
#[derive(JsonSchema, Serialize)]
struct PaperClaims {
    /// Name of the paper.
    paper: Paper,
    /// Claims, as in the table.
    claims: Vec<Entry>,
}

/// Renders the claims of papers in one format, as text that ends in a newline.
pub fn render_claims(papers: &[Paper], format: Format, style: Style) -> String {
    written(&papers, format, style)
}

impl InEveryFormat for &[Paper] {
    fn add_to(&self, page: &mut Page) {
        if page.is_detailed() {
            if self.iter().any(|paper| !table(*paper).is_empty()) {
                page.paragraph(LEGEND);
            }
            self.iter().for_each(|paper| add(page, *paper));
        } else {
            add_in_short(page, self);
        }
    }

    fn document(&self) -> impl Serialize + JsonSchema {
        let papers = self.iter().map(|paper| PaperClaims {
            paper: *paper,
            claims: table(*paper),
        });
        Document::new(Claims {
            papers: papers.collect(),
        })
    }

    fn tables(&self) -> Vec<Table> {
        let names = NAMES.map(str::to_owned).to_vec();
        vec![
            std::iter::once(names)
                .chain(self.iter().flat_map(|paper| rows(*paper)))
                .collect(),
        ]
    }
}

/// Explanation of a rule, and of the kinds of claims.
const LEGEND: &str = "A claim is reproduced if its rule holds over the whole confidence interval of each number. A tested claim \
                      can be refuted by this experiment. A calibrated claim depends on a parameter that the study leaves open, or that was fitted \
                      to the study. A claim that is only shown has numbers, but no verdict. Claims of our own are not the study's.";

/// Maximum number of lines on the screen, without the lines that refer to `--details`.
const MOST_LINES: usize = 41;

const NAMES: [&str; 10] = [
    "paper",
    "exhibit",
    "id",
    "kind",
    "statement",
    "quotation",
    "place",
    "quantity",
    "rule",
    "bounds",
];

fn rows(paper: Paper) -> Vec<Vec<String>> {
    let row = |entry: Entry| {
        let (kind, rule) = (kind(entry.kind).to_owned(), entry.rule.words());
        let quotation = entry.quotation.unwrap_or_default();
        let [exhibit, id, statement] = [entry.exhibit, entry.id, entry.statement];
        vec![
            paper.to_string(),
            exhibit,
            id,
            kind,
            statement,
            quotation,
            entry.place,
            entry.quantity,
            rule,
            entry.bounds,
        ]
    };
    table(paper).into_iter().map(row).collect()
}

pub(super) fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Tested => "tested",
        Kind::Calibrated => "calibrated",
        Kind::Shown => "shown",
        Kind::Own => "own",
    }
}

/// Adds one screen: the number of claims of each paper. A single paper also gets its claims with
/// their rules.
fn add_in_short(page: &mut Page, papers: &[Paper]) {
    match papers {
        [only] => {
            let claims = table(*only);
            page.paragraph(summary(*only, &claims));
            if claims.is_empty() {
                return;
            }
            page.paragraph(introduction(*only, &claims));
            let judged: Vec<(String, String)> = claims.iter().filter_map(pair).collect();
            page.gap();
            let shown = page.explained_up_to(MOST_LINES, &judged);
            page.gap();
            page.paragraph(match (judged.len() - shown, claims.len() - judged.len()) {
                (0, 0) => "--details adds sources and definitions".to_owned(),
                (0, shown) => format!("--details adds sources, definitions, and the {shown} shown without a verdict"),
                (more, 0) => format!("--details adds sources, definitions, and {more} more claims"),
                (more, shown) => format!(
                    "--details adds sources, definitions, {more} more claims with a rule, and the {shown} shown without a verdict"
                ),
            });
        }
        several => {
            for paper in several {
                page.prose(format!("{paper}: {}", summary(*paper, &table(*paper))));
            }
            page.gap();
            page.paragraph(LEGEND);
            page.gap();
            page.paragraph(
                "claims of one study: switchcost reproduce NAME --claims; all claims: --details",
            );
        }
    }
}

/// Returns sentences on the number of claims of a paper, by the way they are judged.
fn summary(paper: Paper, claims: &[Entry]) -> String {
    let count = |kind: Kind| claims.iter().filter(|claim| claim.kind == kind).count();
    let kinds = [
        (count(Kind::Tested), "tested"),
        (count(Kind::Calibrated), "calibrated"),
        (count(Kind::Shown), "shown without a verdict"),
        (count(Kind::Own), "our own"),
    ];
    let kinds = kinds
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .join(", ");
    match claims.len() {
        0 => format!(
            "{}. It has no testable claims; without --claims, its table is measured and printed.",
            paper.title()
        ),
        all => format!("{}. {all} claims: {kinds}.", paper.title()),
    }
}

/// Returns sentences that define the words of a paper's conditions.
fn introduction(paper: Paper, claims: &[Entry]) -> String {
    let mut text =
        "A condition must hold over the whole confidence interval of each number.".to_owned();
    if claims.iter().any(|claim| claim.kind == Kind::Calibrated) {
        text += " A calibrated claim depends on a parameter that the study leaves open, or that was fitted to the \
                 study; it is judged for all values of the parameter.";
    }
    format!("{text} {}", paper.legend())
}

/// Returns a claim and its rule as sentences; `None` for a claim that is only shown.
fn pair(entry: &Entry) -> Option<(String, String)> {
    let kind = match entry.kind {
        Kind::Shown => return None,
        Kind::Own => "Our own claim",
        Kind::Tested | Kind::Calibrated => "Claim",
    };
    Some((format!("{kind}: {}.", entry.statement), rule(entry)?))
}

/// Formats the rule of a claim as a sentence; `None` if the claim has no rule.
fn rule(entry: &Entry) -> Option<String> {
    Some(format!("Reproduced if {}.", entry.condition()?))
}

fn add(page: &mut Page, paper: Paper) {
    let claims = table(paper);
    page.paragraph(summary(paper, &claims));
    for entry in claims {
        let rule = rule(&entry);
        page.heading(format!("{}, {}", entry.exhibit, entry.id), kind(entry.kind));
        page.item(&entry.statement);
        let words = entry
            .quotation
            .map_or_else(String::new, |words| format!("\"{words}\", "));
        page.item(format!("Source: {words}{}", entry.place));
        page.item(format!("Quantity: {}", entry.quantity));
        page.items(rule);
        page.item(format!("Range: {} ({})", entry.rule.words(), entry.bounds));
        if !entry.free.is_empty() {
            page.item(format!("Fitted: {}", entry.free.join("; ")));
        }
        for reason in entry.reasons {
            page.item(format!(
                "Possible reason, if not reproduced: {}. Tested by {}: {}, {}",
                reason.statement,
                reason.run,
                reason.quantity,
                reason.rule.words()
            ));
        }
    }
}
