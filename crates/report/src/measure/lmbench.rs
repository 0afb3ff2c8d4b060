use switchcost_analysis::{CaseFinding, Findings, Verdict};
use switchcost_record::{Between, Mechanism};
use switchcost_units::Bytes;
use switchcost_workload::WorkingSet;

use super::conditions::walk;
use super::row::{add_star_legend, marked, tone, unmeasured_cell};
use crate::quantity::{NO_NUMBER, centre, is_cost, number};
use crate::{Entry, Grid, Page};

/// Columns of the summary of lmbench's `lat_ctx`: number of processes, and size of each process'
/// array in KiB.
const COLUMNS: [(u32, u64); 7] = [
    (2, 0),
    (2, 16),
    (2, 64),
    (8, 16),
    (8, 64),
    (16, 16),
    (16, 64),
];

/// Adds lmbench's classic matrix for each kind of traversal with results for all seven columns.
pub(super) fn add(page: &mut Page, findings: &Findings) {
    let pipes: Vec<_> = findings.results.iter().filter(|f| is_lmbench(f)).collect();
    let first_sized = pipes.iter().filter(|f| is_at(f, COLUMNS[1]));
    let complete = first_sized.filter_map(|like| Some((like, seven(&pipes, like)?)));
    for (like, seven) in complete {
        let walk = walk(&like.case.working_set);
        page.table(
            "Context switching as lmbench shows it",
            format!("microseconds, smaller is better, {walk}"),
            grid(&seven),
        );
        add_star_legend(page, seven.iter().copied());
    }
}

fn is_lmbench(finding: &CaseFinding) -> bool {
    let case = &finding.case;
    case.mechanism == Mechanism::Pipe
        && case.between == Between::Process
        && case.placement.is_one_cpu()
}

fn is_at(finding: &CaseFinding, (tasks, kib): (u32, u64)) -> bool {
    finding.case.tasks == tasks && finding.case.working_set.size_bytes == Bytes::kib(kib)
}

/// Returns the results for the seven columns with the CPU, policy and traversal of `like`; `None`
/// if a column has no result.
fn seven<'a>(pipes: &[&'a CaseFinding], like: &CaseFinding) -> Option<Vec<&'a CaseFinding>> {
    let run = |f: &CaseFinding| (f.case.placement.clone(), f.case.policy);
    let walk = |f: &CaseFinding| WorkingSet {
        size_bytes: Bytes(0),
        ..f.case.working_set
    };
    let is_like = |f: &CaseFinding| {
        run(f) == run(like) && (f.case.working_set.is_empty() || walk(f) == walk(like))
    };
    COLUMNS
        .iter()
        .map(|column| {
            pipes
                .iter()
                .copied()
                .find(|f| is_at(f, *column) && is_like(f))
        })
        .collect()
}

fn grid(seven: &[&CaseFinding]) -> Grid {
    let mut grid = Grid::new(0).right(
        COLUMNS
            .iter()
            .map(|(tasks, kib)| format!("{tasks}p/{kib}K")),
    );
    grid.row(seven.iter().map(|finding| entry(finding)));
    grid
}

/// Returns the cell with the cost of a hand-off by lmbench's definition, which includes the reload
/// of the working set: total time minus the time of the work alone, divided by the number of
/// hand-offs.
fn entry(finding: &CaseFinding) -> Entry {
    match (&finding.verdict, &finding.handoff_cost()) {
        (Verdict::NotMeasured { .. }, _) => unmeasured_cell(finding),
        (_, None) => NO_NUMBER.into(),
        (_, Some(estimate)) if !is_cost(estimate) => Entry::new(centre(estimate), tone(finding)),
        (_, Some(e)) => marked(finding, &number(e.estimate / 1e3)),
    }
}
