use std::collections::BTreeMap;

use analysis::{CaseFinding, Estimate, Findings, Verdict};

use super::conditions::label;
use crate::page::Page;
use crate::quantity::is_below_zero;

/// A note names so many results; the rest of them are counted.
const RESULTS_NAMED: usize = 3;

/// What to know about the numbers: flags once each, what was left out, what was not measured.
pub(super) fn add(page: &mut Page, findings: &Findings) {
    let mut notes: Vec<String> = findings.flags.iter().map(|flag| format!("{}: {}", flag.name, flag.detail)).collect();
    notes.extend(flags(&findings.results));
    notes.extend(excluded(&findings.results));
    notes.extend(below_zero(&findings.results));
    notes.extend(not_measured(&findings.results));
    if notes.is_empty() {
        return;
    }
    page.heading("Notes", "");
    for note in notes {
        page.item(&note);
    }
}

/// Each flag once: the sentence of the first result that has it, and the names of the results that share it.
fn flags(results: &[CaseFinding]) -> Vec<String> {
    let mut by_name: BTreeMap<&str, (&str, Vec<String>)> = BTreeMap::new();
    for finding in results {
        for flag in &finding.flags {
            by_name.entry(flag.name).or_insert((&flag.detail, Vec::new())).1.push(label(&finding.case));
        }
    }
    by_name.into_iter().map(|(name, (detail, labels))| format!("{name}: {detail} [{}]", named(&labels))).collect()
}

fn named(labels: &[String]) -> String {
    let shown = labels[..labels.len().min(RESULTS_NAMED)].join("; ");
    match labels.len().saturating_sub(RESULTS_NAMED) {
        0 => shown,
        more => format!("{shown}; and {more} more"),
    }
}

fn excluded(results: &[CaseFinding]) -> Option<String> {
    let total: usize = results.iter().map(|finding| finding.excluded.total).sum();
    let of: usize = results.iter().map(|finding| finding.excluded.of).sum();
    let mut by_reason: BTreeMap<&str, usize> = BTreeMap::new();
    for (reason, count) in results.iter().flat_map(|finding| &finding.excluded.by_reason) {
        *by_reason.entry(reason).or_default() += count;
    }
    let reasons: Vec<_> = by_reason.iter().map(|(reason, count)| format!("{reason} {count}")).collect();
    (total > 0).then(|| format!("excluded: {total} of {of} samples were left out ({})", reasons.join(", ")))
}

fn below_zero(results: &[CaseFinding]) -> Option<String> {
    let estimates = |f: &CaseFinding| -> Vec<Estimate> {
        [&f.direct_ns, &f.total_ns, &f.indirect_ns, &f.handoff_ns].into_iter().flatten().cloned().collect()
    };
    let is_shown = |f: &CaseFinding| !matches!(f.verdict, Verdict::NotMeasured { .. });
    let is_hit = results.iter().any(|f| is_shown(f) && estimates(f).iter().any(is_below_zero));
    is_hit.then(|| {
        "below 0: the baseline took longer than the switching arm, which no cost explains; the interval is \
                    shown, and no number is claimed"
            .to_owned()
    })
}

/// Why there is no number, the results with the same reason together.
fn not_measured(results: &[CaseFinding]) -> Vec<String> {
    let mut by_reason: Vec<(&str, Vec<String>)> = Vec::new();
    for finding in results {
        let Verdict::NotMeasured { why } = &finding.verdict else { continue };
        match by_reason.iter_mut().find(|(reason, _)| reason == why) {
            Some((_, labels)) => labels.push(label(&finding.case)),
            None => by_reason.push((why, vec![label(&finding.case)])),
        }
    }
    by_reason.into_iter().map(|(why, labels)| format!("not measured: {}: {why}", named(&labels))).collect()
}
