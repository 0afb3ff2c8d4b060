use analysis::{CaseFinding, Estimate, Findings, Verdict};
use units::format_cpu_list;

use super::json::status;
use crate::for_programs::csv;

/// A name, and the field below it.
type Column<T> = (&'static str, fn(&T) -> String);

/// A name, and the estimate of it.
type Quantity = (&'static str, fn(&CaseFinding) -> Option<&Estimate>);

const CONDITIONS: [Column<CaseFinding>; 14] = [
    ("mechanism", |f| f.case.mechanism.to_string()),
    ("between", |f| f.case.between.to_string()),
    ("tasks", |f| f.case.tasks.to_string()),
    ("size_bytes", |f| f.case.working_set.size_bytes.0.to_string()),
    ("stride_bytes", |f| f.case.working_set.stride_bytes.0.to_string()),
    ("access", |f| f.case.working_set.access.to_string()),
    ("pattern", |f| f.case.working_set.pattern.to_string()),
    ("sharing", |f| f.case.working_set.sharing.to_string()),
    ("pages", |f| f.case.working_set.pages.to_string()),
    ("cpus", |f| format_cpu_list(&f.case.placement.cpus)),
    ("relation", |f| f.case.placement.relation.to_string()),
    ("policy", |f| f.case.policy.to_string()),
    ("status", |f| status(&f.verdict).to_owned()),
    ("why", why),
];

const QUANTITIES: [Quantity; 6] = [
    ("direct", |f| f.direct_ns.as_ref()),
    ("total", |f| f.total_ns.as_ref()),
    ("indirect", |f| f.indirect_ns.as_ref()),
    ("handoff", |f| f.handoff_ns.as_ref()),
    ("round_trip", |f| f.round_trip_ns.as_ref()),
    ("baseline", |f| f.baseline_ns.as_ref()),
];

/// What is written of each quantity, behind the quantity's name.
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
    ("tail_p50_ns", |f| float(f.tail.as_ref().map(|tail| tail.p50_ns))),
    ("tail_p99_ns", |f| float(f.tail.as_ref().map(|tail| tail.p99_ns))),
    ("tail_max_ns", |f| float(f.tail.as_ref().map(|tail| tail.max_ns))),
    ("tail_n", |f| f.tail.as_ref().map(|tail| tail.n.to_string()).unwrap_or_default()),
    ("reload_bound_ns", |f| float(f.reload_bound_ns)),
    ("sanity_low_ns", |f| float(f.sanity_band_ns.map(|band| band.0))),
    ("sanity_high_ns", |f| float(f.sanity_band_ns.map(|band| band.1))),
    ("sanity_source", |f| f.sanity_band_ns.map(|band| band.2.to_owned()).unwrap_or_default()),
    ("excluded_samples", |f| f.excluded.total.to_string()),
    ("total_samples", |f| f.excluded.of.to_string()),
    ("flags", |f| f.flags.iter().map(|flag| flag.name).collect::<Vec<_>>().join(" ")),
];

/// A line of names, then a row for each result. What is not known is empty.
pub(super) fn render(findings: &Findings) -> String {
    let rows = findings.results.iter().map(row);
    csv(std::iter::once(names()).chain(rows))
}

fn names() -> Vec<String> {
    let mut names: Vec<String> = CONDITIONS.iter().map(|(name, _)| (*name).to_owned()).collect();
    for (quantity, _) in QUANTITIES {
        names.extend(PARTS.iter().map(|(part, _)| format!("{quantity}{part}")));
    }
    names.extend(REST.iter().map(|(name, _)| (*name).to_owned()));
    names
}

fn row(finding: &CaseFinding) -> Vec<String> {
    let mut row: Vec<String> = CONDITIONS.iter().map(|(_, value)| value(finding)).collect();
    for (_, quantity) in QUANTITIES {
        let estimate = quantity(finding);
        row.extend(PARTS.iter().map(|(_, value)| estimate.map(value).unwrap_or_default()));
    }
    row.extend(REST.iter().map(|(_, value)| value(finding)));
    row
}

fn why(finding: &CaseFinding) -> String {
    match &finding.verdict {
        Verdict::NotMeasured { why } => why.clone(),
        Verdict::Measured | Verdict::Suspect => String::new(),
    }
}

fn float(value: Option<f64>) -> String {
    value.filter(|value| value.is_finite()).map(|value| value.to_string()).unwrap_or_default()
}
