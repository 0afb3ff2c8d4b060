//! Shows how working sets are reloaded after a switch: the additional time of each traversal.

use switchcost_analysis::{CaseFinding, Findings, Reload};
use switchcost_units::Bytes;

use super::conditions::{AWAY, Condition, MECHANISM, RUN, WALK, names, split, values};
use super::figures;
use super::notes::Numbering;
use super::row::{
    add_star_legend, bound, complete, estimate, has_numbers, marked, unmeasured_cell,
};
use crate::quantity::{centre, ordinal, plus_minus, time, with_bound, with_interval};
use crate::{Entry, Grid, Page};

/// Maximum number of rows on a screen that has other tables, too.
const MOST_ROWS: usize = 20;

/// Returns the results of cases that measure the reload.
pub(super) fn members(findings: &Findings) -> Vec<&CaseFinding> {
    findings
        .results
        .iter()
        .filter(|finding| finding.case.away.is_some())
        .collect()
}

/// Adds the table of reloads and the figure. The table on a screen is shorter.
pub(super) fn add(page: &mut Page, findings: &Findings) {
    let rows = members(findings);
    let cases: Vec<_> = rows.iter().map(|finding| &finding.case).collect();
    let conditions: Vec<Condition> = MECHANISM.iter().chain(&RUN).chain(&WALK).copied().collect();
    let (varying, common) = split(&conditions, &cases);
    if rows.is_empty() {
        return;
    }
    page.heading("Reload after a switch", common.join(", "));
    if page.is_detailed() {
        page.figure(|| figures::reload(&rows));
        page.grid(grid(&rows, &varying, &Numbering::new(&findings.results)));
        page.prose("1st, 2nd, ...: extra time of this traversal after the switch, above a settled one (the mean of the last three); reload: \
             their sum; total: reload plus hand-off; away: data that other tasks touch in between");
        add_star_legend(page, rows.into_iter());
    } else {
        page.grid(short(&rows[..rows.len().min(MOST_ROWS)], &varying));
        page.prose("1st, 2nd, 3rd: extra time of this traversal after the switch, above a settled one; reload: their sum; away: data that other tasks touch in between");
        page.more(rows.len(), MOST_ROWS);
    }
    page.method(["reload"]);
}

fn short(findings: &[&CaseFinding], varying: &[Condition]) -> Grid {
    let row = |finding: &&CaseFinding| {
        let size = finding.case.working_set.size_bytes.to_string();
        let mut row = keys(finding, varying, size.into());
        match (&finding.total_ns, &finding.reload) {
            (Some(total), Some(reload)) if has_numbers(finding) => {
                row.extend(entries![
                    marked(finding, &with_bound(total)),
                    plus_minus(total),
                    bound(&finding.handoff_ns),
                    bound(&finding.indirect_reload_ns)
                ]);
                row.extend(walks(reload, 3));
            }
            _ => row.push(unmeasured_cell(finding)),
        }
        row
    };
    let columns = [
        "size", AWAY.name, "total", "+-", "hand-off", "reload", "1st", "2nd", "3rd",
    ];
    Grid::new(varying.len() + 2)
        .left(names(varying))
        .right(columns)
        .with_rows(findings.iter().map(row))
}

/// Returns the cells that identify a row: varying conditions, size, and footprint of the other
/// tasks.
fn keys(finding: &CaseFinding, varying: &[Condition], size: Entry) -> Vec<Entry> {
    let away = (AWAY.value)(&finding.case).into();
    values(varying, &finding.case).chain([size, away]).collect()
}

/// Returns the cells of the first `number` traversals after a switch. A traversal that was not
/// measured gives an empty cell.
fn walks(reload: &Reload, number: usize) -> impl Iterator<Item = Entry> {
    (0..number).map(move |place| reload.walks_ns.get(place).map(with_bound).into())
}

fn grid(findings: &[&CaseFinding], varying: &[Condition], notes: &Numbering) -> Grid {
    let reloads = findings.iter().filter_map(|f| f.reload.as_ref());
    let reported = reloads
        .map(|reload| reload.walks_ns.len())
        .max()
        .unwrap_or(0);
    let row = |finding: &&CaseFinding| {
        let size = finding.case.working_set.size_bytes.to_string();
        let row = keys(finding, varying, marked(finding, &size));
        let reload = finding.reload.as_ref().filter(|_| has_numbers(finding));
        let numbers = reload.map(|reload| {
            let mut numbers = entries![
                estimate(finding, &finding.total_ns, with_interval),
                estimate(finding, &finding.handoff_ns, centre),
                bound(&finding.indirect_reload_ns)
            ];
            numbers.extend(walks(reload, reported));
            numbers.push(time(reload.settled_ns.estimate).into());
            numbers
        });
        complete(row, finding, numbers, reported + 4, notes)
    };
    Grid::new(varying.len() + 2)
        .left(names(varying))
        .right(["size", AWAY.name, "total", "hand-off", "reload"])
        .right((0..reported).map(ordinal))
        .right(["settled", "excluded"])
        .left(["notes"])
        .with_rows(findings.iter().map(row))
}

/// Returns a sentence on the reload of the largest working set; `None` if no reload was measured.
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
