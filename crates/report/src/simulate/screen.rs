//! One screen: the cost in words, by design, by cause, misses by level, evictions where they cost most, the code (and the kernel's
//! data) that pays, and what to know, worst first. Everything else is behind `--details` and in the page.

use switchcost_analysis::simulation::{DesignFinding, Findings, Group, GroupFinding, PlaceFinding};
use switchcost_design::result::Simulation;

use super::amount::{as_time, beside_time, ends, known, perhaps, with_bound};
use super::designs::{as_if_in_order, cpi};
use super::{answer, levels, notes, origins, sweep, trace};
use crate::entry::Entry;
use crate::grid::Grid;
use crate::page::Page;
use crate::quantity::{count, rounded, share};

/// Lines of the screen, less those of where the rest is.
const MOST_LINES: usize = 56;

/// Designs with a row.
const DESIGNS: usize = 6;

/// Designs with a column of causes; a fourth does not fit beside them.
const COLUMNS: usize = 3;

/// Causes, beside the classes that they belong to.
const CAUSES: usize = 4;

/// Places of code and of data where both are shown.
const PLACES_OF_BOTH: usize = 3;

/// Fewer rows of many say nothing; one of these is that there are more.
const FEWEST_EVICTORS: usize = 4;

/// Places of the code, where there is room for them.
const PLACES: usize = 5;

/// An empty line, a title, the names of columns and the line below them.
const HEADING_LINES: usize = 4;

/// An empty line and a note.
const NOTE_LINES: usize = 3;

/// The same of one that names designs.
const LINES_OF_A_NOTE: usize = 5;

/// Notes, at most.
const MOST_NOTES: usize = 5;

pub(super) fn add(page: &mut Page, head: &Simulation, findings: &Findings) {
    answer::add(page, head, findings);
    trace::add(page, head, findings);
    add_designs(page, findings);
    let has_many = findings.designs.len() > COLUMNS;
    if !(has_many && sweep::add(page, findings, Some(MOST_LINES - LINES_OF_A_NOTE))) {
        add_reasons(page, findings);
    }
    let notes = notes::in_short(findings);
    if !notes.is_empty() {
        page.gap();
    }
    page.items_up_to(MOST_LINES, &notes[..notes.len().min(MOST_NOTES)]);
}

/// By cause and level, and what costs most. Variants of a design are rather compared with each other.
fn add_reasons(page: &mut Page, findings: &Findings) {
    add_causes(page, findings);
    levels::add_in_short(page, findings, DESIGNS);
    let room_for_notes = if notes::in_short(findings).is_empty() {
        0
    } else {
        NOTE_LINES
    };
    if let Some(design) = findings.designs.first() {
        let level = design.costliest_level.as_deref();
        let table = design
            .evictions
            .iter()
            .find(|table| Some(table.level.as_str()) == level);
        let room = MOST_LINES.saturating_sub(page.lines() + room_for_notes + HEADING_LINES);
        let worth_it =
            table.filter(|table| table.programs.len() <= room || room >= FEWEST_EVICTORS);
        worth_it
            .into_iter()
            .for_each(|table| origins::add_evictions(page, design, table, room));
    }
    if let Some(design) = findings.designs.first() {
        // The kernel's data has names.
        let has_data = design.kernel.is_some();
        let most = if has_data { PLACES_OF_BOTH } else { PLACES };
        add_places(
            page,
            design,
            "The code that pays",
            "function",
            &design.code,
            most,
            room_for_notes,
        );
        if has_data {
            add_places(
                page,
                design,
                "The data that pays",
                "variable",
                &design.data,
                most,
                room_for_notes,
            );
        }
    }
}

/// A row a design: the cost, and what it is made of.
fn add_designs(page: &mut Page, findings: &Findings) {
    if findings.designs.is_empty() {
        return;
    }
    let confidence = findings
        .designs
        .iter()
        .find_map(|design| design.average_cost_cycles.confidence);
    let interval =
        confidence.map(|share| format!("; {:.0} % intervals, within this trace", share * 100.0));
    let rest = format!(
        "cycles, net of lost, gained and state{}",
        interval.unwrap_or_default()
    );
    page.heading("Cost of a switch", &rest);
    let (head, labels) = sweep::labels(findings);
    let grid = Grid::with_one_line_a_row(1)
        .left([head])
        .right([
            "net", "interval", "time", "share", "lost", "gained", "state", "CPI",
        ])
        .with_rows(
            labels
                .iter()
                .zip(&findings.designs)
                .take(DESIGNS)
                .map(|(name, design)| design_row(name, design)),
        );
    page.grid(&grid);
    let more = findings.designs.len().saturating_sub(DESIGNS);
    if more > 0 {
        page.prose(&format!("and {more} more: --details"));
    }
    if let Some(words) = beside_time(findings.designs.iter().take(DESIGNS).map(as_if_in_order)) {
        page.prose(words);
    }
}

