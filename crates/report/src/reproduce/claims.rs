//! Renders the claims of papers with the rules that judge them, before anything is run.

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
            self.iter().for_each(|paper| add(page, *paper));
            if self.iter().any(|paper| !table(*paper).is_empty()) {
                page.gap();
                page.paragraph(LEGEND);
            }
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

/// Explanation of the kinds of claims.
const LEGEND: &str = "tested: reproduced if the rule holds over the whole confidence interval of each number. calibrated: the same, after a \
                      parameter was fitted to the study. shown: its numbers are printed without a verdict. own: a claim of ours, not \
                      of the study.";

/// Maximum number of lines on the screen, without the lines that refer to `--details`.
const MOST_LINES: usize = 38;

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

/// Adds one screen: the number of claims of each paper. A single paper also gets a line for each
/// claim.
fn add_in_short(page: &mut Page, papers: &[Paper]) {
    match papers {
        [only] => {
            let claims = table(*only);
            page.paragraph(summary(*only, &claims));
            if claims.is_empty() {
                return;
            }
            let lines: Vec<String> = claims.iter().map(line).collect();
            page.gap();
            let shown = page.items_up_to(MOST_LINES, &lines);
            if shown < lines.len() {
                page.item(format!("and {} more", lines.len() - shown));
            }
        }
        several => {
            for paper in several {
                page.prose(summary(*paper, &table(*paper)));
            }
        }
    }
    page.gap();
    page.paragraph(LEGEND);
    page.paragraph("with quotations, sources and definitions of the quantities: --details");
}

/// Returns sentences on the number of claims of a paper, by the way they are judged.
fn summary(paper: Paper, claims: &[Entry]) -> String {
    let count = |kind: Kind| claims.iter().filter(|claim| claim.kind == kind).count();
    let kinds = [
        (count(Kind::Tested), "tested"),
        (count(Kind::Calibrated), "calibrated"),
        (count(Kind::Shown), "shown"),
        (count(Kind::Own), "our own"),
    ];
    let kinds: Vec<String> = kinds
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    match claims.len() {
        0 => format!(
            "{}. It makes no claim to test; without --claims, its table is measured and printed.",
            paper.title()
        ),
        all => format!("{}. {all} claims: {}.", paper.title(), kinds.join(", ")),
    }
}

/// Formats a claim and its rule, with a sentence for each.
fn line(entry: &Entry) -> String {
    let statement = &entry.statement;
    let quantity = entry.formula.as_ref().unwrap_or(&entry.quantity);
    let rule = entry.rule.formula(quantity);
    match entry.kind {
        Kind::Tested | Kind::Calibrated => format!("{statement}. Rule: {rule}."),
        Kind::Shown => format!("{statement}. No verdict: {}.", entry.bounds),
        Kind::Own => format!("(own) {statement}. Rule: {rule}."),
    }
}

fn add(page: &mut Page, paper: Paper) {
    let claims = table(paper);
    page.paragraph(summary(paper, &claims));
    for entry in claims {
        page.heading(format!("{}, {}", entry.exhibit, entry.id), kind(entry.kind));
        page.item(&entry.statement);
        let words = entry
            .quotation
            .map_or_else(String::new, |words| format!("\"{words}\", "));
        page.item(format!("Source: {words}{}", entry.place));
        page.item(format!("Quantity: {}", entry.quantity));
        page.item(format!("Rule: {} ({})", entry.rule.words(), entry.bounds));
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
