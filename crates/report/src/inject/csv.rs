use analysis::Estimate;
use analysis::injection::{Findings, FootprintFinding};

use crate::for_programs::{Column, csv};

const COLUMNS: [Column<FootprintFinding>; 11] = [
    ("footprint_bytes", |found| found.footprint_bytes.0.to_string()),
    ("cost_low_ns", |found| of(Some(&found.cost_ns), |cost| cost.low)),
    ("cost_ns", |found| of(Some(&found.cost_ns), |cost| cost.estimate)),
    ("cost_high_ns", |found| of(Some(&found.cost_ns), |cost| cost.high)),
    ("reload_low_ns", |found| of(found.reload_ns.as_ref(), |cost| cost.low)),
    ("reload_ns", |found| of(found.reload_ns.as_ref(), |cost| cost.estimate)),
    ("reload_high_ns", |found| of(found.reload_ns.as_ref(), |cost| cost.high)),
    ("away_ns", |found| found.away_ns.map_or(String::new(), |away| away.to_string())),
    ("hit", |found| found.hit.map_or(String::new(), |hit| hit.to_string())),
    ("preemptions", |found| found.preemptions.to_string()),
    ("runs", |found| found.runs.to_string()),
];

/// A row for each footprint.
pub(super) fn render(findings: &Findings) -> String {
    let names = COLUMNS.map(|(name, _)| name.to_owned()).to_vec();
    let rows = findings.footprints.iter().map(|found| COLUMNS.map(|(_, of)| of(found)).to_vec());
    csv(std::iter::once(names).chain(rows))
}

fn of(cost: Option<&Result<Estimate, String>>, number: fn(&Estimate) -> f64) -> String {
    cost.and_then(|cost| cost.as_ref().ok()).map_or(String::new(), |cost| number(cost).to_string())
}
