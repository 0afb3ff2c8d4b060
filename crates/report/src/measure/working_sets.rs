use switchcost_analysis::{CaseFinding, Findings};
use switchcost_record::Case;

use super::conditions::{Condition, MECHANISM, RUN, WALK, names, split, values};
use super::notes::Numbering;
use super::row::{add_star_legend, bound, complete, estimate, has_numbers, marked};
use crate::quantity::{centre, time, with_interval};
use crate::{Entry, Grid, Page};

/// Adds the table of results with a working set, without reloads and concurrent accesses.
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
    page.heading("Switches with a working set", common.join(", "));
    let before: Vec<_> = mechanism.into_iter().chain(run).collect();
    let after: Vec<_> = WALK[..2].iter().copied().chain(walk).collect();
    page.grid(grid(
        &rows,
        &before,
        &after,
        &Numbering::new(&findings.results),
    ));
    if rows.iter().any(|finding| finding.reload_bound_ns.is_some()) {
        page.prose("reload bound: the most that reloading all lost lines can cost, by latencies of this run");
    }
    add_star_legend(page, rows.into_iter());
}

/// Creates a table with a row for each result. The columns are the conditions of the tasks, the
/// size, and the conditions of the traversal.
fn grid(
    findings: &[&CaseFinding],
    before: &[Condition],
    after: &[Condition],
    notes: &Numbering,
) -> Grid {
    Grid::new(before.len() + 1 + after.len())
        .left(names(before))
        .right(["size"])
        .left(names(after))
        .right(NUMBERS)
        .right(["excluded"])
        .left(["notes"])
        .with_rows(
            findings
                .iter()
                .map(|finding| row(finding, before, after, notes)),
        )
}

const NUMBERS: [&str; 6] = [
    "total",
    "direct",
    "indirect (interval)",
    "kernel",
    "reload",
    "reload bound",
];

fn row(
    finding: &CaseFinding,
    before: &[Condition],
    after: &[Condition],
    notes: &Numbering,
) -> Vec<Entry> {
    let case = &finding.case;
    let mut row: Vec<Entry> = values(before, case).collect();
    row.push(marked(finding, &case.working_set.size_bytes.to_string()));
    row.extend(values(after, case));
    let numbers = has_numbers(finding).then(|| {
        entries![
            estimate(finding, &finding.total_ns, |e| interval_below(&centre(e))),
            estimate(finding, &finding.direct_ns, centre),
            estimate(finding, &finding.indirect_ns, |e| {
                interval_below(&with_interval(e))
            }),
            bound(&finding.indirect_kernel_ns),
            bound(&finding.indirect_reload_ns),
            finding.reload_bound_ns.map(time)
        ]
    });
    complete(row, finding, numbers, NUMBERS.len(), notes)
}

/// Moves the interval of a long text, such as `not distinguishable from 0 (...)`, to a second line.
fn interval_below(text: &str) -> String {
    if text.starts_with("not ") {
        text.replacen(" (", "\n(", 1)
    } else {
        text.to_owned()
    }
}
