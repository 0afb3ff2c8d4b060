//! Renders reproductions on one screen: the number of reproduced claims of each paper, the main
//! figure, and the claims that are not reproduced.

mod figure;

use switchcost_reproduce::{Claim, Verdict};

use super::Reproduction;
use crate::Page;

/// Maximum number of lines on the screen up to the end of a list of claims. Lists after this line
/// show their first entry only.
const MOST_LINES: usize = 35;

/// Maximum number of commands without a result that are named on the screen.
const MOST_FAILED: usize = 3;

/// Adds the screen for all papers to a page.
pub(super) fn add(page: &mut Page, reproductions: &[Reproduction<'_>]) {
    match reproductions {
        [alone] => super::add_answer(page, alone),
        several => {
            for reproduction in several {
                let title = reproduction.paper.title();
                page.paragraph(format!("{title}: {}", reproduction.answer()));
            }
        }
    }
    if let Some(reproduction) = reproductions.first() {
        page.prose(format!("Machine: {}.", reproduction.machine));
    }
    let commands = reproductions
        .iter()
        .flat_map(|reproduction| reproduction.commands);
    let failed = commands.filter_map(|command| Some((command, command.missing.as_ref()?)));
    for (command, why) in failed.take(MOST_FAILED) {
        page.item(format!("no result of `{}`: {why}", command.line));
    }
    let is_alone = reproductions.len() == 1;
    if let [alone] = reproductions {
        super::add_chance(page, alone);
        figure::add(page, alone.exhibits);
    }
    if reproductions
        .iter()
        .all(|reproduction| reproduction.is_judged)
    {
        add_claims(page, reproductions, Verdict::Differs);
        add_claims(page, reproductions, Verdict::Inconclusive);
        if is_alone {
            add_claims(page, reproductions, Verdict::Holds);
        }
    }
    page.gap();
    page.line("full report, with reasons and commands: --details");
}

/// Adds the claims with the verdict `wanted`, up to line [`MOST_LINES`] of the screen.
fn add_claims(page: &mut Page, reproductions: &[Reproduction<'_>], wanted: Verdict) {
    let is_alone = reproductions.len() == 1;
    let title = match wanted {
        Verdict::Holds => "Reproduced",
        Verdict::Differs => "Not reproduced",
        Verdict::Inconclusive | Verdict::NotMeasured => "Inconclusive",
    };
    let mut lines = Vec::new();
    for reproduction in reproductions {
        for exhibit in reproduction.exhibits {
            for claim in exhibit
                .claims
                .iter()
                .filter(|claim| claim.verdict == wanted && claim.counts())
            {
                let paper = if is_alone {
                    String::new()
                } else {
                    format!("{}, ", reproduction.paper)
                };
                lines.push(line(&format!("{paper}{}", exhibit.name), claim));
            }
        }
    }
    if !lines.is_empty() {
        page.heading(title, "");
        page.items_up_to(MOST_LINES, &lines);
    }
}

/// Formats a claim as one line with its statement. A claim that is not reproduced also has the
/// numbers found and the reason, or what is missing.
fn line(place: &str, claim: &Claim) -> String {
    let statement = &claim.entry.statement;
    match (&claim.missing, claim.verdict) {
        (_, Verdict::Holds) => format!("{place}: {statement}"),
        (Some(why), _) if claim.found.is_empty() => format!("{place}: {statement}. Missing: {why}"),
        // This result alone would decide the claim, but other results disagree.
        (Some(why), _) if claim.alone.is_decided() => {
            format!("{place}: {statement}. Found: {}; {why}", claim.found)
        }
        _ => {
            let reason = claim
                .why_not
                .as_ref()
                .map(|why| format!(". Why: {why}"))
                .unwrap_or_default();
            format!("{place}: {statement}. Found: {}{reason}", claim.found)
        }
    }
}
