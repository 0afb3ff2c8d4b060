use std::collections::BTreeMap;

use switchcost_analysis::{CaseFinding, Estimate, Findings, FlagName, Verdict};

use super::conditions::label;
use crate::Page;
use crate::listing::{first_few, grouped};
use crate::quantity::is_below_zero;
use itertools::Itertools;

/// Maximum number of results that a note names. Further results are counted.
const RESULTS_NAMED: usize = 3;

/// The flags of all results in order of first appearance. A note's number is the position of its
/// flag, from 1.
pub(super) struct Numbering(Vec<FlagName>);

impl Numbering {
    pub(super) fn new(results: &[CaseFinding]) -> Self {
        let flags = results.iter().flat_map(|finding| &finding.flags);
        Numbering(flags.map(|flag| flag.name).unique().collect())
    }

    /// Returns the numbers of the notes on a result, such as `1, 3`.
    pub(super) fn numbers(&self, finding: &CaseFinding) -> String {
        let has = |name: FlagName| finding.flags.iter().any(|flag| flag.name == name);
        let mut numbers = self
            .0
            .iter()
            .enumerate()
            .filter(|(_, name)| has(**name))
            .map(|(i, _)| (i + 1).to_string());
        numbers.join(", ")
    }
}

/// Adds notes: one for each flag, then on excluded samples and on results that were not measured.
pub(super) fn add(page: &mut Page, findings: &Findings) {
    let run = findings
        .flags
        .iter()
        .map(|flag| format!("{}: {}", flag.name, flag.detail));
    let mut notes: Vec<String> = flags(&findings.results).into_iter().chain(run).collect();
    notes.extend(excluded(&findings.results));
    notes.extend(below_zero(&findings.results));
    notes.extend(missing_results(&findings.results));
    page.notes(notes);
}

/// Returns a note for each flag: the sentence of the first result with the flag, and the names of
/// all results with it.
fn flags(results: &[CaseFinding]) -> Vec<String> {
    let names = Numbering::new(results).0;
    names
        .iter()
        .enumerate()
        .map(|(i, name)| format!("{}. {}", i + 1, flag(results, *name)))
        .collect()
}

fn flag(results: &[CaseFinding], name: FlagName) -> String {
    let with = results.iter().filter_map(|f| {
        f.flags
            .iter()
            .find(|flag| flag.name == name)
            .map(|flag| (f, flag))
    });
    let (labels, details): (Vec<_>, Vec<_>) = with
        .map(|(f, flag)| (label(&f.case), flag.detail.as_str()))
        .unzip();
    format!(
        "{name}: {} [{}]",
        details.first().unwrap_or(&""),
        named(&labels)
    )
}

fn named(labels: &[String]) -> String {
    first_few(labels, RESULTS_NAMED, "; ")
}

fn excluded(results: &[CaseFinding]) -> Option<String> {
    let total: usize = results.iter().map(|finding| finding.excluded.total).sum();
    let of: usize = results.iter().map(|finding| finding.excluded.of).sum();
    let mut by_reason: BTreeMap<&str, usize> = BTreeMap::new();
    for (reason, count) in results
        .iter()
        .flat_map(|finding| &finding.excluded.by_reason)
    {
        *by_reason.entry(reason).or_default() += count;
    }
    let reasons = by_reason
        .iter()
        .map(|(reason, count)| format!("{reason} {count}"))
        .join(", ");
    (total > 0).then(|| format!("excluded: {total} of {of} samples were left out ({reasons})"))
}

fn below_zero(results: &[CaseFinding]) -> Option<String> {
    let estimates = |f: &CaseFinding| -> Vec<Estimate> {
        [&f.direct_ns, &f.total_ns, &f.indirect_ns, &f.handoff_ns]
            .into_iter()
            .flatten()
            .cloned()
            .collect()
    };
    let is_shown = |f: &CaseFinding| !matches!(f.verdict, Verdict::NotMeasured { .. });
    let is_hit = results
        .iter()
        .any(|f| is_shown(f) && estimates(f).iter().any(is_below_zero));
    is_hit.then(|| {
        "below 0: the run with switches was faster than its baseline, so no cost is claimed; the interval is \
                    shown"
            .to_owned()
    })
}

/// Returns the reasons why results have no number, each with the names of these results.
fn missing_results(results: &[CaseFinding]) -> Vec<String> {
    let missing = results.iter().filter_map(|finding| match &finding.verdict {
        Verdict::NotMeasured { why } => Some((why, label(&finding.case))),
        _ => None,
    });
    grouped(missing)
        .into_iter()
        .map(|(why, labels)| format!("not measured: {}: {why}", named(&labels)))
        .collect()
}
