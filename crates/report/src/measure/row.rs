//! Makes the cells that all tables of results have in common.

use switchcost_analysis::{CaseFinding, Estimate, LosesMore, SharedCache, Verdict};

use super::notes::Numbering;
use crate::quantity::{NO_NUMBER, with_bound};
use crate::{Entry, Page, Tone};

/// Returns the emphasis of a result's cells, by its verdict.
pub(super) fn tone(finding: &CaseFinding) -> Tone {
    match finding.verdict {
        Verdict::Measured => Tone::Usual,
        Verdict::Suspect => Tone::Suspect,
        Verdict::NotMeasured { .. } => Tone::Bad,
    }
}

/// Returns true unless the result was not measured.
pub(super) fn has_numbers(finding: &CaseFinding) -> bool {
    !matches!(finding.verdict, Verdict::NotMeasured { .. })
}

/// Returns a cell with an estimate, or a dash if the result lacks the estimate.
pub(super) fn estimate(
    finding: &CaseFinding,
    estimate: &Option<Estimate>,
    text: fn(&Estimate) -> String,
) -> Entry {
    let text = estimate.as_ref().map_or(NO_NUMBER.to_owned(), text);
    Entry::new(text, tone(finding))
}

/// Returns a cell with an estimate or its upper limit; empty if the result lacks the estimate.
pub(super) fn bound(estimate: &Option<Estimate>) -> Entry {
    estimate.as_ref().map(with_bound).into()
}

/// Returns the cell of a result that was not measured.
pub(super) fn unmeasured_cell(finding: &CaseFinding) -> Entry {
    Entry::new("not measured", tone(finding))
}

/// Returns a cell with a text, which gets a star if the result is suspect.
pub(super) fn marked(finding: &CaseFinding, text: &str) -> Entry {
    Entry::new(starred(finding, text), tone(finding))
}

/// Completes a row with `numbers` in the next `columns` cells, or with a remark that the result was
/// not measured. The last cells are the excluded samples and the numbers of the notes.
pub(super) fn complete(
    mut row: Vec<Entry>,
    finding: &CaseFinding,
    numbers: Option<Vec<Entry>>,
    columns: usize,
    notes: &Numbering,
) -> Vec<Entry> {
    let columns = row.len() + columns;
    row.extend(numbers.unwrap_or_else(|| vec![unmeasured_cell(finding)]));
    row.resize_with(columns, Entry::default);
    let excluded = &finding.excluded;
    row.push(format!("{}/{}", excluded.total, excluded.of).into());
    row.push(Entry::new(notes.numbers(finding), tone(finding)));
    row
}

/// Adds a star to a text if the result is suspect, because not every reader can see the colour.
pub(super) fn starred(finding: &CaseFinding, text: &str) -> String {
    if finding.verdict == Verdict::Suspect {
        format!("{text} *")
    } else {
        text.to_owned()
    }
}

/// Adds the explanation of the stars, if any of the results is suspect.
pub(super) fn add_star_legend<'a>(
    page: &mut Page,
    mut findings: impl Iterator<Item = &'a CaseFinding>,
) {
    if findings.any(|finding| finding.verdict == Verdict::Suspect) {
        page.prose("* suspect: see the notes below");
    }
}

/// Names the way of sharing a cache that costs more: time-shared or concurrent.
pub(super) fn loses_more(one: &SharedCache) -> &'static str {
    match (&one.why, one.loses_more) {
        (Some(_), _) => "not compared",
        (None, LosesMore::InTurn) => "time-shared",
        (None, LosesMore::AtOnce) => "concurrent",
        (None, LosesMore::Inconclusive) => "inconclusive",
    }
}
