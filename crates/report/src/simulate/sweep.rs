//! Shows variants of one design by their varied fields: a row for each value of one field, or a
//! matrix over two fields.

use switchcost_analysis::simulation::{Axis, DesignFinding, Findings, Sweep, sweeps};

use super::amount::with_bound;
use super::figures;
use super::plane::{Number, Plane};
use crate::quantity::number;
use crate::{Entry, Grid, Page};
use itertools::Itertools;

/// Maximum number of lines from the top of the screen to the end of a sweep's table.
pub(super) const MOST_LINES: usize = 27;

/// Number of lines around the rows of a table: an empty line, a title, the column names, a rule,
/// and two references to omitted rows.
const BESIDE_ROWS: usize = 6;

/// Maximum number of rows of a matrix on a screen.
const MOST_ROWS: usize = 9;
const MOST_COLUMNS: usize = 12;

/// Adds the table and the figure of each sweep; on a screen, as much as fits. Returns true if the
/// designs form a sweep.
pub(super) fn add(page: &mut Page, findings: &Findings) -> bool {
    let sweeps = sweeps(&findings.designs);
    for (number, sweep) in sweeps.iter().enumerate() {
        match &sweep.axes[..] {
            [axis] => add_line(page, findings, sweep, axis, number),
            _ => add_planes(page, findings, sweep, number),
        }
    }
    !sweeps.is_empty()
}

/// Returns the heading for the column of names, and the name of each design. Variants of one design
/// are named by their fields and values.
pub(super) fn labels(findings: &Findings) -> (String, Vec<String>) {
    match &sweeps(&findings.designs)[..] {
        [sweep] if sweep.members.len() == findings.designs.len() => {
            let mut labels = vec![String::new(); sweep.members.len()];
            sweep
                .members
                .iter()
                .for_each(|(values, design)| labels[*design] = sweep.label(values));
            (sweep.fields(), labels)
        }
        _ => (
            String::new(),
            findings
                .designs
                .iter()
                .map(|design| design.name.clone())
                .collect(),
        ),
    }
}

/// Returns the number of rows that fit on the screen; unlimited with details.
fn room(page: &Page) -> usize {
    if page.is_detailed() {
        usize::MAX
    } else {
        MOST_LINES.saturating_sub(page.lines() + BESIDE_ROWS)
    }
}

fn add_line(page: &mut Page, findings: &Findings, sweep: &Sweep, axis: &Axis, number: usize) {
    let room = room(page);
    let members: Vec<(&str, &DesignFinding)> = sweep
        .members
        .iter()
        .map(|(values, design)| (axis.values[values[0]].as_str(), &findings.designs[*design]))
        .collect();
    let numbers = line_numbers(&members);
    let mut grid = Grid::new(1)
        .right([&axis.field])
        .right(numbers.iter().map(|number| number.name()))
        .right(["cycles per switch"]);
    for (value, design) in members.iter().take(room) {
        let cells = numbers.iter().map(|number| cell(number, design));
        let net = Entry::from(with_bound(&design.average_cost_cycles));
        grid.row(
            std::iter::once(Entry::from(*value))
                .chain(cells)
                .chain([net]),
        );
    }
    page.heading(
        format!("{} by {}", sweep.base, axis.field),
        "shared hierarchy; MPKI: misses per 1,000 instructions",
    );
    page.grid(grid);
    page.more(members.len(), room);
    page.figure(|| figures::sweep::curves(&sweep.base, axis, &members, &numbers, number));
    page.method(["sweep"]);
}

/// Returns the quantities that get a column in the table: the CPI, and the misses of each level in
/// which the designs differ.
fn line_numbers(members: &[(&str, &DesignFinding)]) -> Vec<Number> {
    let levels = members
        .first()
        .map_or(&[][..], |(_, design)| &design.levels);
    let mpki = levels.iter().map(|level| Number::Mpki(level.level.clone()));
    let differs = |number: &Number| {
        members
            .iter()
            .any(|(_, design)| number.value(design) != number.value(members[0].1))
    };
    std::iter::once(Number::Cpi)
        .chain(mpki.filter(differs))
        .collect()
}

fn add_planes(page: &mut Page, findings: &Findings, sweep: &Sweep, number: usize) {
    let planes = planes(findings, sweep);
    let levels = sweep.axes[..2]
        .iter()
        .flat_map(Axis::levels)
        .map(str::to_owned);
    let numbers = levels
        .map(Number::Mpki)
        .chain([Number::Cpi])
        .unique()
        .collect_vec();
    for (place, plane) in planes.iter().enumerate() {
        for of in numbers.iter().filter(|of| {
            plane
                .cells
                .iter()
                .any(|(_, _, design)| of.value(design).is_some())
        }) {
            let room = room(page).min(page.row_limit(MOST_ROWS));
            if room < plane.rows.values.len().min(MOST_ROWS) {
                continue;
            }
            let rest = if plane.rest.is_empty() {
                String::new()
            } else {
                format!("; {}", plane.rest)
            };
            let axes = format!("{} by {}", plane.rows.field, plane.columns.field);
            page.heading(
                format!("{} of {}", of.name(), sweep.base),
                format!("{axes}{rest}"),
            );
            let columns = page.row_limit(MOST_COLUMNS);
            page.grid(matrix(plane, of, room, columns));
            page.more(plane.rows.values.len(), room);
            page.more(plane.columns.values.len(), columns);
            page.figure(|| figures::sweep::heat(&sweep.base, plane, of, (number, place)));
        }
    }
    page.method(["sweep"]);
}

/// Returns one table (*plane*) for each combination of the values of the fields after the first
/// two. The values of the first two fields are the rows and columns of each table.
fn planes<'a>(findings: &'a Findings, sweep: &'a Sweep) -> Vec<Plane<'a>> {
    let mut planes: Vec<(&[usize], Plane<'a>)> = Vec::new();
    for (values, design) in &sweep.members {
        let (own, rest) = values.split_at(2);
        let cell = (own[0], own[1], &findings.designs[*design]);
        match planes.iter_mut().find(|(other, _)| *other == rest) {
            Some((_, plane)) => plane.cells.push(cell),
            None => {
                let others = sweep.axes[2..].iter().zip(rest);
                let words = others
                    .map(|(axis, value)| format!("{}={}", axis.field, axis.values[*value]))
                    .join(" ");
                let (rows, columns) = (&sweep.axes[0], &sweep.axes[1]);
                planes.push((
                    rest,
                    Plane {
                        rows,
                        columns,
                        rest: words,
                        cells: vec![cell],
                    },
                ));
            }
        }
    }
    planes.into_iter().map(|(_, plane)| plane).collect()
}

fn matrix(plane: &Plane<'_>, of: &Number, most_rows: usize, most_columns: usize) -> Grid {
    let columns = &plane.columns.values[..plane.columns.values.len().min(most_columns)];
    let mut grid = Grid::new(1).right([&plane.rows.field]).right(columns);
    for (row, value) in plane.rows.values.iter().enumerate().take(most_rows) {
        let cells = (0..columns.len()).map(|column| plane.finding(row, column));
        let cells =
            cells.map(|design| design.map_or_else(Entry::default, |design| cell(of, design)));
        grid.row(std::iter::once(Entry::from(value)).chain(cells));
    }
    grid
}

fn cell(of: &Number, design: &DesignFinding) -> Entry {
    of.value(design).map(number).unwrap_or_default().into()
}
