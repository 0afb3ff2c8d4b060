use switchcost_analysis::Estimate;
use switchcost_analysis::injection::{Findings, FootprintFinding};
use switchcost_record::injection::Injection;
use switchcost_units::{CpuId, Nanos};

use crate::for_programs::{self, Column, Table};

fn columns<'a>() -> [Column<Row<'a>>; 13] {
    [
        ("footprint_bytes", |row| {
            row.found.footprint_bytes.0.to_string()
        }),
        ("cost_low_ns", |row| {
            format_number(row.found.cost_ns.as_ref(), |cost| cost.low)
        }),
        ("cost_ns", |row| {
            format_number(row.found.cost_ns.as_ref(), |cost| cost.estimate)
        }),
        ("cost_high_ns", |row| {
            format_number(row.found.cost_ns.as_ref(), |cost| cost.high)
        }),
        ("reload_low_ns", |row| {
            format_number(row.found.reload(), |cost| cost.low)
        }),
        ("reload_ns", |row| {
            format_number(row.found.reload(), |cost| cost.estimate)
        }),
        ("reload_high_ns", |row| {
            format_number(row.found.reload(), |cost| cost.high)
        }),
        ("away_ns", |row| {
            row.found
                .away_ns
                .map_or(String::new(), |away| away.to_string())
        }),
        ("hit", |row| {
            row.found.hit.map_or(String::new(), |hit| hit.to_string())
        }),
        ("preemptions", |row| row.found.preemptions.to_string()),
        ("runs", |row| row.found.runs.to_string()),
        ("period_ns", |row| row.period.0.to_string()),
        ("moved_to_cpu", |row| {
            row.moved_to.map_or(String::new(), |cpu| cpu.to_string())
        }),
    ]
}

/// A footprint at a period, or a move to a CPU.
struct Row<'a> {
    found: &'a FootprintFinding,
    period: Nanos,
    moved_to: Option<CpuId>,
}

impl Row<'_> {
    fn new(found: &FootprintFinding, period: Nanos) -> Row<'_> {
        Row {
            found,
            period,
            moved_to: None,
        }
    }
}

/// A row for each footprint, of each period if there are several, and one for moves.
pub(super) fn table(record: &Injection, findings: &Findings) -> Table {
    let first = record.header.plan.period_ns;
    let mut rows: Vec<Row<'_>> = findings
        .footprints
        .iter()
        .map(|found| Row::new(found, first))
        .collect();
    for period in findings.periods.iter().skip(1) {
        rows.extend(
            period
                .footprints
                .iter()
                .map(|found| Row::new(found, period.period_ns)),
        );
    }
    rows.extend(findings.moved.iter().map(|moved| Row {
        moved_to: Some(moved.cpu),
        ..Row::new(&moved.found, first)
    }));
    for_programs::table(&columns(), &rows)
}

fn format_number(cost: Option<&Estimate>, number: fn(&Estimate) -> f64) -> String {
    cost.map_or(String::new(), |cost| number(cost).to_string())
}
