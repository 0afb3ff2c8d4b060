//! Shows the reload of working sets after a switch, walk by walk.

use switchcost_analysis::{CaseFinding, Findings};
use switchcost_units::Bytes;

use super::conditions::{AWAY, Condition, MECHANISM, RUN, WALK, split};
use super::figures;
use super::notes::Numbering;
use super::row::{add_star_legend, estimate, excluded, has_numbers, starred, tone};
use crate::entry::Entry;
use crate::grid::Grid;
use crate::page::Page;
use crate::quantity::{centre, ordinal, plus_minus, time, with_bound, with_interval};

/// Maximum number of rows that fit on a screen with the other tables.
const MOST_ROWS: usize = 20;

/// Results of cases that measure the reload.
pub(super) fn members(findings: &Findings) -> Vec<&CaseFinding> {
    findings
        .results
        .iter()
        .filter(|finding| finding.case.away.is_some())
        .collect()
}

/// Adds the table of reloads, and the figure.
pub(super) fn add(page: &mut Page, findings: &Findings) {
    let Some((rows, varying)) = begun(page, findings) else {
        return;
    };
    page.figure(|| figures::reload(&rows));
    page.grid(&grid(&rows, &varying, &Numbering::new(&findings.results)));
    page.prose(
        "1st, 2nd, ...: extra time of this traversal after the switch, above a settled one (the mean of the last three); reload: \
         their sum; total: reload plus hand-off; away: data that other tasks touch in between",
    );
    add_star_legend(page, rows.into_iter());
    page.method(&["reload"]);
}

/// Adds a shorter table of reloads, for one screen.
pub(super) fn add_short(page: &mut Page, findings: &Findings) {
    let Some((rows, varying)) = begun(page, findings) else {
        return;
    };
    page.grid(&short(&rows[..rows.len().min(MOST_ROWS)], &varying));
    page.prose("1st, 2nd, 3rd: extra time of this traversal after the switch, above a settled one; reload: their sum; away: data that other tasks touch in between");
    if rows.len() > MOST_ROWS {
        page.prose(&format!("and {} more: --details", rows.len() - MOST_ROWS));
    }
}

/// Adds the heading, and returns the results with the conditions that differ between them; `None`
/// without results.
fn begun<'a>(
    page: &mut Page,
    findings: &'a Findings,
) -> Option<(Vec<&'a CaseFinding>, Vec<Condition>)> {
    let rows = members(findings);
    let cases: Vec<_> = rows.iter().map(|finding| &finding.case).collect();
    let conditions: Vec<Condition> = MECHANISM.iter().chain(&RUN).chain(&WALK).copied().collect();
    let (varying, common) = split(&conditions, &cases);
    (!rows.is_empty()).then(|| {
        page.heading("Reload after a switch", &common.join(", "));
        (rows, varying)
    })
}

fn short(findings: &[&CaseFinding], varying: &[Condition]) -> Grid {
    let mut grid = Grid::new(varying.len() + 2)
        .left(varying.iter().map(|condition| condition.name))
        .right([
            "size", AWAY.name, "total", "+-", "hand-off", "reload", "1st", "2nd", "3rd",
        ]);
    for finding in findings {
        let mut row: Vec<Entry> = varying
            .iter()
            .map(|condition| Entry::from((condition.value)(&finding.case)))
            .collect();
        row.extend([
            finding.case.working_set.size_bytes.to_string().into(),
            (AWAY.value)(&finding.case).into(),
        ]);
        match (&finding.total_ns, &finding.reload) {
            (Some(total), Some(reload)) if has_numbers(finding) => {
                row.push(Entry::new(
                    starred(finding, &with_bound(total)),
                    tone(finding),
                ));
                row.push(plus_minus(total).into());
                let parts = [
                    finding.handoff_ns.as_ref(),
                    finding.indirect_reload_ns.as_ref(),
                ];
                let walks = (0..3).map(|place| reload.walks_ns.get(place));
                row.extend(
                    parts
                        .into_iter()
                        .chain(walks)
                        .map(|part| part.map(with_bound).unwrap_or_default().into()),
                );
            }
            _ => row.push(Entry::new("not measured", tone(finding))),
        }
        grid.row(row);
    }
    grid
}

fn grid(findings: &[&CaseFinding], varying: &[Condition], notes: &Numbering) -> Grid {
    let reported = findings
        .iter()
        .filter_map(|f| f.reload.as_ref())
        .map(|reload| reload.walks_ns.len())
        .max()
        .unwrap_or(0);
    Grid::new(varying.len() + 2)
        .left(varying.iter().map(|condition| condition.name))
        .right(["size", AWAY.name, "total", "hand-off", "reload"])
        .right((0..reported).map(ordinal))
        .right(["settled", "excluded"])
        .left(["notes"])
        .with_rows(
            findings
                .iter()
                .map(|finding| row(finding, varying, reported, notes)),
        )
}

fn row(
    finding: &CaseFinding,
    varying: &[Condition],
    reported: usize,
    notes: &Numbering,
) -> Vec<Entry> {
    let case = &finding.case;
    let mut row: Vec<Entry> = varying
        .iter()
        .map(|condition| Entry::from((condition.value)(case)))
        .collect();
    row.push(Entry::new(
        starred(finding, &case.working_set.size_bytes.to_string()),
        tone(finding),
    ));
    row.push((AWAY.value)(case).into());
    match finding.reload.as_ref().filter(|_| has_numbers(finding)) {
        Some(reload) => {
            row.push(estimate(finding, finding.total_ns.as_ref(), with_interval));
            row.push(estimate(finding, finding.handoff_ns.as_ref(), centre));
            row.push(Entry::from(
                finding
                    .indirect_reload_ns
                    .as_ref()
                    .map(with_bound)
                    .unwrap_or_default(),
            ));
            row.extend((0..reported).map(|place| {
                Entry::from(
                    reload
                        .walks_ns
                        .get(place)
                        .map(with_bound)
                        .unwrap_or_default(),
                )
            }));
            row.push(time(reload.settled_ns.estimate).into());
        }
        None => {
            row.push(Entry::new("not measured", tone(finding)));
            row.extend(std::iter::repeat_n(Entry::from(""), reported + 3));
        }
    }
    row.push(excluded(finding).into());
    row.push(Entry::new(notes.numbers(finding), tone(finding)));
    row
}

/// Returns a sentence on the largest reload.
pub(super) fn describe_reload(findings: &Findings) -> Option<String> {
    let largest = members(findings)
        .into_iter()
        .filter(|finding| has_numbers(finding) && finding.total_ns.is_some())
        .max_by_key(|finding| (finding.case.working_set.size_bytes, finding.case.away))?;
    let (size, away) = (
        largest.case.working_set.size_bytes,
        largest.case.away.unwrap_or(Bytes(0)),
    );
    let total = largest.total_ns.as_ref().map(with_interval)?;
    let reload = largest.indirect_reload_ns.as_ref().map(with_bound)?;
    let first = largest.reload.as_ref()?.walks_ns.first().map(with_bound)?;
    Some(format!(
        "A switch away and back costs a task with {size} of data {total}, if the other task touches {away}. Reloading its data \
         takes {reload} of this ({first} in the first traversal)"
    ))
}
