use switchcost_analysis::{CaseFinding, Estimate, Findings};
use switchcost_record::Case;

use super::conditions::{Condition, MECHANISM, RUN, WALK, split};
use super::notes::Numbering;
use super::row::{add_star_legend, estimate, excluded, has_numbers, starred, tone};
use crate::entry::Entry;
use crate::grid::Grid;
use crate::page::Page;
use crate::quantity::{centre, time, with_bound, with_interval};

/// Adds the table of results with a working set.
pub(super) fn add(page: &mut Page, findings: &Findings) {
    let is_compared = |case: &Case| {
        !case.working_set.is_empty() && case.away.is_none() && case.mechanism.hands_over()
    };
    let rows: Vec<_> = findings
        .results
        .iter()
        .filter(|finding| is_compared(&finding.case))
        .collect();
    if rows.is_empty() {
        return;
    }
    let cases: Vec<_> = rows.iter().map(|finding| &finding.case).collect();
    let (mechanism, mut common) = split(&MECHANISM, &cases);
    let (run, run_common) = split(&RUN, &cases);
    let (walk, walk_common) = split(&WALK[2..], &cases);
    common.extend(run_common);
    common.extend(walk_common);
    page.heading("Switches with a working set", &common.join(", "));
    let before: Vec<_> = mechanism.into_iter().chain(run).collect();
    let after: Vec<_> = WALK[..2].iter().copied().chain(walk).collect();
    page.grid(&grid(
        &rows,
        &before,
        &after,
        &Numbering::new(&findings.results),
    ));
    if rows.iter().any(|finding| finding.reload_bound_ns.is_some()) {
        page.prose(
            "reload bound: the most that reloading all lost lines can cost, by latencies of this run",
        );
    }
    add_star_legend(page, rows.into_iter());
}

/// Creates a table in which conditions of the task precede the size, and conditions of its walk follow it.
fn grid(
    findings: &[&CaseFinding],
    before: &[Condition],
    after: &[Condition],
    notes: &Numbering,
) -> Grid {
    Grid::new(before.len() + 1 + after.len())
        .left(before.iter().map(|condition| condition.name))
        .right(["size"])
        .left(after.iter().map(|condition| condition.name))
        .right([
            "total",
            "direct",
            "indirect (interval)",
            "kernel",
            "reload",
            "reload bound",
            "excluded",
        ])
        .left(["notes"])
        .with_rows(
            findings
                .iter()
                .map(|finding| row(finding, before, after, notes)),
        )
}

fn row(
    finding: &CaseFinding,
    before: &[Condition],
    after: &[Condition],
    notes: &Numbering,
) -> Vec<Entry> {
    let case = &finding.case;
    let value = |condition: &Condition| Entry::from((condition.value)(case));
    let mut row: Vec<Entry> = before.iter().map(value).collect();
    row.push(Entry::new(
        starred(finding, &case.working_set.size_bytes.to_string()),
        tone(finding),
    ));
    row.extend(after.iter().map(value));
    if has_numbers(finding) {
        row.push(estimate(finding, finding.total_ns.as_ref(), |e| {
            interval_below(&centre(e))
        }));
        row.push(estimate(finding, finding.direct_ns.as_ref(), centre));
        row.push(estimate(finding, finding.indirect_ns.as_ref(), |e| {
            interval_below(&with_interval(e))
        }));
        let part = |part: &Option<Estimate>| {
            Entry::from(part.as_ref().map(with_bound).unwrap_or_default())
        };
        row.extend([
            part(&finding.indirect_kernel_ns),
            part(&finding.indirect_reload_ns),
        ]);
        row.push(finding.reload_bound_ns.map(time).unwrap_or_default().into());
    } else {
        row.push(Entry::new("not measured", tone(finding)));
        row.extend(std::iter::repeat_n(Entry::from(""), 5));
    }
    row.push(excluded(finding).into());
    row.push(Entry::new(notes.numbers(finding), tone(finding)));
    row
}

/// Moves the interval of a text that is too long for a column to a second line.
fn interval_below(text: &str) -> String {
    if text.starts_with("not ") {
        text.replacen(" (", "\n(", 1)
    } else {
        text.to_owned()
    }
}
