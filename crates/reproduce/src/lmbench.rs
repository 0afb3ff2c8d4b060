//! Claims on lmbench's matrix of context switches, with seven columns of processes and array sizes.

use switchcost_analysis::CaseFinding;
use switchcost_units::Bytes;

use crate::exhibit::Cell;
use crate::{Exhibit, Outcome, Records, Site, Step};

const STEP: &str = "lmbench-matrix";

/// Columns of lmbench's matrix: number of processes, and size of each process' array in KiB.
const COLUMNS: [(u32, u64); 7] = [
    (2, 0),
    (2, 16),
    (2, 64),
    (8, 16),
    (8, 64),
    (16, 16),
    (16, 64),
];

pub(crate) fn steps(site: &Site<'_>) -> Vec<Step> {
    let effort = site
        .effort
        .choose(" --precision 0.5% --budget 2min", " --max-repetitions 6");
    vec![Step::new(
        STEP,
        &format!(
            "measure --lmbench{effort} --no-counters --cpu {}",
            site.quiet_cpu
        ),
    )]
}

/// Returns the cost of a hand-off by lmbench's definition, which includes the reload of the array,
/// in ns.
fn cost(records: &Records, (tasks, kib): (u32, u64)) -> Outcome<switchcost_analysis::Estimate> {
    let (_, findings) = records.measured(STEP)?;
    let is_wanted = |finding: &&CaseFinding| {
        finding.case.tasks == tasks && finding.case.working_set.size_bytes == Bytes::kib(kib)
    };
    let finding = findings
        .results
        .iter()
        .find(is_wanted)
        .ok_or("the record lacks the column")?;
    finding
        .handoff_cost()
        .ok_or_else(|| "it could not be measured: see the record".to_owned())
}

pub(crate) fn exhibits(records: &Records) -> Vec<Exhibit> {
    let mut exhibit = Exhibit::new(
        "Context switching",
        "lmbench's matrix, microseconds, smaller is better",
        COLUMNS.map(|(tasks, kib)| format!("{tasks}p/{kib}K")),
    );
    exhibit.add_step(STEP);
    let row = |get: fn(&switchcost_analysis::Estimate) -> f64| -> Vec<Cell> {
        let cell =
            |column: &(u32, u64)| Cell::new(&cost(records, *column), 3, |cost| get(cost) / 1e3);
        COLUMNS.iter().map(cell).collect()
    };
    exhibit.row(row(|estimate| estimate.estimate));
    exhibit.add_note("lmbench prints this matrix for every machine; no published row corresponds to it. Section 6.6 of the paper \
         only says which columns must grow.");
    vec![exhibit]
}

#[cfg(test)]
mod tests;
