use switchcost_analysis::{CaseFinding, Estimate, Findings};

use crate::case::CASE_COLUMNS;
use crate::for_programs::{Column, Table};

/// A name, and the estimate of it.
type Quantity = (&'static str, fn(&CaseFinding) -> Option<&Estimate>);

const OUTCOME: [Column<CaseFinding>; 2] = [
    ("status", |f| f.verdict.name().to_owned()),
    ("why", |f| f.verdict.reason().unwrap_or_default().to_owned()),
];

const QUANTITIES: [Quantity; 15] = [
    ("direct", |f| f.direct_ns.as_ref()),
    ("total", |f| f.total_ns.as_ref()),
    ("indirect", |f| f.indirect_ns.as_ref()),
    ("indirect_kernel", |f| f.indirect_kernel_ns.as_ref()),
    ("indirect_reload", |f| f.indirect_reload_ns.as_ref()),
    ("handoff", |f| f.handoff_ns.as_ref()),
    ("round_trip", |f| f.round_trip_ns.as_ref()),
    ("baseline", |f| f.baseline_ns.as_ref()),
    ("walk", |f| f.walk_ns.as_ref()),
    ("reload_walk_1", |f| f.reload.as_ref()?.walks_ns.first()),
    ("reload_walk_2", |f| f.reload.as_ref()?.walks_ns.get(1)),
    ("reload_walk_3", |f| f.reload.as_ref()?.walks_ns.get(2)),
    ("reload_walk_4", |f| f.reload.as_ref()?.walks_ns.get(3)),
    ("reload_walk_5", |f| f.reload.as_ref()?.walks_ns.get(4)),
    ("settled_walk", |f| Some(&f.reload.as_ref()?.settled_ns)),
];

/// What is written of each quantity, after the quantity's name.
const PARTS: [Column<Estimate>; 5] = [
    ("_ns", |e| float(Some(e.estimate))),
    ("_low_ns", |e| float(Some(e.low))),
    ("_high_ns", |e| float(Some(e.high))),
    ("_n", |e| e.n.to_string()),
    ("_confidence", |e| float(Some(e.confidence))),
];

const REST: [Column<CaseFinding>; 13] = [
    ("switches_per_handoff", |f| float(f.switches_per_handoff)),
    ("involuntary_share", |f| float(f.involuntary_share)),
    ("tail_p50_ns", |f| {
        float(f.tail_ns.as_ref().map(|tail| tail.p50))
    }),
    ("tail_p99_ns", |f| {
        float(f.tail_ns.as_ref().map(|tail| tail.p99))
    }),
    ("tail_max_ns", |f| {
        float(f.tail_ns.as_ref().map(|tail| tail.max))
    }),
    ("tail_n", |f| {
        f.tail_ns
            .as_ref()
            .map(|tail| tail.n.to_string())
            .unwrap_or_default()
    }),
    ("reload_bound_ns", |f| float(f.reload_bound_ns)),
    ("sanity_low_ns", |f| {
        float(f.sanity_band_ns.map(|band| band.low))
    }),
    ("sanity_high_ns", |f| {
        float(f.sanity_band_ns.map(|band| band.high))
    }),
    ("sanity_source", |f| {
        f.sanity_band_ns
            .map(|band| band.source.to_owned())
            .unwrap_or_default()
    }),
    ("excluded_samples", |f| f.excluded.total.to_string()),
    ("total_samples", |f| f.excluded.of.to_string()),
    ("flags", |f| {
        f.flags
            .iter()
            .map(|flag| flag.name.into())
            .collect::<Vec<&str>>()
            .join(" ")
    }),
];

/// A line of names, then a row for each result. What is not known is empty.
pub(super) fn table(findings: &Findings) -> Table {
    std::iter::once(names())
        .chain(findings.results.iter().map(row))
        .collect()
}

fn names() -> Vec<String> {
    let mut names: Vec<String> = CASE_COLUMNS
        .iter()
        .map(|(name, _)| (*name).to_owned())
        .collect();
    names.extend(OUTCOME.iter().map(|(name, _)| (*name).to_owned()));
    for (quantity, _) in QUANTITIES {
        names.extend(PARTS.iter().map(|(part, _)| format!("{quantity}{part}")));
    }
    names.extend(REST.iter().map(|(name, _)| (*name).to_owned()));
    names
}

fn row(finding: &CaseFinding) -> Vec<String> {
    let mut row: Vec<String> = CASE_COLUMNS
        .iter()
        .map(|(_, value)| value(&finding.case))
        .collect();
    row.extend(OUTCOME.iter().map(|(_, value)| value(finding)));
    for (_, quantity) in QUANTITIES {
        let estimate = quantity(finding);
        row.extend(
            PARTS
                .iter()
                .map(|(_, value)| estimate.map(value).unwrap_or_default()),
        );
    }
    row.extend(REST.iter().map(|(_, value)| value(finding)));
    row
}

fn float(value: Option<f64>) -> String {
    value
        .filter(|value| value.is_finite())
        .map(|value| value.to_string())
        .unwrap_or_default()
}
