//! Shows the cost of each system call in the kernel, if the trace has kernel instructions.

use switchcost_analysis::simulation::{CallFinding, DesignFinding, Findings, OfLevel};

use super::{detailed, heavy_calls};
use crate::quantity::{count, number, rounded, share};
use crate::{Entry, Grid, Page};

/// Maximum number of system calls in the table.
const CALLS: usize = 20;

pub(super) fn add(page: &mut Page, findings: &Findings) {
    detailed(findings)
        .iter()
        .filter(|design| !design.calls.is_empty())
        .for_each(|design| add_design(page, design));
}

fn add_design(page: &mut Page, design: &DesignFinding) {
    let caches = &design.hierarchies.shared.levels;
    let of_each = |kind: &str| {
        caches
            .iter()
            .map(|level| format!("{kind} {}", level.name))
            .collect::<Vec<_>>()
    };
    let grid = Grid::new(1)
        .left(["system call"])
        .right(["calls", "instructions", "cycles", "CPI", "of all cycles"])
        .right(of_each("misses"))
        .right(of_each("evicts from"))
        .with_rows(
            design
                .calls
                .iter()
                .take(CALLS)
                .map(|call| row(call, caches.len())),
        );
    page.table(
        "System calls without a switch",
        format!("averages per call, on {}", design.name),
        grid,
    );
    heavy_calls::reported(&design.calls, design.instructions)
        .iter()
        .for_each(|text| page.prose(text));
    let more = design.calls.len().saturating_sub(CALLS);
    let more = if more > 0 {
        format!("; and {more} more: --format json")
    } else {
        String::new()
    };
    page.prose(format!(
        "evicts: lines of the calling process that the kernel's lines replace{more}"
    ));
}

fn row(call: &CallFinding, caches: usize) -> Vec<Entry> {
    let mut row: Vec<Entry> = entries![
        &call.syscall,
        count(call.calls),
        rounded(call.instructions),
        rounded(call.cycles),
        number(call.cycles / call.instructions),
        share(call.share)
    ];
    let of_caches = |levels: &[OfLevel]| {
        levels
            .iter()
            .take(caches)
            .map(|of| Entry::from(rounded(of.number)))
            .collect()
    };
    let [misses, driven_out]: [Vec<Entry>; 2] =
        [of_caches(&call.misses), of_caches(&call.driven_out)];
    row.extend(misses);
    row.extend(driven_out);
    row
}
