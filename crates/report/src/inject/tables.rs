use switchcost_analysis::Estimate;
use switchcost_analysis::injection::{Findings, FootprintFinding};
use switchcost_record::injection::{Injection, Run};

use super::answer::rate;
use crate::quantity::{NO_NUMBER, count, share, time, with_interval};
use crate::{Entry, Grid, Page};

/// Adds a table with the costs of a preemption for each footprint.
pub(super) fn add_costs(page: &mut Page, findings: &Findings) {
    page.table(
        "Cost of a preemption",
        format!("90 % confidence intervals, at {}", rate(findings)),
        costs(findings),
    );
}

pub(super) fn costs(findings: &Findings) -> Grid {
    if findings.service.is_some() {
        return costs_of_service(findings);
    }
    let mut grid = Grid::new(1).right([
        "preemptor touches",
        "cost (interval)",
        "cold caches",
        "preemptor runs for",
        "preemptions",
        "runs",
    ]);
    findings
        .footprints
        .iter()
        .for_each(|found| grid.row(row(touches(found), found)));
    let moved = findings.moved.iter();
    moved.for_each(|moved| grid.row(row(format!("moved: CPU {}", moved.cpu), &moved.found)));
    grid
}

/// Returns a table of the costs of cold caches. The cost of the switch itself is unknown, because
/// it is equal in both arms.
fn costs_of_service(findings: &Findings) -> Grid {
    let mut grid = Grid::new(1).right([
        "preemptor touches",
        "cold caches (interval)",
        "preemptor runs for",
        "ran before the next",
        "preemptions",
        "groups",
    ]);
    findings.footprints.iter().for_each(|found| {
        grid.row(entries![
            touches(found),
            cell(&found.reload_ns),
            found.away_ns.map_or(NO_NUMBER.to_owned(), time),
            share(found.hit),
            count(found.preemptions),
            found.runs.to_string()
        ]);
    });
    grid
}

pub(super) fn touches(found: &FootprintFinding) -> String {
    if found.footprint_bytes.0 == 0 {
        "nothing".to_owned()
    } else {
        found.footprint_bytes.to_string()
    }
}

fn row(name: String, found: &FootprintFinding) -> Vec<Entry> {
    entries![
        name,
        cost_text(found.cost_ns.as_ref()),
        cell(&found.reload_ns),
        found.away_ns.map_or(NO_NUMBER.to_owned(), time),
        count(found.preemptions),
        found.runs.to_string()
    ]
}

pub(super) fn cost_text(cost: Option<&Estimate>) -> String {
    cost.map_or("not measured".to_owned(), with_interval)
}

/// Formats a cost for a cell: a placeholder for `None`, and "not measured" for a cost that could
/// not be measured.
pub(super) fn cell(cost: &Option<Result<Estimate, String>>) -> String {
    cost.as_ref()
        .map_or(NO_NUMBER.to_owned(), |cost| cost_text(cost.as_ref().ok()))
}

/// Adds a table with a row for each run.
pub(super) fn add_runs(page: &mut Page, record: &Injection) {
    page.heading(
        "Runs",
        "CPU time of both copies, at the clock rate of the run",
    );
    let grid = Grid::new(2)
        .right([
            "pass",
            "every",
            "preemptor touches",
            "preempted copy",
            "its CPU time",
            "CPU time of the other",
            "its clock probe",
            "probe of the other",
            "preemptions",
        ])
        .with_rows(record.runs.iter().map(|run| run_row(record, run)));
    page.grid(grid);
}

fn run_row(record: &Injection, run: &Run) -> Vec<Entry> {
    let footprint = record
        .header
        .plan
        .footprints_bytes
        .get(run.footprint as usize);
    let timings = record.header.plan.timings();
    let timing = timings.get(run.timing as usize);
    let chain = |ps: u64| format!("{:.1} ns", ps as f64 / 1e3);
    let (its, others) = (run.preempted(), run.undisturbed());
    entries![
        (run.block + 1).to_string(),
        timing.map_or(NO_NUMBER.to_owned(), |timing| {
            time(timing.period_ns.0 as f64)
        }),
        if run.is_moved {
            "moved".to_owned()
        } else {
            footprint.map_or(NO_NUMBER.to_owned(), ToString::to_string)
        },
        if run.preempted == 0 {
            "first"
        } else {
            "second"
        },
        time(its.cpu_ns.0 as f64),
        time(others.cpu_ns.0 as f64),
        chain(its.chain_ps),
        chain(others.chain_ps),
        count(its.preemptions)
    ]
}
