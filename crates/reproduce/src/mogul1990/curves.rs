//! Figures 1 to 7 of Mogul and Borg, for the first trial of a set of programs: lengths of segments,
//! CPI since the switch, excess CPI and its integral.

use switchcost_analysis::simulation::{DesignFinding, Findings, Group, Point};

use super::sample::{CLIENT, COMPUTE, FEWEST_SEGMENTS, TIMESHARING};
use super::{SETS, first};
use crate::claims::{Found, exact};
use crate::exhibit::{Cell, NO_COLUMNS};
use crate::published::mogul_table_4;
use crate::{Axis, Chart, Exhibit, Outcome, Records, Series, Style, Table};

/// Groups of switches that are drawn, with their names: all switches, and each class.
const GROUPS: [(Group, &str); 4] = [
    (Group::All, "all, births and exits too"),
    (Group::Class("system call"), "system call"),
    (Group::Class("page fault"), "page fault"),
    (Group::Class("involuntary"), "scheduler"),
];

/// Function that returns the drawn value of a point, and whether the value is drawn at the end of
/// the point's interval.
type Value = (fn(&Point) -> f64, bool);

const SHARED: Value = (|point| point.shared_cpi.mean, false);
pub(super) const PRIVATE: Value = (|point| point.private_cpi.mean, false);
const EXCESS: Value = (|point| point.excess_cpi.mean, false);
const CUMULATIVE: Value = (|point| point.cumulative_excess_cycles, true);

pub(super) fn exhibits(records: &Records) -> Vec<Exhibit> {
    let over_time =
        |name, title, set, y_title, value| over_time(records, (name, title), set, y_title, value);
    let so_far_of = |name, title, set: usize| {
        let mut exhibit = over_time(name, title, set, "cumulative excess cycles", CUMULATIVE);
        add_published(&mut exhibit, SETS[set].trials[0]);
        exhibit
    };
    let mut private = over_time(
        "Figure 3",
        "CPI since the switch, a cache for each process, Trial A",
        TIMESHARING,
        "CPI, private",
        PRIVATE,
    );
    private
        .add_note("Short segments end early, so the right part of a curve covers other programs.");
    let mut so_far_of_timesharing = so_far_of(
        "Figure 5",
        "Cumulative excess cycles, Timesharing (Trial A)",
        TIMESHARING,
    );
    let mut so_far_of_pair = so_far_of(
        "Figure 7",
        "Cumulative excess cycles, Client-Server (Trial C)",
        CLIENT,
    );
    if let Some(chart) = &mut so_far_of_pair.chart {
        chart
            .marks
            .push((4000.0, "flat from here on, published".to_owned()));
    }
    so_far_of_timesharing.add_note("\"All\" may lie below the other curves: it includes segments that begin with a birth or an exit, whose private \
         caches are as cold as the shared ones.");
    vec![
        lengths(records),
        over_time(
            "Figure 2",
            "CPI since the switch, one cache for all, Trial A",
            TIMESHARING,
            "CPI, shared",
            SHARED,
        ),
        private,
        over_time(
            "Figure 4",
            "Excess CPI since the switch, Trial A",
            TIMESHARING,
            "excess CPI",
            EXCESS,
        ),
        so_far_of_timesharing,
        so_far_of(
            "Figure 6",
            "Cumulative excess cycles, Compute-bound (Trial B)",
            COMPUTE,
        ),
        so_far_of_pair,
    ]
}

/// Adds the average cost of a published trial in Table 4 as a horizontal line.
fn add_published(exhibit: &mut Exhibit, trial: &str) {
    let table = mogul_table_4();
    let published = table.iter().find(|row| row.trial == trial);
    let (Some(chart), Some(row)) = (&mut exhibit.chart, published) else {
        return;
    };
    let cycles = row.average_cost_cycles;
    let ends = chart.series.iter().flat_map(|series| &series.x);
    let end = ends.copied().fold(0.0, f64::max);
    chart.series.push(Series::new(
        "average cost, published",
        Style::Published,
        [(0.0, cycles), (end, cycles)],
    ));
}

/// Returns Figure 1: the lengths of the segments of trial A, by the reason why they end.
fn lengths(records: &Records) -> Exhibit {
    let mut exhibit = Exhibit::new(
        "Figure 1",
        "Lengths of trace segments, Timesharing (Trial A)",
        NO_COLUMNS,
    );
    if let Ok((trial, _)) = first(records, TIMESHARING, "1a") {
        exhibit.add_step(&trial.step);
        draw_lengths(&mut exhibit, trial.findings);
    }
    exhibit.add_note(
        "Today's memory holds these programs; *Figure 1 with a disk* models page faults.",
    );
    exhibit
}

