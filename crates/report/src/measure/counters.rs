use std::collections::{BTreeMap, BTreeSet};

use switchcost_analysis::{CaseFinding, CounterFinding, Findings};
use switchcost_record::{MeasureRecord, SelfTest, SelfTestOutcome};

use super::conditions::label;
use crate::quantity::number;
use crate::{Entry, Grid, Page};

/// Adds the table of hardware and software counters, or the reason why there are no counts.
pub(super) fn add(page: &mut Page, record: &MeasureRecord, findings: &Findings) {
    let grid = grid(&findings.results);
    let mut reasons = reasons(&record.self_tests);
    reasons.extend(absence_with_preemptions(record, findings));
    if grid.is_empty() {
        if record
            .samples
            .iter()
            .any(|sample| sample.counters.is_some())
        {
            reasons.push("not available: other tasks ran in each counted batch".to_owned());
        }
        if page.has_figures() {
            page.heading("Counters", "");
        }
        page.gap();
        page.prose(format!("counters: {}", absence(record, &reasons)));
        return;
    }
    page.table("Counters", "events per hand-off", grid);
    if !reasons.is_empty() {
        page.prose(format!("other instruments: {}", reasons.join("; ")));
    }
    page.method(["counters", "validation"]);
}

fn absence(record: &MeasureRecord, reasons: &[String]) -> String {
    match (record.header.plan.wants_counters, reasons) {
        (false, _) => "not requested".to_owned(),
        (true, []) => "none in this record".to_owned(),
        (true, reasons) => reasons.join("; "),
    }
}

/// Returns the reason why cases with preemptions have no hardware counters, on a machine that has
/// such counters; `None` otherwise.
fn absence_with_preemptions(record: &MeasureRecord, findings: &Findings) -> Option<String> {
    let is_counted = record
        .self_tests
        .iter()
        .any(|test| test.instrument == "instructions" && test.outcome == SelfTestOutcome::Admitted);
    let mechanisms = findings.results.iter().map(|found| found.case.mechanism);
    let preemptive = mechanisms.filter(|mechanism| mechanism.traits().is_preemptive);
    let names: BTreeSet<String> = preemptive.map(|mechanism| mechanism.to_string()).collect();
    (is_counted && !names.is_empty()).then(|| {
        format!(
            "no hardware counters for {}, since they would count the preempted task's own work",
            Vec::from_iter(names).join(", ")
        )
    })
}

/// Returns the reasons why instruments are not used, each with the names of its instruments.
pub(crate) fn reasons(tests: &[SelfTest]) -> Vec<String> {
    let mut by_reason: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for test in tests {
        if let Some(reason) = reason(test) {
            by_reason.entry(reason).or_default().push(&test.instrument);
        }
    }
    by_reason
        .into_iter()
        .map(|(reason, names)| format!("{} {reason}", names.join(", ")))
        .collect()
}

fn reason(test: &SelfTest) -> Option<String> {
    match &test.outcome {
        SelfTestOutcome::Admitted => None,
        SelfTestOutcome::Unavailable { why } => Some(format!("not available ({why})")),
        SelfTestOutcome::Wrong {
            expected_low,
            expected_high,
            found,
        } => Some(format!(
            "not used (the self-test counted {found} instead of {expected_low} to {expected_high} from {})",
            test.known_answer
        )),
    }
}

fn grid(findings: &[CaseFinding]) -> Grid {
    let mut grid = Grid::new(2).left(["result", "counter"]).right([
        "baseline",
        "switching",
        "difference",
        "batches",
    ]);
    for finding in findings {
        for counter in &finding.counters {
            grid.row(row(finding, counter));
        }
    }
    grid
}

fn row(finding: &CaseFinding, counter: &CounterFinding) -> Vec<Entry> {
    entries![
        label(&finding.case),
        &counter.name,
        number(counter.baseline),
        number(counter.switching),
        number(counter.switching - counter.baseline),
        counter.n.to_string()
    ]
}
