use switchcost_reproduce::{Claim, Exhibit, Verdict};

use super::Reproduction;
use crate::Table;

const NAMES: [&str; 11] = [
    "paper",
    "exhibit",
    "title",
    "id",
    "kind",
    "statement",
    "quantity",
    "rule",
    "verdict",
    "found",
    "why",
];

/// Returns a table with a row for each claim of each paper.
pub(super) fn table(reproductions: &[Reproduction<'_>]) -> Table {
    let names = NAMES.map(str::to_owned).to_vec();
    let rows = reproductions.iter().flat_map(|reproduction| {
        let paper = reproduction.paper.to_string();
        let claims = reproduction
            .exhibits
            .iter()
            .flat_map(|exhibit| exhibit.claims.iter().map(move |c| (exhibit, c)));
        claims.map(move |(exhibit, claim)| row(&paper, exhibit, claim))
    });
    std::iter::once(names).chain(rows).collect()
}

fn row(paper: &str, exhibit: &Exhibit, claim: &Claim) -> Vec<String> {
    let verdict = match claim.verdict {
        Verdict::Holds => "holds",
        Verdict::Differs => "differs",
        Verdict::Inconclusive => "inconclusive",
        Verdict::NotMeasured => "not-measured",
    };
    let (entry, rule, why) = (&claim.entry, claim.entry.rule.words(), super::reason(claim));
    let kind = super::claims::kind(entry.kind);
    let cells = [
        paper,
        &exhibit.name,
        &exhibit.title,
        &entry.id,
        kind,
        &entry.statement,
        &entry.quantity,
        &rule,
    ];
    cells
        .into_iter()
        .chain([verdict, &claim.found, &why])
        .map(str::to_owned)
        .collect()
}
