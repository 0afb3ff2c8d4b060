//! Charts of the findings of a simulation, modelled on those of Mogul and Borg 1990.

mod causes;
mod curves;
mod overhead;
pub(super) mod sweep;

use std::collections::BTreeMap;

use switchcost_analysis::simulation::{
    Cost, DesignFinding, EvictionTable, Findings, Group, LengthDistribution, OrderFinding,
    PlaceFinding, are_orders, over_orders,
};
use switchcost_design::result::Simulation;

use super::amount::{ends, known, with_bound};
use super::{detailed, orders, programs};
use crate::figure::{Axis, Chart, Look, Point, Scale, Series};
use crate::quantity::{count, rounded, share};
use crate::{Entry, Grid, Page};

/// Maximum number of designs in a figure. More designs are hard to distinguish.
const MOST_DESIGNS: usize = 24;

/// Maximum number of functions and variables in a figure. The table has more.
const PLACES_DRAWN: usize = 15;

/// Ratio of the longest segment to the median, above which the axis of lengths is logarithmic.
const STRETCHED: u64 = 5;

/// Adds figures that compare several records.
pub(super) fn add_of_all(page: &mut Page, records: &[(&str, &Simulation, &Findings)]) {
    overhead::add_of_all(page, records);
    add_quanta(page, records);
}

/// Adds all figures of one record to an HTML page; nothing to a report for a terminal.
pub(super) fn add(page: &mut Page, head: &Simulation, findings: &Findings) {
    if !page.has_figures() {
        return;
    }
    add_lengths(page, findings);
    for (number, design) in detailed(findings).iter().enumerate() {
        curves::add(page, findings, design, number);
    }
    overhead::add(page, head, findings);
    causes::add(page, findings);
    add_evictions(page, findings);
    add_code(page, findings);
}

/// Returns the name of a group of switches in figures.
fn name(group: &Group) -> String {
    match group {
        Group::All => "all".to_owned(),
        Group::Class(class) | Group::Tasks(class) => (*class).to_owned(),
        Group::Cause(cause) => cause.clone(),
        Group::EndClass(class) => format!("before {class}"),
    }
}

/// Returns true for the group of all switches, and for classes of switches.
fn is_class(group: &Group) -> bool {
    matches!(group, Group::All | Group::Class(_))
}

fn cycles(x: f64, cycles: f64) -> Point {
    Point::new(x, cycles, format!("{} cycles", rounded(cycles)))
}

/// Function that returns a part of the cost of a switch in cycles; `None` if unknown.
type Part = fn(&DesignFinding) -> Option<f64>;

/// Parts of the cost of a switch. Losses are positive, savings negative.
const PARTS: [(&str, Part); 3] = [
    ("lost to others", |design| design.lost_cycles.estimate),
    ("gained from others", |design| {
        design.gained_cycles.estimate.map(|cycles| -cycles)
    }),
    ("state of replacement and prefetch", |design| {
        design.state_cycles.estimate
    }),
];

fn bars(designs: &[&DesignFinding], (name, part): (&str, Part)) -> Series {
    let parts = designs.iter().enumerate();
    let points =
        parts.map(|(place, design)| cycles(place as f64, part(design).unwrap_or_default()));
    Series::new(Look::Bars, name, points)
}

fn net(place: usize, cost: &Cost) -> Option<Point> {
    let centre = cost.estimate?;
    let text = format!("{} cycles {}", with_bound(cost), ends(cost));
    let (low, high) = cost.interval.unwrap_or((centre, centre));
    Some(Point::new(place as f64, centre, text.trim_end()).between(low, high))
}

fn design_names(designs: &[&DesignFinding]) -> Axis {
    Axis::names("design", designs.iter().map(|design| &design.name))
}

/// Draws the cost of a switch on each design, with its parts; `None` if no cost is known.
pub(super) fn costs(findings: &Findings) -> Option<Chart> {
    let designs: Vec<&DesignFinding> = findings.designs.iter().take(MOST_DESIGNS).collect();
    let nets = designs.iter().enumerate();
    let nets: Vec<Point> = nets
        .filter_map(|(place, design)| net(place, &design.average_cost_cycles))
        .collect();
    let more = match findings.designs.len() - designs.len() {
        0 => String::new(),
        left_out => format!(" {left_out} more designs are in the tables."),
    };
    let grid = Grid::new(1)
        .left(["design"])
        .right(["net", "interval", "lost", "gained", "state"]);
    let row = |design: &&DesignFinding| {
        let cost = &design.average_cost_cycles;
        let parts = [
            &design.lost_cycles,
            &design.gained_cycles,
            &design.state_cycles,
        ]
        .map(known);
        [design.name.clone(), with_bound(cost), ends(cost)]
            .into_iter()
            .chain(parts)
    };
    let y = Axis::new(Scale::Linear, "simulated cycles a switch");
    let chart = Chart::new("costs", "Cost of a switch by design", design_names(&designs), y)
        .across()
        .with(PARTS.map(|part| bars(&designs, part)))
        .caption(format!(
            "Bars: the cycles that a switch costs (right of 0) and saves (left), up to the cut-off. Diamonds: the net cost with \
             its interval. Savings by first touches are not included.{more}"
        ))
        .numbers(grid.with_rows(designs.iter().map(row)));
    if nets.is_empty() {
        return None;
    }
    Some(chart.with([Series::new(Look::Range, "net, with its interval", nets)]))
}

