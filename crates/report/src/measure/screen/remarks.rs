//! What to know about the numbers, in a line each.

use switchcost_analysis::{CaseFinding, Findings, FlagName, Verdict};
use switchcost_record::{ControlOutcome, Header};

use crate::measure::conditions::label;
use crate::measure::row::starred;

/// A flag of results in a few words, worst first. Those that are not here say what is seen anyway: a bound stands where an interval
/// covers 0, and half its length beside each number.
const FLAGS: [(FlagName, &str); 10] = [
    (
        FlagName::Negative,
        "below 0, which a cost cannot be: find what slowed the baseline, or run it again",
    ),
    (
        FlagName::OutsideSanityBand,
        "far from the published values for such switches: look for a reason first",
    ),
    (
        FlagName::AboveReloadBound,
        "more than reloading everything could cost: it includes something else",
    ),
    (
        FlagName::PartlyDisturbed,
        "some samples were disturbed and left out: --details says why",
    ),
    (
        FlagName::BesideOthers,
        "measured beside other tasks, between their turns: --details says how much they had",
    ),
    (
        FlagName::RefusedRepetitions,
        "some repetitions could not be run: --details says why",
    ),
    (
        FlagName::SharedCore,
        "measured partly or wholly on a shared core: choose another --cpu or a quieter time",
    ),
    (
        FlagName::HeavyTail,
        "some switches take far longer than most: --details has the mean that includes them",
    ),
    (
        FlagName::NotSettled,
        "not all data were reloaded after five walks: some of the reload is not in the sum",
    ),
    (
        FlagName::HandoffAcrossCpus,
        "across CPUs, which goes with the host's load: the +- is what other runs may differ by",
    ),
];

/// Whether the machine was fit to be measured on, as this run saw it.
pub(super) fn fitness(findings: &Findings, is_all: bool) -> String {
    let numbers = findings.results.len();
    let with = |is: fn(&Verdict) -> bool| {
        findings
            .results
            .iter()
            .filter(|result| is(&result.verdict))
            .count()
    };
    let flagged = with(|verdict| *verdict == Verdict::Suspect);
    let missing = with(|verdict| matches!(verdict, Verdict::NotMeasured { .. }));
    let on_shared_core = |result: &&CaseFinding| {
        result
            .flags
            .iter()
            .any(|flag| flag.name == FlagName::SharedCore)
    };
    let shared = findings.results.iter().filter(on_shared_core).count();
    let shared = if 2 * shared > numbers { shared } else { 0 };
    let beside = findings.results.iter().filter(|result| {
        result
            .flags
            .iter()
            .any(|flag| flag.name == FlagName::BesideOthers)
    });
    let beside = beside.count();
    let reservations = [
        (flagged, "flagged"),
        (missing, "not measured"),
        (beside, "measured beside other tasks"),
        (shared, "on a shared core"),
    ];
    let reservations: Vec<String> = reservations
        .iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, what)| format!("{n} {what}"))
        .collect();
    if missing == numbers && missing > 0 {
        return format!(
            "No cost was measured (of {numbers}); whether the machine is fit to be measured on: switchcost doctor"
        );
    }
    match (is_all, reservations.is_empty()) {
        (true, true) => {
            format!(
                "The machine was fit to be measured on: nothing disturbed this run, {}.",
                all_stand(numbers)
            )
        }
        (false, true) => format!(
            "The machine was fit to be measured on, and {}; what to know:",
            all_stand(numbers)
        ),
        _ => format!(
            "The machine was fit with reservations (of {numbers} costs {}); to check it: switchcost doctor",
            reservations.join(", ")
        ),
    }
}

fn all_stand(numbers: usize) -> String {
    match numbers {
        1 => "its cost stands".to_owned(),
        2 => "both costs stand".to_owned(),
        _ => format!("all {numbers} costs stand"),
    }
}

/// Worst first.
pub(super) fn all(header: &Header, findings: &Findings) -> Vec<String> {
    let mut notes: Vec<String> = findings
        .flags
        .iter()
        .map(|flag| flag.detail.clone())
        .collect();
    notes.extend(not_measured(&findings.results));
    notes.extend(refused(header));
    notes.extend(
        FLAGS
            .iter()
            .filter_map(|(name, text)| flagged(&findings.results, *name, text)),
    );
    notes
}

/// Results without a number: the first reason, and how many there are.
fn not_measured(results: &[CaseFinding]) -> Option<String> {
    let missing: Vec<(&CaseFinding, &str)> = results
        .iter()
        .filter_map(|finding| match &finding.verdict {
            Verdict::NotMeasured { why } => Some((finding, why.as_str())),
            _ => None,
        })
        .collect();
    let (first, why) = missing.first()?;
    let more = match missing.len() - 1 {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(format!("not measured: {}{more}: {why}", label(&first.case)))
}

/// Controls that could not be had.
fn refused(header: &Header) -> Option<String> {
    let refused = header
        .controls
        .iter()
        .filter_map(|control| match &control.outcome {
            ControlOutcome::Refused { fix, .. } => Some((control.name.as_str(), fix.as_str())),
            _ => None,
        });
    let refused: Vec<(&str, &str)> = refused.collect();
    let (first, fix) = refused.first()?;
    let names = refused
        .iter()
        .map(|(name, _)| *name)
        .collect::<Vec<_>>()
        .join(", ");
    let of = if refused.len() > 1 {
        format!(" ({first})")
    } else {
        String::new()
    };
    Some(format!("done without {names}; now{of}: {fix}"))
}

/// A flag of some results.
fn flagged(results: &[CaseFinding], name: FlagName, text: &str) -> Option<String> {
    let has = |finding: &&CaseFinding| finding.flags.iter().any(|flag| flag.name == name);
    let with: Vec<String> = results
        .iter()
        .filter(has)
        .map(|finding| starred(finding, &label(&finding.case)))
        .collect();
    let whose = match with.as_slice() {
        [] => return None,
        [one] => one.clone(),
        _ if with.len() == results.len() => "all costs".to_owned(),
        [one, rest @ ..] => format!("{one} and {} more", rest.len()),
    };
    Some(format!("{whose}: {text}"))
}
