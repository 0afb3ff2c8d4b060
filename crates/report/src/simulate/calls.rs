//! What system calls take in the kernel, where the trace has its instructions.

use switchcost_analysis::simulation::{CallFinding, DesignFinding, Findings, OfLevel};

use super::amount::{count, rounded, share};
use super::{detailed, heavy_calls};
use crate::entry::{Entry, Side};
use crate::grid::Grid;
use crate::page::Page;
use crate::quantity::number;

/// Rows.
const CALLS: usize = 20;

pub(super) fn add(page: &mut Page, findings: &Findings) {
    detailed(findings).iter().filter(|design| !design.calls.is_empty()).for_each(|design| add_design(page, design));
}

fn add_design(page: &mut Page, design: &DesignFinding) {
    let caches = design.hierarchies.shared.levels.len();
    let mut grid = Grid::new(1);
    grid.column("system call", Side::Left);
    for name in ["calls", "instructions", "cycles", "CPI", "of all cycles"] {
        grid.column(name, Side::Right);
    }
    for kind in ["misses", "drives out of"] {
        design
            .hierarchies
            .shared
            .levels
            .iter()
            .for_each(|level| grid.column(format!("{kind} {}", level.name), Side::Right));
    }
    design.calls.iter().take(CALLS).for_each(|call| grid.row(row(call, caches)));
    page.heading("System calls without a switch", &format!("a call on average, on {}", design.name));
    page.grid(&grid);
    heavy_calls::reported(&design.calls, design.instructions).iter().for_each(|text| page.prose(text));
    let more = design.calls.len().saturating_sub(CALLS);
    let more = if more > 0 { format!("; and {more} more: --format json") } else { String::new() };
    page.prose(&format!("drives out: lines of the calling process that leave for the kernel's{more}"));
}

fn row(call: &CallFinding, caches: usize) -> Vec<Entry> {
    let mut row: Vec<Entry> = vec![
        call.syscall.as_str().into(),
        count(call.calls).into(),
        rounded(call.instructions).into(),
        rounded(call.cycles).into(),
        number(call.cycles / call.instructions).into(),
        share(call.share).into(),
    ];
    let of_caches = |levels: &[OfLevel]| levels.iter().take(caches).map(|of| Entry::from(rounded(of.number))).collect();
    let [misses, driven_out]: [Vec<Entry>; 2] = [of_caches(&call.misses), of_caches(&call.driven_out)];
    row.extend(misses);
    row.extend(driven_out);
    row
}