/// Draws the cycles saved on each design when a task first touches lines that other tasks have
/// loaded.
pub(super) fn first_touches(findings: &Findings) -> Chart {
    let saved =
        |design: &&DesignFinding| design.first_touch_cycles.is_some_and(|cycles| cycles > 0.0);
    let designs: Vec<&DesignFinding> = findings
        .designs
        .iter()
        .filter(saved)
        .take(MOST_DESIGNS)
        .collect();
    let y = Axis::new(Scale::Linear, "simulated cycles in all");
    let part: Part = |design| design.first_touch_cycles;
    Chart::new("first-touches", "Saved once, at first touches", design_names(&designs), y)
        .across()
        .with([bars(&designs, ("once, at first touches", part)).coloured(PARTS.len())])
        .caption(
            "Cycles saved when a process first used lines that others had loaded, such as a library's code. They are saved \
             once, not per switch.",
        )
}

/// Adds figure 1 of Mogul and Borg: the lengths of segments by cause.
fn add_lengths(page: &mut Page, findings: &Findings) {
    let lengths: Vec<&LengthDistribution> = findings
        .lengths
        .iter()
        .filter(|lengths| is_class(&lengths.group))
        .collect();
    if lengths.is_empty() {
        return;
    }
    page.heading(
        "Lengths of segments",
        "a segment: the instructions between two switches",
    );
    let series = lengths.iter().map(|lengths| {
        let points = lengths
            .points
            .iter()
            .map(|point| Point::new(point.instructions as f64, point.share, share(point.share)));
        Series::new(Look::Line, name(&lengths.group), points)
    });
    let is_stretched = |lengths: &&LengthDistribution| {
        lengths.max_instructions / STRETCHED > lengths.median_instructions
    };
    let scale = if lengths.iter().any(is_stretched) {
        Scale::Log
    } else {
        Scale::Linear
    };
    let title = "Distribution of segment lengths (figure 1 of Mogul and Borg 1990)";
    let (x, y) = (
        Axis::new(scale, "instructions in the segment"),
        Axis::new(Scale::Share, "share of segments"),
    );
    page.figure(|| {
        Chart::new("lengths", title, x, y)
            .with(series)
            .caption(
                "Share of segments with at most this many instructions, by why the task had left the CPU. A curve crosses 50 % \
                 at the median.",
            )
            .numbers(table_of_lengths(&lengths))
    });
    page.method(["simulated-cost"]);
}

fn table_of_lengths(lengths: &[&LengthDistribution]) -> Grid {
    let mut grid = Grid::new(1).left(["after"]).right([
        "segments",
        "at most (instructions)",
        "share",
        "median",
        "mean",
        "longest",
    ]);
    for lengths in lengths {
        let name = || Entry::from(name(&lengths.group));
        let none = Entry::default;
        let [median, longest] = [lengths.median_instructions, lengths.max_instructions].map(count);
        let mean = rounded(lengths.mean_instructions);
        let segments = count(lengths.segments);
        grid.row(entries![
            name(),
            segments,
            none(),
            none(),
            median,
            mean,
            longest
        ]);
        for point in &lengths.points {
            let length = count(point.instructions);
            grid.row(entries![name(), none(), length, share(point.share)]);
        }
    }
    grid
}

/// Adds a heat map of evictions by evictor and victim for each design, for the level with most
/// evictions.
fn add_evictions(page: &mut Page, findings: &Findings) {
    let lines = |table: &EvictionTable| {
        table
            .lines
            .iter()
            .flatten()
            .fold(0_u64, |sum, n| sum.saturating_add(*n))
    };
    let most = |design: &'_ DesignFinding| {
        design
            .evictions
            .iter()
            .filter(|table| lines(table) > 0)
            .max_by_key(|table| lines(table))
            .cloned()
    };
    let tables: Vec<(&DesignFinding, Option<EvictionTable>)> = detailed(findings)
        .iter()
        .map(|design| (design, most(design)))
        .collect();
    if tables.iter().all(|(_, table)| table.is_none()) {
        return;
    }
    page.heading(
        "Evictions, drawn",
        "the level of each design with most evictions",
    );
    for (number, (design, table)) in tables.iter().enumerate() {
        page.figure(|| Some(evictions(design, table.as_ref()?, number)));
    }
    page.method(["simulated-cost"]);
}

