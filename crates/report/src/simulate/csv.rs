use switchcost_analysis::simulation::{Cost, DesignFinding, Findings, GroupFinding, Point, Spread};
use switchcost_design::result::Simulation;

use crate::for_programs::Table;

/// What a row is about.
struct Row<'a> {
    head: &'a Simulation,
    design: &'a DesignFinding,
    group: &'a GroupFinding,
    /// `None` in the row that sums a group up.
    point: Option<&'a Point>,
}

/// A column: its name, and the function that gives its field.
type Column = (&'static str, fn(&Row<'_>) -> String);

const COLUMNS: [Column; 50] = [
    ("row", |r| {
        if r.point.is_some() {
            "interval"
        } else {
            "total"
        }
        .to_owned()
    }),
    ("design", |r| r.design.name.clone()),
    ("kind", |r| r.group.group.kind().to_owned()),
    ("cause", |r| r.group.group.name().to_owned()),
    ("segments", |r| {
        r.point
            .map_or(r.group.segments, |point| point.segments)
            .to_string()
    }),
    ("survivors", |r| {
        point_cell(r, |point| Some(point.survivors))
    }),
    ("interval", |r| {
        r.point
            .map(|point| point.interval.to_string())
            .unwrap_or_default()
    }),
    ("since_switch_instructions", |r| {
        r.point
            .map(|point| point.since_switch_instructions.to_string())
            .unwrap_or_default()
    }),
    ("shared_cpi", |r| {
        spread_cell(r, |point| &point.shared_cpi, |spread| Some(spread.mean))
    }),
    ("shared_cpi_sd", |r| {
        spread_cell(r, |point| &point.shared_cpi, |spread| spread.sd)
    }),
    ("shared_cpi_max", |r| {
        spread_cell(r, |point| &point.shared_cpi, |spread| spread.max)
    }),
    ("private_cpi", |r| {
        spread_cell(r, |point| &point.private_cpi, |spread| Some(spread.mean))
    }),
    ("private_cpi_sd", |r| {
        spread_cell(r, |point| &point.private_cpi, |spread| spread.sd)
    }),
    ("private_cpi_max", |r| {
        spread_cell(r, |point| &point.private_cpi, |spread| spread.max)
    }),
    ("excess_cpi", |r| {
        spread_cell(r, |point| &point.excess_cpi, |spread| Some(spread.mean))
    }),
    ("excess_cpi_sd", |r| {
        spread_cell(r, |point| &point.excess_cpi, |spread| spread.sd)
    }),
    ("excess_cpi_max", |r| {
        spread_cell(r, |point| &point.excess_cpi, |spread| spread.max)
    }),
    ("flushed_cpi", |r| {
        point_cell(r, |point| Some(point.flushed_cpi))
    }),
    ("cumulative_excess_cycles", |r| {
        point_cell(r, |point| Some(point.cumulative_excess_cycles))
    }),
    ("cost_cycles", |r| {
        total_cell(r, |r| r.group.cost_cycles.estimate)
    }),
    ("cost_low_cycles", |r| {
        total_cell(r, |r| r.group.cost_cycles.low)
    }),
    ("cost_high_cycles", |r| {
        total_cell(r, |r| r.group.cost_cycles.high)
    }),
    ("cost_why", missing_reason),
    ("cut_instructions", |r| {
        total_cell(r, |r| Some(r.group.cut.instructions as f64))
    }),
    ("median_instructions", |r| {
        total_cell(r, |r| {
            r.group.median_instructions.map(|median| median as f64)
        })
    }),
    ("excess_cycles", |r| {
        total_cell(r, |r| Some(r.group.excess_cycles))
    }),
    ("instructions", |r| {
        design_cell(r, |r| Some(r.design.instructions as f64))
    }),
    ("data_refs", |r| {
        design_cell(r, |r| Some(r.design.data_refs as f64))
    }),
    ("voluntary_switches", |r| {
        design_cell(r, |r| Some(r.head.trace.voluntary_switches as f64))
    }),
    ("involuntary_switches", |r| {
        design_cell(r, |r| Some(r.head.trace.involuntary_switches as f64))
    }),
    ("shared_cycles", |r| {
        design_cell(r, |r| Some(r.design.hierarchies.shared.cycles as f64))
    }),
    ("private_cycles", |r| {
        design_cell(r, |r| Some(r.design.hierarchies.private.cycles as f64))
    }),
    ("flushed_cycles", |r| {
        design_cell(r, |r| Some(r.design.hierarchies.flushed.cycles as f64))
    }),
    ("overhead_percent", |r| {
        design_cell(r, |r| r.design.overhead.map(|share| share * 100.0))
    }),
    ("excess_percent", |r| {
        design_cell(r, |r| r.design.excess_share.map(|share| share * 100.0))
    }),
    ("excess_cycles_per_switch", |r| {
        design_cell(r, |r| r.design.excess_cycles_per_switch)
    }),
    ("flushed_cycles_per_switch", |r| {
        design_cell(r, |r| r.design.flushed_cycles_per_switch)
    }),
    ("reload_bound_cycles", |r| {
        design_cell(r, |r| Some(r.design.reload_bound_cycles as f64))
    }),
    ("agarwal_cycles_per_switch", |r| {
        design_cell(r, |r| {
            r.design
                .agarwal
                .as_ref()
                .map(|model| model.cycles_per_switch)
        })
    }),
    ("lost_cycles", |r| {
        total_cell(r, |r| r.group.lost_cycles.estimate)
    }),
    ("lost_low_cycles", |r| {
        total_cell(r, |r| r.group.lost_cycles.low)
    }),
    ("lost_high_cycles", |r| {
        total_cell(r, |r| r.group.lost_cycles.high)
    }),
    ("gained_cycles", |r| {
        total_cell(r, |r| r.group.gained_cycles.estimate)
    }),
    ("gained_low_cycles", |r| {
        total_cell(r, |r| r.group.gained_cycles.low)
    }),
    ("gained_high_cycles", |r| {
        total_cell(r, |r| r.group.gained_cycles.high)
    }),
    ("lost_percent", |r| {
        design_cell(r, |r| r.design.lost_share.map(|share| share * 100.0))
    }),
    ("state_cycles", |r| {
        total_cell(r, |r| r.group.state_cycles.estimate)
    }),
    ("state_low_cycles", |r| {
        total_cell(r, |r| r.group.state_cycles.low)
    }),
    ("state_high_cycles", |r| {
        total_cell(r, |r| r.group.state_cycles.high)
    }),
    ("first_touch_cycles", |r| {
        design_cell(r, |r| r.design.first_touch_cycles)
    }),
];

