//! One screen: the cost in words, by design, by cause, who evicts whom where it costs most, the code that pays, and what to
//! know, worst first. Everything else is behind `--details` and in the page.

use analysis::simulation::{CodeFinding, DesignFinding, Findings, Group, GroupFinding, Part};
use simulation_result::Simulation;

use super::amount::{as_time, count, ends, perhaps, rounded, share, with_bound};
use super::designs::cpi;
use super::{answer, notes, origins, trace};
use crate::entry::{Entry, Side};
use crate::grid::Grid;
use crate::page::Page;

/// Lines of the screen, less those of where the rest is.
const MOST_LINES: usize = 56;

/// Designs with a row.
const DESIGNS: usize = 6;

/// Designs with a column of causes; a fourth does not fit beside them.
const COLUMNS: usize = 3;

/// Causes, beside the classes that they belong to.
const CAUSES: usize = 4;

/// Places of the code.
const PLACES: usize = 5;

/// Notes, at most.
const MOST_NOTES: usize = 5;

pub(super) fn add(page: &mut Page, head: &Simulation, findings: &Findings) {
    answer::add(page, head, findings);
    trace::add(page, head, findings);
    add_designs(page, findings);
    add_causes(page, findings);
    if let Some(design) = findings.designs.first() {
        let level = design.costliest_level.as_deref();
        let table = design.evictions.iter().find(|table| Some(table.level.as_str()) == level);
        table.into_iter().for_each(|table| origins::add_evictions(page, design, table));
        add_code(page, design);
    }
    let notes = notes::in_short(findings);
    if !notes.is_empty() {
        page.gap();
    }
    page.items_up_to(MOST_LINES, &notes[..notes.len().min(MOST_NOTES)]);
}

/// A row a design: the cost, and what it is made of.
fn add_designs(page: &mut Page, findings: &Findings) {
    if findings.designs.is_empty() {
        return;
    }
    let confidence = findings.designs.iter().find_map(|design| design.average_cost_cycles.confidence);
    let interval = confidence.map(|share| format!("; {:.0} % intervals, within this trace", share * 100.0));
    let rest = format!("excess cycles of shared caches over private ones{}", interval.unwrap_or_default());
    page.heading("Cost of a switch", &rest);
    let mut grid = Grid::with_one_line_a_row(1);
    grid.column("", Side::Left);
    for name in ["cycles", "interval", "time", "overhead", "CPI", "instr.", "data", "TLB", "stores"] {
        grid.column(name, Side::Right);
    }
    findings.designs.iter().take(DESIGNS).for_each(|design| grid.row(design_row(design)));
    page.grid(&grid);
    let more = findings.designs.len().saturating_sub(DESIGNS);
    if more > 0 {
        page.prose(&format!("and {more} more: --details"));
    }
}

fn design_row(design: &DesignFinding) -> Vec<Entry> {
    let cost = &design.average_cost_cycles;
    let told = cost.estimate.filter(|_| !cost.is_covering_zero());
    let mut row: Vec<Entry> = vec![
        design.name.as_str().into(),
        with_bound(cost).into(),
        told.map(|_| ends(cost)).unwrap_or_default().into(),
        told.map(|cycles| as_time(cycles, design.cycle_ns)).unwrap_or_default().into(),
        told.map(|_| share(design.overhead)).unwrap_or_default().into(),
        perhaps(cpi(design)).into(),
    ];
    let of = |part: Part| design.parts.iter().find(|other| other.part == part);
    let shares = [Part::Instructions, Part::Data, Part::Tlb, Part::WriteStalls];
    // Parts of a cost that may be none would say nothing.
    row.extend(shares.map(|part| {
        let part = told.and(of(part)).filter(|part| part.cycles != 0.0);
        Entry::from(part.map(|part| share(part.share)).unwrap_or_default())
    }));
    row
}

/// A row a class with its commonest causes, a column a design.
fn add_causes(page: &mut Page, findings: &Findings) {
    let Some(first) = findings.designs.first() else { return };
    let designs = &findings.designs[..findings.designs.len().min(COLUMNS)];
    let is_one = designs.len() == 1;
    let mut grid = Grid::with_one_line_a_row(1);
    grid.column("after", Side::Left);
    grid.column("switches", Side::Right);
    designs.iter().for_each(|design| grid.column(if is_one { "cycles" } else { &design.name }, Side::Right));
    for name in ["interval", "of the excess"] {
        grid.column(name, Side::Right);
    }
    for group in shown(first) {
        let mut row: Vec<Entry> = vec![name(group).into(), count(group.segments).into()];
        row.extend(designs.iter().map(|design| {
            let group = design.groups.iter().find(|other| other.group == group.group);
            Entry::from(group.map(|group| with_bound(&group.cost_cycles)).unwrap_or_default())
        }));
        if is_one {
            let cost = &group.cost_cycles;
            row.push(if !cost.is_covering_zero() { ends(cost).into() } else { "".into() });
            row.push(share(first.share_of_excess(group)).into());
        }
        grid.row(row);
    }
    if !grid.is_empty() {
        page.heading("By cause", "excess cycles of a switch, by why the task had left the CPU");
        page.grid(&grid);
    }
}

/// The classes, and the most frequent causes; a cause that is all of its class says nothing more.
fn shown(design: &DesignFinding) -> impl Iterator<Item = &GroupFinding> {
    let classes = design.groups.iter().filter(|group| matches!(group.group, Group::Class(_)));
    let is_class = |cause: &GroupFinding| {
        design.groups.iter().any(|class| {
            matches!(class.group, Group::Class(_))
                && (class.segments, class.excess_cycles) == (cause.segments, cause.excess_cycles)
        })
    };
    let causes = design.groups.iter().filter(move |group| matches!(group.group, Group::Cause(_)) && !is_class(group));
    classes.chain(causes.take(CAUSES))
}

fn name(group: &GroupFinding) -> String {
    match &group.group {
        Group::All => "all".to_owned(),
        Group::Class(class) | Group::EndClass(class) => (*class).to_owned(),
        Group::Cause(cause) => cause.clone(),
    }
}

/// The few places with the most excess cycles attributed to them.
fn add_code(page: &mut Page, design: &DesignFinding) {
    let mut grid = Grid::with_one_line_a_row(1);
    for name in ["program", "function", "after"] {
        grid.column(name, Side::Left);
    }
    for name in ["excess cycles", "share"] {
        grid.column(name, Side::Right);
    }
    let row = |code: &CodeFinding| {
        let cells = [&code.program, &code.place, &code.cause].map(Entry::from);
        cells
            .into_iter()
            .chain([
                rounded(code.excess_cycles as f64).into(),
                code.share.map(|part| share(Some(part))).unwrap_or_default().into(),
            ])
            .collect()
    };
    design.code.iter().filter(|code| code.excess_cycles > 0).take(PLACES).for_each(|code| grid.row(row(code)));
    if !grid.is_empty() {
        page.heading("The code that pays", &format!("most excess cycles on {}", design.name));
        page.grid(&grid);
    }
}
