use plotly::Layout;
use plotly::layout::{Axis, AxisRange};
use switchcost_analysis::simulation::{
    DesignFinding, Findings, Group, GroupFinding, Point, Spread,
};

use super::name;
use super::series::line;
use crate::entry::Entry;
use crate::figure::{Beside, Drawing, Figure, layout, linear_axis, note, upright};
use crate::grid::Grid;
use crate::page::Page;
use crate::quantity::number;
use crate::simulate::amount::{count, ends, rounded, share, with_bound};

/// What a point of a curve shows of its interval.
struct View {
    name: &'static str,
    title: &'static str,
    caption: &'static str,
    spread: fn(&Point) -> &Spread,
}

const VIEWS: [View; 3] = [
    View {
        name: "shared",
        title: "CPI since the switch, one hierarchy for all (figure 2)",
        caption: "Simulated cycles an instruction in a hierarchy that all processes share.",
        spread: |point| &point.shared_cpi,
    },
    View {
        name: "private",
        title: "CPI since the switch, one hierarchy for each process (figure 3)",
        caption: "The same as if each process had the machine to itself. What is left of a fall here is no interference: \
                  new data after a system call, or short segments that end.",
        spread: |point| &point.private_cpi,
    },
    View {
        name: "excess",
        title: "Excess CPI since the switch (figure 4)",
        caption: "Shared less private: what the others cost.",
        spread: |point| &point.excess_cpi,
    },
];

/// A curve of fewer segments is noise that would set the scale of all others: its numbers are in the table alone.
const FEW: u64 = 30;

/// Figures 2 to 7 of the paper for one design: curves of all switches, and by class.
pub(super) fn add(page: &mut Page, findings: &Findings, design: &DesignFinding, place: usize) {
    let shown = |group: &Group| matches!(group, Group::All | Group::Class(_));
    let groups: Vec<&GroupFinding> = design
        .groups
        .iter()
        .filter(|group| shown(&group.group) && !group.curve.is_empty())
        .collect();
    if groups.is_empty() {
        return;
    }
    let about = "simulated; the figures are those of Mogul and Borg 1990";
    page.heading(
        &format!("Curves since the switch on {}", design.name),
        about,
    );
    let length = findings.interval_instructions;
    for view in &VIEWS {
        page.figure(|| Some(draw(view, design, &groups, length, place)));
    }
    page.figure(|| Some(draw_cumulative(design, &groups, length, place)));
    page.method(&["simulated-cost", "simulation"]);
}

/// All segments, and the groups that are large enough, with their numbers.
fn drawn<'a>(groups: &'a [&'a GroupFinding]) -> impl Iterator<Item = (usize, &'a GroupFinding)> {
    let is_drawn = |group: &GroupFinding| group.group == Group::All || group.segments >= FEW;
    groups
        .iter()
        .copied()
        .enumerate()
        .filter(move |(_, group)| is_drawn(group))
}

/// From the switch to where fewer than a few segments are left.
fn since_switch(groups: &[&GroupFinding], length: u64) -> Axis {
    let reached = |least: u64| {
        let points = drawn(groups)
            .flat_map(|(_, group)| &group.curve)
            .filter(move |point| point.segments >= least);
        points
            .map(|point| point.since_switch_instructions.saturating_add(length))
            .max()
    };
    let end = reached(FEW).or_else(|| reached(1)).unwrap_or(length);
    linear_axis("instructions since the switch").range(AxisRange::new(0.0, end as f64))
}

/// What a caption says of the groups that are not drawn.
fn left_out(groups: &[&GroupFinding]) -> String {
    let few: Vec<String> = groups
        .iter()
        .filter(|group| !drawn(groups).any(|(_, other)| other.group == group.group))
        .map(|group| format!("{} ({})", name(&group.group), count(group.segments)))
        .collect();
    if few.is_empty() {
        String::new()
    } else {
        format!(
            " Not drawn, of fewer than {FEW} segments: {}.",
            few.join(", ")
        )
    }
}

