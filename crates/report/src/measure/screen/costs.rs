use itertools::Itertools;
use switchcost_analysis::{CaseFinding, Findings};
use switchcost_record::{Between, Case, Policy};

use crate::measure::conditions::placement;
use crate::measure::conditions::scheduler;
use crate::measure::row::{has_numbers, marked, starred, tone, unmeasured_cell};
use crate::quantity::{is_cost, plus_minus, range, time, with_bound};
use crate::{Entry, Grid, Page};

/// Maximum number of rows on a screen that has other tables, too.
const MOST_ROWS: usize = 14;

/// Policy of the first case, and whether the cases differ in CPUs or in the number of tasks. Rows
/// name only conditions that differ.
struct Usual {
    policy: Policy,
    has_several_places: bool,
    has_several_rings: bool,
}

/// A row of the table: the costs of a mechanism between processes and between threads.
struct Row<'a> {
    name: String,
    process: Option<&'a CaseFinding>,
    thread: Option<&'a CaseFinding>,
}

/// Adds a row for each kernel mechanism in ascending order of cost, and a line with the user-space
/// mechanisms.
pub(super) fn add(page: &mut Page, findings: &Findings) {
    let direct: Vec<&CaseFinding> = findings
        .results
        .iter()
        .filter(|finding| finding.case.working_set.is_empty())
        .collect();
    let (user, kernel): (Vec<_>, Vec<_>) = direct
        .into_iter()
        .partition(|f| f.case.between == Between::User);
    if !kernel.is_empty() {
        let rows = rows(&kernel);
        page.table(
            "Cost of a switch",
            "without data",
            grid(&rows[..rows.len().min(MOST_ROWS)]),
        );
        page.more(rows.len(), MOST_ROWS);
    }
    if !user.is_empty() {
        let mut user = user;
        user.sort_by(|a, b| most(a).total_cmp(&most(b)));
        let one = |finding: &&CaseFinding| {
            let cost = cost(finding).map_or("not measured".to_owned(), |(cost, _)| cost);
            format!("{} {cost}", starred(finding, &finding.case.name()))
        };
        page.prose(format!(
            "user-level, in one thread: {}",
            user.iter().map(one).join(", ")
        ));
    }
}

fn rows<'a>(findings: &[&'a CaseFinding]) -> Vec<Row<'a>> {
    let first = &findings[0].case;
    let differs =
        |value: &dyn Fn(&Case) -> bool| findings.iter().any(|finding| value(&finding.case));
    let usual = Usual {
        policy: first.policy,
        has_several_places: differs(&|case| case.placement != first.placement),
        has_several_rings: differs(&|case| case.tasks != first.tasks),
    };
    let mut rows: Vec<Row<'a>> = Vec::new();
    for finding in findings {
        let name = name(finding, &usual);
        let at = rows
            .iter()
            .position(|row| row.name == name)
            .unwrap_or_else(|| {
                rows.push(Row {
                    name,
                    process: None,
                    thread: None,
                });
                rows.len() - 1
            });
        let slot = if finding.case.between == Between::Thread {
            &mut rows[at].thread
        } else {
            &mut rows[at].process
        };
        slot.get_or_insert(finding);
    }
    let cost = |row: &Row<'_>| row.process.or(row.thread).map_or(f64::INFINITY, centre);
    rows.sort_by(|a, b| cost(a).total_cmp(&cost(b)));
    rows
}

fn name(finding: &CaseFinding, usual: &Usual) -> String {
    let case = &finding.case;
    let mut name = case.name();
    if let Some(vectors) = case.vectors {
        name += &format!(" ({} of registers)", vectors.xsave_bytes);
    }
    if case.policy != usual.policy {
        name += &format!(", {}", scheduler(case.policy));
    }
    if usual.has_several_rings {
        name += &format!(", {} tasks", case.tasks);
    }
    if usual.has_several_places {
        name += &format!(", {}", placement(case));
    }
    name
}

fn grid(rows: &[Row<'_>]) -> Grid {
    let mut grid =
        Grid::new(1)
            .left([""])
            .right(["processes", "+-", "threads", "+-", "plausible range"]);
    for row in rows {
        let cells = [row.process, row.thread]
            .into_iter()
            .flat_map(|finding| match finding {
                None => [Entry::default(), Entry::default()],
                Some(finding) => cells(finding),
            });
        let plausible = row
            .process
            .or(row.thread)
            .and_then(|finding| finding.sanity_band_ns);
        let plausible = plausible.map(|band| range((band.low, band.high), time));
        grid.row(
            std::iter::once(Entry::from(row.name.as_str()))
                .chain(cells)
                .chain([plausible.unwrap_or_default().into()]),
        );
    }
    grid
}

fn cells(finding: &CaseFinding) -> [Entry; 2] {
    match cost(finding) {
        Some((cost, around)) => [marked(finding, &cost), Entry::new(around, tone(finding))],
        None => [unmeasured_cell(finding), Entry::default()],
    }
}

/// Formats a result's cost or its upper limit, and half the width of its interval; `None` if it was
/// not measured.
fn cost(finding: &CaseFinding) -> Option<(String, String)> {
    let cost = finding.deciding().filter(|_| has_numbers(finding))?;
    Some((with_bound(cost), plus_minus(cost)))
}

/// Returns a result's cost in ns, or its upper limit if the interval covers 0; infinite if it was
/// not measured.
fn most(finding: &CaseFinding) -> f64 {
    let cost = finding.deciding().filter(|cost| !is_cost(cost));
    cost.map_or(centre(finding), |cost| cost.high)
}

fn centre(finding: &CaseFinding) -> f64 {
    finding
        .deciding()
        .filter(|_| has_numbers(finding))
        .map_or(f64::INFINITY, |cost| cost.estimate)
}