/// Draws the distribution of segment lengths, with a curve for each reason why segments end.
pub(super) fn draw_lengths(exhibit: &mut Exhibit, findings: &Findings) {
    let groups = [
        (Group::All, "all"),
        (Group::EndClass("system call"), "system call"),
        (Group::EndClass("page fault"), "page fault"),
        (Group::EndClass("involuntary"), "scheduler"),
    ];
    exhibit.table = Table::new([
        "ends by",
        "segments",
        "median instructions",
        "mean instructions",
        "longest",
    ]);
    let mut series = Vec::new();
    for (wanted, name) in &groups {
        let Some(found) = findings
            .lengths
            .iter()
            .find(|lengths| lengths.group == *wanted)
        else {
            continue;
        };
        let points = found
            .points
            .iter()
            .map(|point| (point.instructions as f64, point.share));
        series.push(Series::new(*name, Style::Found, points));
        exhibit.row(vec![
            (*name).into(),
            Cell::number(found.segments as f64, 0),
            Cell::number(found.median_instructions as f64, 0),
            Cell::number(found.mean_instructions, 0),
            Cell::number(found.max_instructions as f64, 0),
        ]);
    }
    exhibit.chart = Some(Chart::new(
        "instructions in a segment",
        Axis::Linear,
        "share of segments",
        Axis::Share,
        series,
    ));
}

/// Returns the ratio of two median lengths of segments in the first trial: of segments that end in
/// a system call, over segments that the scheduler ends.
pub(super) fn median_lengths(records: &Records) -> Outcome {
    let (trial, _) = first(records, TIMESHARING, "1a")?;
    let median = |class| {
        let found = trial
            .findings
            .lengths
            .iter()
            .find(|lengths| lengths.group == Group::EndClass(class));
        found
            .map(|lengths| lengths.median_instructions as f64)
            .ok_or("no segment of one of the classes")
    };
    let (call, quantum) = (median("system call")?, median("involuntary")?);
    Ok(Found::number(
        exact(
            "median length, ended by system calls over ended by the scheduler",
            call / quantum,
        ),
        "",
    ))
}

/// Returns an exhibit with a chart of one value over the instructions since the switch, and a table
/// of these values.
fn over_time(
    records: &Records,
    (name, title): (&str, &str),
    set: usize,
    y_title: &str,
    value: Value,
) -> Exhibit {
    let mut exhibit = Exhibit::new(name, title, NO_COLUMNS);
    if let Ok((trial, design)) = first(records, set, "1a") {
        exhibit.add_step(&trial.step);
        draw(
            &mut exhibit,
            (trial.findings.interval_instructions, design),
            y_title,
            value,
        );
    }
    exhibit
}

/// Draws the curves of a design. `length` is the number of instructions in an interval.
pub(super) fn draw(
    exhibit: &mut Exhibit,
    (length, design): (u64, &DesignFinding),
    y_title: &str,
    (value, at_end): Value,
) {
    exhibit.table = Table::new([
        "after",
        "instructions since the switch",
        "segments",
        y_title,
    ]);
    let mut series = Vec::new();
    for (wanted, name) in &GROUPS {
        let found = design
            .groups
            .iter()
            .find(|found| found.group == *wanted && !found.curve.is_empty());
        let Some(found) = found else { continue };
        let place = |point: &Point| {
            point.since_switch_instructions as f64
                + if at_end {
                    length as f64
                } else {
                    length as f64 / 2.0
                }
        };
        // A cumulative sum begins with 0.
        let start = at_end.then_some((0.0, 0.0));
        let told: Vec<&Point> = found
            .curve
            .iter()
            .filter(|point| point.segments as f64 >= FEWEST_SEGMENTS)
            .collect();
        if told.is_empty() {
            continue;
        }
        let points = told.iter().map(|point| (place(point), value(point)));
        series.push(Series::new(
            *name,
            Style::Found,
            start.into_iter().chain(points),
        ));
        for point in told {
            exhibit.row(vec![
                (*name).into(),
                Cell::number(place(point), 0),
                Cell::number(point.segments as f64, 0),
                Cell::number(value(point), 4),
            ]);
        }
    }
    let mut chart = Chart::new(
        "instructions since the switch",
        Axis::Linear,
        y_title,
        Axis::Linear,
        series,
    );
    chart
        .marks
        .push((design.cut.instructions as f64, "cut-off of all".to_owned()));
    exhibit.chart = Some(chart);
}
