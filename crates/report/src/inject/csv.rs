use serde::Serialize;
use switchcost_analysis::injection::{Findings, FootprintFinding};
use switchcost_record::injection::Injection;
use switchcost_units::{CpuId, Nanos};

use crate::Table;
use crate::for_programs::{self, Column};

const COLUMNS: [Column; 13] = [
    ("footprint_bytes", "/footprint_bytes"),
    ("cost_low_ns", "/cost_ns/low"),
    ("cost_ns", "/cost_ns/estimate"),
    ("cost_high_ns", "/cost_ns/high"),
    ("reload_low_ns", "/reload_ns/low"),
    ("reload_ns", "/reload_ns/estimate"),
    ("reload_high_ns", "/reload_ns/high"),
    ("away_ns", "/away_ns"),
    ("hit", "/hit"),
    ("preemptions", "/preemptions"),
    ("runs", "/runs"),
    ("period_ns", "/period_ns"),
    ("moved_to_cpu", "/moved_to_cpu"),
];

/// A row about preemptions with one footprint at one period, or about moves to another CPU.
#[derive(Serialize)]
struct Row<'a> {
    #[serde(flatten)]
    found: &'a FootprintFinding,
    period_ns: Nanos,
    moved_to_cpu: Option<CpuId>,
}

/// Returns a table with a row for each footprint and period, and a row for moves to another CPU.
pub(super) fn table(record: &Injection, findings: &Findings) -> Table {
    let row = |found, period_ns, moved_to_cpu| Row {
        found,
        period_ns,
        moved_to_cpu,
    };
    let first = record.header.plan.period_ns;
    let mut rows: Vec<Row<'_>> = findings
        .footprints
        .iter()
        .map(|found| row(found, first, None))
        .collect();
    for period in findings.periods.iter().skip(1) {
        let found = period.footprints.iter();
        rows.extend(found.map(|found| row(found, period.period_ns, None)));
    }
    let moved = findings.moved.iter();
    rows.extend(moved.map(|moved| row(&moved.found, first, Some(moved.cpu))));
    for_programs::table(&COLUMNS, &rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::for_programs::tests::assert_known;

    #[test]
    fn columns_are_fields_of_findings() {
        let of_footprint = COLUMNS.into_iter().map(|(_, path)| path);
        assert_known::<FootprintFinding>(
            of_footprint.filter(|path| !["/period_ns", "/moved_to_cpu"].contains(path)),
        );
    }
}
