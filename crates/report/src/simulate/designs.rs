use switchcost_analysis::simulation::{DesignFinding, Findings, LevelFinding};
use switchcost_design::result::{ByView, LevelCounts};

use super::amount::{as_time, ends, filled, known, one, perhaps, time_note, with_bound};
use super::compared;
use crate::quantity::{NO_NUMBER, count, number, rounded, share};
use crate::{Entry, Grid, Page};

/// Adds a table of designs with the numbers of Mogul and Borg's Table 4, and bounds on the cost of
/// a switch.
pub(super) fn add(page: &mut Page, findings: &Findings) {
    if findings.designs.is_empty() {
        return;
    }
    let cut = findings.cut_share * 100.0;
    page.heading(
        "Cost of a switch",
        format!(
            "in simulated cycles, up to the cut-off (where {cut} % of the trace segments remain)"
        ),
    );
    let grid = Grid::new(1)
        .left(["design"])
        .right([
            "net",
            "interval",
            "time",
            "lost",
            "interval",
            "gained",
            "interval",
            "state",
            "interval",
            "once",
            "cycles",
            "CPI",
            "overhead",
            "flushed",
            "reload bound",
            "Agarwal's model",
        ])
        .with_rows(findings.designs.iter().map(row));
    page.grid(grid);
    page.prose("net: lost - gained + state; lost: to reload lines that others evicted; gained: saved by lines that others loaded; \
         state: from differences in replacement, prefetching and buffers; once: saved in total, not per switch, on data that \
         others had loaded first (in no other column); overhead: excess cycles (shared minus private, no cut-off) over all cycles; \
         flushed: cost if each switch emptied all levels; reload bound: cost of reloading every line once; \
         Agarwal's model: estimate of net by Agarwal et al. 1989");
    if let Some(words) = time_note(findings.designs.iter().map(scale_to_order)) {
        page.prose(words);
    }
}

fn row(design: &DesignFinding) -> Vec<Entry> {
    let cost = &design.average_cost_cycles;
    let cycles = design.hierarchies.shared.cycles;
    let is_claimed = cost.estimate.filter(|_| !cost.is_covering_zero());
    entries![
        &design.name,
        with_bound(cost),
        ends(cost),
        is_claimed.map(|cost| as_time(cost, design.cycle_ns)),
        known(&design.lost_cycles),
        ends(&design.lost_cycles),
        known(&design.gained_cycles),
        ends(&design.gained_cycles),
        known(&design.state_cycles),
        ends(&design.state_cycles),
        design.first_touch_cycles.map(rounded),
        rounded(cycles as f64),
        perhaps(cpi(design)),
        share(design.overhead),
        perhaps(design.flushed_cycles_per_switch),
        rounded(design.reload_bound_cycles as f64),
        agarwal(design)
    ]
}

/// Returns the least and largest time of a cycle in ns; `None` if it is unknown, or if lost lines
/// are priced in time.
pub(super) fn scale_to_order(design: &DesignFinding) -> Option<[f64; 2]> {
    design.cycle_ns.filter(|_| design.time_lost.is_none())
}

/// Returns the cycles per instruction of the shared hierarchy; `None` without instructions.
pub(super) fn cpi(design: &DesignFinding) -> Option<f64> {
    (design.instructions > 0)
        .then(|| design.hierarchies.shared.cycles as f64 / design.instructions as f64)
}

fn agarwal(design: &DesignFinding) -> String {
    match &design.agarwal {
        None => NO_NUMBER.to_owned(),
        Some(model) if model.is_beyond_range => {
            format!("at most {}", rounded(model.cycles_at_most))
        }
        Some(model) => rounded(model.cycles_per_switch),
    }
}

/// Adds a table of accesses and misses of each level in the shared, private and flushed
/// hierarchies.
pub(super) fn add_levels(page: &mut Page, findings: &Findings) {
    let mut grid = Grid::new(2).left(["design", "level"]).right([
        "accesses",
        "misses: shared",
        "private",
        "flushed",
        "miss ratio: shared",
        "private",
        "flushed",
        "MPKI: shared",
        "private",
        "flushed",
        "lost per switch",
        "gained per switch",
        "filled",
    ]);
    for design in compared(findings) {
        let hierarchies = &design.hierarchies;
        let levels = hierarchies
            .shared
            .levels
            .iter()
            .zip(&hierarchies.private.levels)
            .zip(&hierarchies.flushed.levels);
        let tlbs = hierarchies
            .shared
            .tlbs
            .iter()
            .zip(&hierarchies.private.tlbs)
            .zip(&hierarchies.flushed.tlbs);
        for (((shared, private), flushed), found) in levels.chain(tlbs).zip(&design.levels) {
            let mut row = level(&design.name, [shared, private, flushed]);
            row.extend(rates(found).map(Entry::from));
            grid.row(row);
        }
    }
    if !grid.is_empty() {
        let each = one(findings.private_by);
        page.table("Levels", "misses in three hierarchies", grid);
        page.prose(format!(
            "shared: one hierarchy for all; private: one per {each}; flushed: emptied at each switch; MPKI: misses per 1,000 \
             instructions; lost: misses in the shared hierarchy only; gained: misses in the private one only, without first touches; \
             filled: largest share in use, if the level was never full",
        ));
    }
}

/// Formats the miss rates of a level. Misses lost and gained per switch are left out for a level
/// that was never full, because they would be misleading.
fn rates(level: &LevelFinding) -> [String; 6] {
    let mpki = |of: fn(&ByView<f64>) -> f64| {
        level
            .mpki
            .as_ref()
            .map(|mpki| number(of(mpki)))
            .unwrap_or_default()
    };
    let (shared, private, flushed) = (
        mpki(|all| all.shared),
        mpki(|all| all.private),
        mpki(|all| all.flushed),
    );
    if !level.was_full {
        return [
            shared,
            private,
            flushed,
            String::new(),
            String::new(),
            filled(level),
        ];
    }
    let a_switch = |lookups: Option<f64>| lookups.map(rounded).unwrap_or_default();
    [
        shared,
        private,
        flushed,
        a_switch(level.lost_per_switch),
        a_switch(level.gained_per_switch),
        String::new(),
    ]
}

fn level(design: &str, views: [&LevelCounts; 3]) -> Vec<Entry> {
    let mut row: Vec<Entry> = entries![design, &views[0].name, count(views[0].accesses())];
    row.extend(
        views
            .iter()
            .map(|counts| Entry::from(count(counts.misses()))),
    );
    let ratio = |counts: &&LevelCounts| {
        (counts.accesses() > 0).then(|| counts.misses() as f64 / counts.accesses() as f64)
    };
    row.extend(views.iter().map(|counts| Entry::from(share(ratio(counts)))));
    row
}
