//! Common parts of the rows of all result tables.

use switchcost_analysis::{CaseFinding, Estimate, LosesMore, SharedCache, Verdict};

use crate::entry::{Entry, Tone};
use crate::page::Page;
use crate::quantity::NO_NUMBER;

/// Emphasis of a result's cells.
pub(super) fn tone(finding: &CaseFinding) -> Tone {
    match finding.verdict {
        Verdict::Measured => Tone::Usual,
        Verdict::Suspect => Tone::Suspect,
        Verdict::NotMeasured { .. } => Tone::Bad,
    }
}

/// Whether the result has numbers.
pub(super) fn has_numbers(finding: &CaseFinding) -> bool {
    !matches!(finding.verdict, Verdict::NotMeasured { .. })
}

/// Returns a cell with an estimate, or a dash if the result has none.
pub(super) fn estimate(
    finding: &CaseFinding,
    estimate: Option<&Estimate>,
    text: fn(&Estimate) -> String,
) -> Entry {
    Entry::new(estimate.map_or(NO_NUMBER.to_owned(), text), tone(finding))
}

/// Formats the number of samples left out, and of all samples.
pub(super) fn excluded(finding: &CaseFinding) -> String {
    format!("{}/{}", finding.excluded.total, finding.excluded.of)
}

/// Marks a text with a star if the result is suspect, because not every reader sees colour.
pub(super) fn starred(finding: &CaseFinding, text: &str) -> String {
    if finding.verdict == Verdict::Suspect {
        format!("{text} *")
    } else {
        text.to_owned()
    }
}

/// Adds the explanation of the stars to a table that has any.
pub(super) fn add_star_legend<'a>(
    page: &mut Page,
    mut findings: impl Iterator<Item = &'a CaseFinding>,
) {
    if findings.any(|finding| finding.verdict == Verdict::Suspect) {
        page.prose("* suspect: see the notes below");
    }
}

/// Returns words for the way of sharing that loses more.
pub(super) fn loses_more(one: &SharedCache) -> &'static str {
    match (&one.why, one.loses_more) {
        (Some(_), _) => "not compared",
        (None, LosesMore::InTurn) => "time-shared",
        (None, LosesMore::AtOnce) => "concurrent",
        (None, LosesMore::Undecided) => "undecided",
    }
}
