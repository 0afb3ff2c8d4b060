use serde_json::Value;
use switchcost_analysis::{CaseFinding, Conditions, Findings};

use crate::Table;
use crate::for_programs::{Column, field, fields, value};

/// The estimates of a result: the prefix of their columns' names, and the JSON pointer (RFC 6901).
const ESTIMATES: [Column; 15] = [
    ("direct", "/direct_ns"),
    ("total", "/total_ns"),
    ("indirect", "/indirect_ns"),
    ("indirect_kernel", "/indirect_kernel_ns"),
    ("indirect_reload", "/indirect_reload_ns"),
    ("handoff", "/handoff_ns"),
    ("round_trip", "/round_trip_ns"),
    ("baseline", "/baseline_ns"),
    ("walk", "/walk_ns"),
    ("reload_walk_1", "/reload/walks_ns/0"),
    ("reload_walk_2", "/reload/walks_ns/1"),
    ("reload_walk_3", "/reload/walks_ns/2"),
    ("reload_walk_4", "/reload/walks_ns/3"),
    ("reload_walk_5", "/reload/walks_ns/4"),
    ("settled_walk", "/reload/settled_ns"),
];

/// Columns of each estimate: the suffix of their names, and the JSON pointer within the estimate.
const PARTS: [Column; 5] = [
    ("_ns", "/estimate"),
    ("_low_ns", "/low"),
    ("_high_ns", "/high"),
    ("_n", "/n"),
    ("_confidence", "/confidence"),
];

const OUTCOME: [&str; 2] = ["status", "why"];

const REST: [Column; 13] = [
    ("switches_per_handoff", "/switches_per_handoff"),
    ("involuntary_share", "/involuntary_share"),
    ("tail_p50_ns", "/tail_ns/p50"),
    ("tail_p99_ns", "/tail_ns/p99"),
    ("tail_max_ns", "/tail_ns/max"),
    ("tail_n", "/tail_ns/n"),
    ("reload_bound_ns", "/reload_bound_ns"),
    ("sanity_low_ns", "/sanity_band_ns/low"),
    ("sanity_high_ns", "/sanity_band_ns/high"),
    ("sanity_source", "/sanity_band_ns/source"),
    ("excluded_samples", "/excluded_samples"),
    ("total_samples", "/total_samples"),
    ("flags", "/flags"),
];

/// Returns a table with a row for each result. Unknown values are empty fields.
pub(super) fn table(findings: &Findings) -> Table {
    let mut table = vec![names()];
    table.extend(findings.results.iter().map(row));
    table
}

fn names() -> Vec<String> {
    let conditions = Conditions::NAMES.iter().copied();
    let mut names: Vec<String> = conditions.chain(OUTCOME).map(str::to_owned).collect();
    for (estimate, _) in ESTIMATES {
        names.extend(PARTS.map(|(part, _)| format!("{estimate}{part}")));
    }
    names.extend(REST.map(|(name, _)| name.to_owned()));
    names
}

fn row(finding: &CaseFinding) -> Vec<String> {
    let finding = value(finding);
    let mut row = fields(Conditions::NAMES, &finding);
    row.extend(fields(&OUTCOME, &finding));
    for (_, path) in ESTIMATES {
        let estimate = finding.pointer(path).unwrap_or(&Value::Null);
        row.extend(PARTS.map(|(_, part)| field(estimate, part)));
    }
    row.extend(REST.map(|(_, path)| field(&finding, path)));
    row
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::for_programs::tests::assert_known;

    #[test]
    fn columns_are_fields_of_findings() {
        assert_known::<CaseFinding>(ESTIMATES.map(|(_, path)| path));
        assert_known::<CaseFinding>(REST.map(|(_, path)| path));
        assert_known::<switchcost_analysis::Estimate>(PARTS.map(|(_, path)| path));
    }
}