fn design_row(name: &str, design: &DesignFinding) -> Vec<Entry> {
    let net = &design.average_cost_cycles;
    let reported = net.estimate.filter(|_| !net.is_covering_zero());
    vec![
        name.into(),
        with_bound(net).into(),
        ends(net).into(),
        reported
            .map(|cycles| as_time(cycles, design.cycle_ns))
            .unwrap_or_default()
            .into(),
        reported
            .map(|_| share(design.excess_share))
            .unwrap_or_default()
            .into(),
        known(&design.lost_cycles).into(),
        known(&design.gained_cycles).into(),
        known(&design.state_cycles).into(),
        perhaps(cpi(design)).into(),
    ]
}

/// A row a class with its commonest causes: of one design what is lost and gained, of several a column each.
fn add_causes(page: &mut Page, findings: &Findings) {
    let designs = &findings.designs[..findings.designs.len().min(COLUMNS)];
    let Some(first) = designs.first() else { return };
    let mut grid = Grid::with_one_line_a_row(1)
        .left(["after"])
        .right(["switches"]);
    grid = match designs {
        [_] => grid.right(["net", "interval", "of all", "lost", "gained", "state"]),
        _ => grid.right(designs.iter().map(|design| &design.name)),
    };
    // Many designs have many levels, too.
    let most = if findings.designs.len() < DESIGNS {
        CAUSES
    } else {
        CAUSES - 1
    };
    for group in shown(first, most) {
        let mut row: Vec<Entry> = vec![name(group).into(), count(group.segments).into()];
        if designs.len() == 1 {
            row.extend(parties(first, group).map(Entry::from));
        } else {
            row.extend(designs.iter().map(|design| {
                let group = design
                    .groups
                    .iter()
                    .find(|other| other.group == group.group);
                Entry::from(
                    group
                        .map(|group| with_bound(&group.cost_cycles))
                        .unwrap_or_default(),
                )
            }));
        }
        grid.row(row);
    }
    if !grid.is_empty() {
        page.heading(
            "By cause",
            "cycles of a switch, net, by why the task had left the CPU",
        );
        page.grid(&grid);
    }
}

/// One design's cells. Columns that hold nothing are not shown.
fn parties(design: &DesignFinding, group: &GroupFinding) -> [String; 6] {
    let net = &group.cost_cycles;
    [
        with_bound(net),
        ends(net),
        share(design.share_of_excess(group)),
        known(&group.lost_cycles),
        known(&group.gained_cycles),
        known(&group.state_cycles),
    ]
}

/// The classes, and the most frequent causes; a cause that is all of its class says nothing more.
fn shown(design: &DesignFinding, most_causes: usize) -> impl Iterator<Item = &GroupFinding> {
    let classes = design
        .groups
        .iter()
        .filter(|group| matches!(group.group, Group::Class(_)));
    let is_class = |cause: &GroupFinding| {
        design.groups.iter().any(|class| {
            matches!(class.group, Group::Class(_))
                && (class.segments, class.excess_cycles) == (cause.segments, cause.excess_cycles)
        })
    };
    let causes = design
        .groups
        .iter()
        .filter(move |group| matches!(group.group, Group::Cause(_)) && !is_class(group));
    classes.chain(causes.take(most_causes))
}

fn name(group: &GroupFinding) -> String {
    match &group.group {
        Group::All => "all".to_owned(),
        Group::Class(class) | Group::EndClass(class) | Group::Tasks(class) => (*class).to_owned(),
        Group::Cause(cause) => cause.clone(),
    }
}

/// The few places with the most excess cycles attributed to them, as far as there is room for them and some lines more.
fn add_places(
    page: &mut Page,
    design: &DesignFinding,
    title: &str,
    what: &str,
    places: &[PlaceFinding],
    most: usize,
    room_for_notes: usize,
) {
    let room = MOST_LINES.saturating_sub(page.lines() + room_for_notes + HEADING_LINES);
    let mut grid = Grid::with_one_line_a_row(1)
        .left(["program", what, "after"])
        .right(["excess cycles", "share"]);
    let row = |found: &PlaceFinding| {
        let cells = [&found.program, &found.place, &found.cause].map(Entry::from);
        cells
            .into_iter()
            .chain([
                rounded(found.excess_cycles as f64).into(),
                found
                    .share
                    .map(|part| share(Some(part)))
                    .unwrap_or_default()
                    .into(),
            ])
            .collect()
    };
    let most_excess = places
        .iter()
        .filter(|found| found.excess_cycles > 0)
        .take(most.min(room));
    most_excess.for_each(|found| grid.row(row(found)));
    if !grid.is_empty() {
        page.heading(title, &format!("most excess cycles on {}", design.name));
        page.grid(&grid);
    }
}