/// A line of names; then for each design and each group of segments a row of totals, and a row for each interval.
pub(super) fn table(head: &Simulation, findings: &Findings) -> Table {
    let names = COLUMNS.iter().map(|(name, _)| (*name).to_owned()).collect();
    let rows = findings
        .designs
        .iter()
        .flat_map(|design| rows_of(head, design));
    std::iter::once(names).chain(rows).collect()
}

fn rows_of<'a>(
    head: &'a Simulation,
    design: &'a DesignFinding,
) -> impl Iterator<Item = Vec<String>> + 'a {
    design.groups.iter().flat_map(move |group| {
        let points = std::iter::once(None).chain(group.curve.iter().map(Some));
        points.map(move |point| {
            let row = Row {
                head,
                design,
                group,
                point,
            };
            COLUMNS.iter().map(|(_, value)| value(&row)).collect()
        })
    })
}

fn point_cell(row: &Row<'_>, value: fn(&Point) -> Option<f64>) -> String {
    float(row.point.and_then(value))
}

fn spread_cell(
    row: &Row<'_>,
    spread: fn(&Point) -> &Spread,
    value: fn(&Spread) -> Option<f64>,
) -> String {
    float(row.point.map(spread).and_then(value))
}

fn total_cell(row: &Row<'_>, value: fn(&Row<'_>) -> Option<f64>) -> String {
    if row.point.is_some() {
        String::new()
    } else {
        float(value(row))
    }
}

/// A cell that only the row of totals over all segments has.
fn design_cell(row: &Row<'_>, value: fn(&Row<'_>) -> Option<f64>) -> String {
    let is_all = row.group.group == switchcost_analysis::simulation::Group::All;
    if is_all {
        total_cell(row, value)
    } else {
        String::new()
    }
}

fn missing_reason(row: &Row<'_>) -> String {
    let cost: &Cost = &row.group.cost_cycles;
    if row.point.is_some() {
        String::new()
    } else {
        cost.why.clone().unwrap_or_default()
    }
}

pub(super) fn float(value: Option<f64>) -> String {
    value
        .filter(|value| value.is_finite())
        .map(|value| value.to_string())
        .unwrap_or_default()
}
