use analysis::simulation::{DesignFinding, Findings};
use simulation_result::LevelCounts;

use super::amount::{as_time, centre, count, ends, perhaps, rounded, share};
use super::detailed;
use crate::entry::{Entry, Side};
use crate::grid::Grid;
use crate::page::Page;
use crate::quantity::NO_NUMBER;

/// Table 4 of Mogul and Borg, and the bounds beside it.
pub(super) fn add(page: &mut Page, findings: &Findings) {
    if findings.designs.is_empty() {
        return;
    }
    let cut = findings.cut_share * 100.0;
    page.heading("Cost of a switch", &format!("excess cycles up to where {cut} % of the segments remain"));
    let mut grid = Grid::new(1);
    grid.column("design", Side::Left);
    for name in
        ["cost", "interval", "time", "cycles", "CPI", "overhead", "all excess", "flushed", "reload bound", "Agarwal"]
    {
        grid.column(name, Side::Right);
    }
    findings.designs.iter().for_each(|design| grid.row(row(design)));
    page.grid(&grid);
    page.prose(
        "cost, flushed, reload bound and Agarwal: cycles a switch; overhead: cost x switches over all cycles; all excess: \
         shared less private over all cycles, no cut-off; flushed: each switch empties everything; reload bound: every \
         line once",
    );
}

fn row(design: &DesignFinding) -> Vec<Entry> {
    let cost = &design.average_cost_cycles;
    let cycles = design.hierarchies.shared.cycles;
    let is_claimed = cost.estimate.filter(|_| centre(cost) == rounded(cost.estimate.unwrap_or_default()));
    vec![
        design.name.as_str().into(),
        centre(cost).into(),
        ends(cost).into(),
        is_claimed.map(|cost| as_time(cost, design.cycle_ns)).unwrap_or_default().into(),
        rounded(cycles as f64).into(),
        perhaps(cpi(design)).into(),
        share(design.overhead).into(),
        share(design.excess_share).into(),
        perhaps(design.flushed_cycles_per_switch).into(),
        rounded(design.reload_bound_cycles as f64).into(),
        agarwal(design).into(),
    ]
}

/// Cycles an instruction, all processes on one hierarchy.
pub(super) fn cpi(design: &DesignFinding) -> Option<f64> {
    (design.instructions > 0).then(|| design.hierarchies.shared.cycles as f64 / design.instructions as f64)
}

fn agarwal(design: &DesignFinding) -> String {
    match &design.agarwal {
        Err(_) => NO_NUMBER.to_owned(),
        Ok(model) if model.is_beyond_range => format!("at most {}", rounded(model.cycles_at_most)),
        Ok(model) => rounded(model.cycles_per_switch),
    }
}

/// Accesses and misses of every level in the three views.
pub(super) fn add_levels(page: &mut Page, findings: &Findings) {
    let mut grid = Grid::new(2);
    grid.column("design", Side::Left);
    grid.column("level", Side::Left);
    for name in ["accesses", "misses: shared", "private", "flushed", "miss ratio: shared", "private", "flushed"] {
        grid.column(name, Side::Right);
    }
    for design in detailed(findings) {
        let hierarchies = &design.hierarchies;
        let levels = hierarchies.shared.levels.iter().zip(&hierarchies.private.levels).zip(&hierarchies.flushed.levels);
        let tlbs = hierarchies.shared.tlbs.iter().zip(&hierarchies.private.tlbs).zip(&hierarchies.flushed.tlbs);
        for ((shared, private), flushed) in levels.chain(tlbs) {
            grid.row(level(&design.name, [shared, private, flushed]));
        }
    }
    if !grid.is_empty() {
        page.heading("Levels", "one hierarchy for all, one for each process, one emptied at each switch");
        page.grid(&grid);
    }
}

fn level(design: &str, views: [&LevelCounts; 3]) -> Vec<Entry> {
    let mut row: Vec<Entry> = vec![design.into(), views[0].name.as_str().into(), count(views[0].accesses()).into()];
    row.extend(views.iter().map(|counts| Entry::from(count(counts.misses()))));
    let ratio =
        |counts: &&LevelCounts| (counts.accesses() > 0).then(|| counts.misses() as f64 / counts.accesses() as f64);
    row.extend(views.iter().map(|counts| Entry::from(share(ratio(counts)))));
    row
}
