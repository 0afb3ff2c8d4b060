use switchcost_analysis::simulation::{
    DesignFinding, EvictionTable, EvictorFinding, ExcessPart, Findings, LossFinding, OriginFinding,
    Part,
};
use switchcost_design::result::LostCycles;

use super::detailed;
use crate::quantity::{count, rounded, share};
use crate::{Entry, Grid, Page};

/// Maximum number of evictors listed for each level.
const EVICTORS: usize = 8;

/// Adds tables of the places where excess cycles arise, the origins of misses, the lines lost, and
/// the code and data that evicted them.
pub(super) fn add(page: &mut Page, findings: &Findings) {
    add_parts(page, findings);
    detailed(findings)
        .iter()
        .for_each(|design| add_lost_to(page, design));
    add_origins(page, findings);
    add_losses(page, findings);
    for design in detailed(findings) {
        for table in &design.evictions {
            add_evictions(page, design, table);
            add_evictors(page, design, &table.level);
        }
    }
}

fn add_parts(page: &mut Page, findings: &Findings) {
    let mut grid = Grid::new(1).left(["design"]).right([
        "excess cycles",
        "instructions",
        "data",
        "TLB",
        "write stalls",
    ]);
    for design in detailed(findings)
        .iter()
        .filter(|design| design.excess_cycles > 0.0)
    {
        let of = |wanted: Part| {
            let part: Option<&ExcessPart> = design.parts.iter().find(|part| part.part == wanted);
            Entry::from(
                part.filter(|part| part.cycles != 0.0)
                    .map_or(String::new(), |part| rounded(part.cycles)),
            )
        };
        let mut row: Vec<Entry> = entries![&design.name, rounded(design.excess_cycles)];
        row.extend([Part::Instructions, Part::Data, Part::Tlb, Part::WriteStalls].map(of));
        grid.row(row);
    }
    page.table(
        "Parts of the excess cycles",
        "shared minus private hierarchy",
        grid,
    );
}

/// Adds a table of lost cycles by the owner of the lines and by their evictor; nothing if the trace
/// has no kernel.
fn add_lost_to(page: &mut Page, design: &DesignFinding) {
    let Some(lost @ LostCycles { programs, kernel }) =
        design.lost_to.filter(LostCycles::has_kernel)
    else {
        return;
    };
    let all = lost.total();
    let mut grid = Grid::single_line_rows(1).left(["lines"]).right([
        "cycles lost",
        "other processes",
        "the kernel",
        "aged",
        "flushed",
        "state",
    ]);
    let of_all = |cycles: u64| match cycles {
        0 => Entry::from(String::new()),
        cycles => share(cycles as f64 / all as f64).into(),
    };
    for (whose, lost) in [("of the programs", programs), ("of the kernel", kernel)] {
        let mut row: Vec<Entry> = entries![whose, rounded(lost.total() as f64)];
        row.extend(
            [
                lost.processes,
                lost.kernel,
                lost.aged,
                lost.flushed,
                lost.state.saturating_add(lost.other),
            ]
            .map(of_all),
        );
        grid.row(row);
    }
    page.table(
        "Lost cycles by evictor",
        format!("shares of all lost cycles on {}", design.name),
        grid,
    );
}

fn add_origins(page: &mut Page, findings: &Findings) {
    let mut grid = Grid::new(2).left(["design", "level"]).right([
        "misses",
        "intrinsic",
        "evicted by others",
        "by the kernel",
        "aged by others",
        "flushed",
        "state",
    ]);
    for design in detailed(findings) {
        for origin in design.origins.iter().filter(|origin| origin.misses > 0) {
            grid.row(origin_row(&design.name, origin));
        }
    }
    page.table(
        "Origins of misses",
        "demand misses in the shared hierarchy",
        grid,
    );
}

fn origin_row(design: &str, origin: &OriginFinding) -> Vec<Entry> {
    let of_all = |lines: u64| Entry::from(share(lines as f64 / origin.misses as f64));
    let mut row: Vec<Entry> = entries![design, &origin.level, count(origin.misses)];
    row.extend([origin.intrinsic, origin.evicted_by_others].map(of_all));
    row.push(if origin.evicted_by_kernel > 0 {
        of_all(origin.evicted_by_kernel)
    } else {
        String::new().into()
    });
    row.extend([origin.aged_by_others, origin.flushed, origin.state].map(of_all));
    row
}

fn add_losses(page: &mut Page, findings: &Findings) {
    let mut grid = Grid::new(2).left(["design", "level"]).right([
        "lines at departure",
        "lost",
        "share",
        "restored",
        "share of lost",
    ]);
    for design in detailed(findings) {
        design
            .losses
            .iter()
            .for_each(|loss| grid.row(loss_row(&design.name, loss)));
    }
    page.table(
        "Working set lost and restored",
        "mean number of a process's lines per switch",
        grid,
    );
}

fn loss_row(design: &str, loss: &LossFinding) -> Vec<Entry> {
    let of = |part: f64, all: f64| share((all > 0.0).then(|| part / all));
    entries![
        design,
        &loss.level,
        rounded(loss.resident),
        rounded(loss.lost),
        of(loss.lost, loss.resident),
        rounded(loss.restored),
        of(loss.restored, loss.lost)
    ]
}

/// Adds a table of the number of evicted lines by evictor and victim.
fn add_evictions(page: &mut Page, design: &DesignFinding, table: &EvictionTable) {
    // Two programs may have the same name after control characters are removed.
    let victims = table.programs.iter().map(|name| crate::plain::plain(name));
    let mut grid = Grid::single_line_rows(1)
        .left(["evictor \\ victim"])
        .right(victims);
    for (evictor, lines) in table.programs.iter().zip(&table.lines) {
        let mut row: Vec<Entry> = entries![evictor];
        row.extend(lines.iter().map(|lines| Entry::from(count(*lines))));
        grid.row(row);
    }
    page.heading(
        "Evictions",
        format!("lines of {} in {}", table.level, design.name),
    );
    page.grid(grid);
}

/// Adds a table of the code and data that evicted lines of other programs.
fn add_evictors(page: &mut Page, design: &DesignFinding, level: &str) {
    let mut grid = Grid::single_line_rows(2)
        .left(["whose", "", "function or variable"])
        .right(["lines of others", "share"]);
    let row = |evictor: &EvictorFinding| {
        entries![
            &evictor.whose,
            if evictor.is_code { "code" } else { "data" },
            &evictor.place,
            count(evictor.lines),
            share(evictor.share)
        ]
    };
    let evictors = design
        .evictors
        .iter()
        .filter(|evictor| evictor.level == level);
    evictors
        .take(EVICTORS)
        .for_each(|evictor| grid.row(row(evictor)));
    page.table(
        "Evictors of other tasks' lines",
        format!("in {level} of {}", design.name),
        grid,
    );
}
