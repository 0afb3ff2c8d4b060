use ::reproduce::{Claim, Exhibit, Shape};

use super::Reproduction;
use crate::for_programs::csv;

const NAMES: [&str; 7] = ["paper", "exhibit", "title", "statement", "verdict", "found", "why"];

/// A line of names, then a row for each claim.
pub(super) fn render(reproductions: &[Reproduction<'_>]) -> String {
    let names = NAMES.map(str::to_owned).to_vec();
    let rows = reproductions.iter().flat_map(|reproduction| {
        let paper = reproduction.paper.to_string();
        let claims = reproduction.exhibits.iter().flat_map(|exhibit| exhibit.claims.iter().map(move |c| (exhibit, c)));
        claims.map(move |(exhibit, claim)| row(&paper, exhibit, claim))
    });
    csv(std::iter::once(names).chain(rows))
}

fn row(paper: &str, exhibit: &Exhibit, claim: &Claim) -> Vec<String> {
    let (verdict, why) = match &claim.shape {
        Shape::Holds => ("holds", ""),
        Shape::Differs(why) => ("differs", why.as_str()),
        Shape::NotShown(why) => ("not-shown", why.as_str()),
    };
    [paper, &exhibit.name, &exhibit.title, &claim.statement, verdict, &claim.found, why].map(str::to_owned).to_vec()
}