fn draw(
    view: &View,
    design: &DesignFinding,
    groups: &[&GroupFinding],
    length: u64,
    place: usize,
) -> Figure {
    let traces = drawn(groups).map(|(i, group)| {
        let name = name(&group.group);
        let points = group.curve.iter().map(|point| {
            let spread = (view.spread)(point);
            let since = point.since_switch_instructions;
            let (mean, segments) = (number(spread.mean), count(point.segments));
            let sd = spread
                .sd
                .map(|sd| format!(", sd {}", number(sd)))
                .unwrap_or_default();
            let text = format!(
                "{name}: {mean}{sd}<br>{} instructions since the switch, {segments} segments",
                count(since)
            );
            (since as f64 + length as f64 / 2.0, spread.mean, text)
        });
        line(i, &name, points)
    });
    let base = layout()
        .x_axis(since_switch(groups, length))
        .y_axis(linear_axis("simulated CPI"));
    Figure {
        name: format!("{}-{}", view.name, place + 1),
        title: format!("{}: {}", design.name, view.title),
        caption: format!(
            "{} Each point stands in the middle of its interval. Dotted: the cut-off of all switches, behind which too \
             few segments remain.{}",
            view.caption,
            left_out(groups)
        ),
        drawing: Drawing::new(traces.collect(), with_cut(base, design)),
        table: Some(table(groups, &["CPI", "sd", "largest"], |point| {
            let spread = (view.spread)(point);
            let optional = |value: Option<f64>| value.map(number).unwrap_or_default();
            vec![
                number(spread.mean),
                optional(spread.sd),
                optional(spread.max),
            ]
        })),
    }
}

/// The integral of the excess: what a switch has cost so far.
fn draw_cumulative(
    design: &DesignFinding,
    groups: &[&GroupFinding],
    length: u64,
    place: usize,
) -> Figure {
    let traces = drawn(groups).map(|(i, group)| {
        let name = name(&group.group);
        let points = group.curve.iter().map(|point| {
            let end = point.since_switch_instructions.saturating_add(length);
            let cycles = point.cumulative_excess_cycles;
            (
                end as f64,
                cycles,
                format!(
                    "{name}: {} cycles after {} instructions",
                    rounded(cycles),
                    count(end)
                ),
            )
        });
        let start = std::iter::once((0.0, 0.0, format!("{name}: 0 cycles at the switch")));
        line(i, &name, start.chain(points))
    });
    let y_axis = linear_axis("simulated excess cycles");
    let base = layout().x_axis(since_switch(groups, length)).y_axis(y_axis);
    let cost = &design.average_cost_cycles;
    let interval = if ends(cost).is_empty() {
        String::new()
    } else {
        format!(" ({})", ends(cost))
    };
    Figure {
        name: format!("cumulative-{}", place + 1),
        title: format!("{}: cumulative excess cycles (figures 5 to 7)", design.name),
        caption: format!(
            "What a switch has cost up to there, in simulated cycles. At the cut-off (dotted, after {} instructions) it is \
             the cost of a switch: {}{interval}. A curve that still rises there has no end in sight.{}",
            count(design.cut.instructions),
            with_bound(cost),
            left_out(groups)
        ),
        drawing: Drawing::new(traces.collect(), with_cut(base, design)),
        table: Some(table(groups, &["cumulative excess cycles"], |point| {
            vec![rounded(point.cumulative_excess_cycles)]
        })),
    }
}

fn with_cut(base: Layout, design: &DesignFinding) -> Layout {
    let cut = design.cut.instructions as f64;
    base.shapes(vec![upright(cut)])
        .annotations(vec![note("cut-off", cut, 0.98, Beside::Left)])
}

fn table(groups: &[&GroupFinding], names: &[&str], values: impl Fn(&Point) -> Vec<String>) -> Grid {
    let columns = [
        "instructions since the switch",
        "segments",
        "share of segments",
    ]
    .iter()
    .chain(names);
    let mut grid = Grid::new(2).left(["after"]).right(columns.copied());
    for group in groups {
        for point in &group.curve {
            let mut row: Vec<Entry> = vec![
                name(&group.group).into(),
                count(point.since_switch_instructions).into(),
                count(point.segments).into(),
                share(Some(point.survivors)).into(),
            ];
            row.extend(values(point).iter().map(Entry::from));
            grid.row(row);
        }
    }
    grid
}