fn evictions(design: &DesignFinding, table: &EvictionTable, number: usize) -> Chart {
    let cell = |lines: &u64| (Some(*lines as f64), format!("{} lines", count(*lines)));
    let rows = table.lines.iter().map(|row| row.iter().map(cell).collect());
    let (victims, evictors) = (
        Axis::names("victim", &table.programs),
        Axis::names("evictor", &table.programs),
    );
    let title = format!("{}: evictions in {}", design.name, table.level);
    Chart::new(
        format!("evictions-{}", number + 1),
        title,
        victims,
        evictors,
    )
    .cells(rows.collect(), false)
    .caption("Simulated evictions from the shared hierarchy, by program.")
    .hide_numbers()
}

/// Adds a figure of the excess cycles by function for each design.
fn add_code(page: &mut Page, findings: &Findings) {
    let designs: Vec<&DesignFinding> = detailed(findings)
        .iter()
        .filter(|design| !design.code.is_empty())
        .collect();
    if designs.is_empty() {
        return;
    }
    page.heading(
        "The most affected code, as a chart",
        "excess cycles by place, simulated",
    );
    for (number, design) in designs.iter().enumerate() {
        page.figure(|| code(design, number));
    }
    page.method(["simulated-cost"]);
}

fn code(design: &DesignFinding, number: usize) -> Chart {
    let places: Vec<&PlaceFinding> = design.code.iter().take(PLACES_DRAWN).collect();
    let names = places
        .iter()
        .map(|code| format!("{}: {}", code.program, code.place));
    let points = places.iter().enumerate().map(|(place, code)| {
        let paid = code.excess_cycles as f64;
        let text = format!("{} cycles ({})", rounded(paid), share(code.share));
        let line = code
            .line
            .as_deref()
            .map(|line| format!("{line}, "))
            .unwrap_or_default();
        Point::new(place as f64, paid, text).with_note(format!("{line}after {}", code.cause))
    });
    let y = Axis::new(Scale::Linear, "simulated excess cycles");
    let title = format!("{}: most affected code", design.name);
    Chart::new(format!("code-{}", number + 1), title, Axis::names("place", names), y)
        .across()
        .with([Series::new(Look::Bars, "excess", points)])
        .caption("Simulated excess cycles by place in the code. Below 0: another process had loaded the lines.")
        .numbers(programs::add_place_columns(Grid::new(2)).with_rows(design.code.iter().map(programs::place)))
}

/// Function that returns the height of a curve for one schedule, as a number and as text; `None`
/// for no point.
type Height = fn(&OrderFinding) -> Option<(f64, String)>;

/// Adds a table and curves of the cost by schedule, if the records are simulations of the same work
/// in different orders.
fn add_quanta(page: &mut Page, records: &[(&str, &Simulation, &Findings)]) {
    let heads: Vec<&Simulation> = records.iter().map(|(_, head, _)| *head).collect();
    let Some(first) = heads.first().filter(|_| are_orders(&heads)) else {
        return;
    };
    let all: Vec<_> = records
        .iter()
        .map(|(_, head, findings)| (*head, *findings))
        .collect();
    let orders = over_orders(&all);
    orders::add(page, &first.trace.source, &orders, true);
    page.figure(|| {
        let height: Height = |order| {
            let cycles = order.average_cost_cycles.estimate.filter(|cycles| *cycles > 0.0)?;
            Some((cycles, orders::cycles_in_words(cycles)))
        };
        quanta(&orders, height, Axis::new(Scale::Log, "cycles a switch (simulated)"), ["cost-by-quantum", "Cost of a switch by quantum"])
            .caption("Net cost of an average switch, by the length of a time slice in instructions. All orders have the same \
                references.")
    });
    page.figure(|| {
        let height: Height = |order| Some((order.excess_share?, share(order.excess_share)));
        quanta(&orders, height, Axis::new(Scale::Share, "of all cycles (simulated)"), ["share-by-quantum", "Share of time lost by quantum"])
            .caption(
                "Share of all cycles that switches cost, without the kernel's own work, by the length of a time slice in \
                 instructions. All orders have the same references.",
            )
    });
}

fn quanta(orders: &[OrderFinding], height: Height, y: Axis, [id, title]: [&str; 2]) -> Chart {
    let mut lines: BTreeMap<(&str, &str), Vec<Point>> = BTreeMap::new();
    for order in orders {
        if let (Some(quantum), Some((height, text))) = (order.quantum_instructions, height(order)) {
            let note = format!("{} switches", count(order.switches));
            let point = Point::new(quantum as f64, height, text).with_note(note);
            lines
                .entry((&order.design, &order.order))
                .or_default()
                .push(point);
        }
    }
    lines.retain(|_, points| points.len() > 1);
    let series = lines.into_iter().map(|((design, order), points)| {
        Series::new(Look::Line, format!("{design}, {order}"), points)
    });
    Chart::new(id, title, Axis::new(Scale::Log, "quantum, instructions"), y)
        .with(series)
        .hide_numbers()
}
