//! One screen: how many claims of each paper are reproduced, the figure that a paper stands for, and which are not. Reasons, tables and commands are behind
//! `--details` and in the site.

mod figure;

use ::reproduce::{Claim, Shape};

use super::{Reproduction, word};
use crate::entry::Tone;
use crate::page::Page;

/// Lines that a list of claims may fill the screen to: two more lists, with their first entries, follow at most, and where the rest
/// is.
const MOST_LINES: usize = 35;

/// Commands that left nothing, at most.
const MOST_FAILED: usize = 3;

/// Fills the page of all papers.
pub(super) fn add(page: &mut Page, reproductions: &[Reproduction<'_>]) {
    for reproduction in reproductions {
        super::add_answer(page, reproduction);
    }
    if let Some(reproduction) = reproductions.first() {
        page.prose(&format!("Here: {}.", reproduction.machine));
    }
    let commands = reproductions.iter().flat_map(|reproduction| reproduction.commands);
    let failed = commands.filter_map(|command| Some((command, command.missing.as_ref()?)));
    for (command, why) in failed.take(MOST_FAILED) {
        page.item(&format!("{}: left nothing: {why}", command.line));
    }
    let is_alone = reproductions.len() == 1;
    if let [alone] = reproductions {
        figure::add(page, alone.exhibits);
    }
    add_claims(page, reproductions, |shape| matches!(shape, Shape::Differs(_)));
    add_claims(page, reproductions, |shape| matches!(shape, Shape::NotShown(_)));
    if is_alone {
        add_claims(page, reproductions, |shape| matches!(shape, Shape::Holds));
    }
    page.gap();
    page.line("all of it, with reasons and commands: --details, and the site", Tone::Usual);
}

/// The claims of one verdict, as many as fit.
fn add_claims(page: &mut Page, reproductions: &[Reproduction<'_>], is_wanted: impl Fn(&Shape) -> bool) {
    let is_alone = reproductions.len() == 1;
    let mut lines = Vec::new();
    let mut verdict = "";
    for reproduction in reproductions {
        for exhibit in reproduction.exhibits {
            for claim in exhibit.claims.iter().filter(|claim| is_wanted(&claim.shape)) {
                let paper = if is_alone { String::new() } else { format!("{}, ", reproduction.paper) };
                lines.push(line(&format!("{paper}{}", exhibit.name), claim));
                verdict = word(claim).0;
            }
        }
    }
    if !lines.is_empty() {
        page.heading(&capitalised(verdict), "");
        page.items_up_to(MOST_LINES, &lines);
    }
}

/// What was claimed; where it is not reproduced, what was found instead, or what is missing.
fn line(place: &str, claim: &Claim) -> String {
    let statement = &claim.statement;
    match &claim.shape {
        Shape::Holds => format!("{place}: {statement}"),
        Shape::NotShown(why) if claim.found.is_empty() => format!("{place}: {statement}. Missing: {why}"),
        Shape::Differs(_) | Shape::NotShown(_) => format!("{place}: {statement}. Found: {}", claim.found),
    }
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}
