//! Renders the table of claims with their rules, available before anything is run.

use schemars::JsonSchema;
use serde::Serialize;
use switchcost_reproduce::{Entry, Kind, Paper, table};

use crate::for_programs::{Document, OutputFormat, Table};
use crate::format::{Format, InEveryFormat, written};
use crate::page::Page;
use crate::style::Style;

/// Claims of a paper, with the rules that judge them.
#[derive(JsonSchema, Serialize)]
pub(crate) struct Claims {
    /// Claims of each requested paper.
    papers: Vec<PaperClaims>,
}

impl OutputFormat for Claims {
    /// Schema name; version 1 is the first.
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

/// Renders the claims of these papers.
pub fn render_claims(papers: &[Paper], format: Format, style: Style) -> String {
    written(&papers, format, style)
}

impl InEveryFormat for &[Paper] {
    fn add_to(&self, page: &mut Page, _: Style) {
        self.iter().for_each(|paper| add(page, *paper));
        if self.iter().any(|paper| !table(*paper).is_empty()) {
            page.gap();
            page.paragraph(LEGEND);
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
const LEGEND: &str = "tested: reproduced if the rule holds over the whole confidence interval of each number; calibrated: the same, after a \
                      parameter was fitted to the paper; shown: printed for information, without a verdict; own: our claim, not the paper's.";

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

fn add(page: &mut Page, paper: Paper) {
    let claims = table(paper);
    let none = if claims.is_empty() {
        " It makes no claims to test. Without --claims, its table is printed."
    } else {
        ""
    };
    page.paragraph(&format!("{}.{none}", paper.title()));
    for entry in claims {
        page.heading(
            &format!("{}, {}", entry.exhibit, entry.id),
            kind(entry.kind),
        );
        page.item(&entry.statement);
        let words = entry
            .quotation
            .map_or_else(String::new, |words| format!("\"{words}\", "));
        page.item(&format!("Paper: {words}{}", entry.place));
        page.item(&format!("Quantity: {}", entry.quantity));
        page.item(&format!("Rule: {} ({})", entry.rule.words(), entry.bounds));
        if !entry.free.is_empty() {
            page.item(&format!("Fitted: {}", entry.free.join("; ")));
        }
        for reason in entry.reasons {
            page.item(&format!(
                "Possible reason: {}. Tested by {}: {}, {}",
                reason.statement,
                reason.run,
                reason.quantity,
                reason.rule.words()
            ));
        }
    }
}
