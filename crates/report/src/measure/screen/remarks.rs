//! Renders remarks on the results, one line each.

use itertools::Itertools;
use switchcost_analysis::{CaseFinding, Findings, FlagName, Verdict};
use switchcost_record::{ControlOutcome, Header, strip_error_numbers};

use crate::listing::{first_few, grouped};
use crate::measure::conditions::label;
use crate::measure::row::starred;

/// Number of the first flags in [`FLAGS`], which are the reasons of a star.
const OF_STARS: usize = 4;

/// Remarks for flags, worst first. Flags that the table already shows are omitted: an interval that
/// covers 0 is shown as a bound, and half the interval stands next to each number.
const FLAGS: [(FlagName, &str); 10] = [
    (
        FlagName::Negative,
        "direct or indirect cost below 0, which is impossible: the baseline ran slower; repeat the run",
    ),
    (FlagName::OutsideSanityBand, "outside the plausible range"),
    (
        FlagName::AboveReloadBound,
        "more than reloading everything could cost, so it includes something else",
    ),
    (
        FlagName::PartlyDisturbed,
        "disturbed samples were excluded (--details)",
    ),
    (
        FlagName::BesideOthers,
        "other tasks shared the CPU (--details)",
    ),
    (
        FlagName::RefusedRepetitions,
        "some repetitions could not be run (--details)",
    ),
    (
        FlagName::SharedCore,
        "the other hardware thread of the core was busy; choose another --cpu or a quieter time",
    ),
    (
        FlagName::HeavyTail,
        "heavy tail (--details gives the untrimmed mean)",
    ),
    (
        FlagName::NotSettled,
        "some data were not reloaded after five traversals, and are not included",
    ),
    (
        FlagName::HandoffAcrossCpus,
        "across CPUs, which depends on the host's load (the +- covers other runs)",
    ),
];

/// Returns a sentence on disturbances of this run and on valid results. `doctor` judges the
/// machine.
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
    let beside = findings.results.iter().filter(|result| {
        result
            .flags
            .iter()
            .any(|flag| flag.name == FlagName::BesideOthers)
    });
    let beside = beside.count();
    let reservations = [
        (flagged, "suspect *"),
        (beside, "with other tasks on the CPU"),
        (shared, "on a shared core"),
    ];
    let reservations: Vec<String> = reservations
        .iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, what)| format!("{n} {what}"))
        .collect();
    if missing == numbers && missing > 0 {
        return format!("0 of {numbers} costs were measured. Check the machine: switchcost doctor");
    }
    match (is_all, reservations.is_empty() && missing == 0) {
        (true, true) => {
            format!(
                "No interference was detected, and {}.",
                count_valid(numbers)
            )
        }
        (false, true) => format!(
            "No interference was detected, and {}. Notes:",
            count_valid(numbers)
        ),
        _ => format!(
            "{} of {numbers} {} measured{}. Check the machine: switchcost doctor",
            numbers - missing,
            if numbers == 1 {
                "cost was"
            } else {
                "costs were"
            },
            match reservations.as_slice() {
                [] => String::new(),
                some => format!(" ({})", some.join(", ")),
            }
        ),
    }
}

fn count_valid(numbers: usize) -> String {
    match numbers {
        1 => "the result is valid".to_owned(),
        2 => "both results are valid".to_owned(),
        _ => format!("all {numbers} results are valid"),
    }
}

/// Returns the remarks on a measurement, worst first.
pub(super) fn list_remarks(header: &Header, findings: &Findings) -> Vec<String> {
    let (of_stars, others) = FLAGS.split_at(OF_STARS);
    let remark = |(name, text): &(FlagName, &str)| flagged(&findings.results, *name, text);
    let mut notes: Vec<String> = of_stars.iter().filter_map(remark).collect();
    notes.extend(findings.flags.iter().map(|flag| flag.detail.clone()));
    notes.extend(missing_results(&findings.results));
    notes.extend(refused(header));
    notes.extend(others.iter().filter_map(remark));
    notes
}

/// Number of reasons for missing results that are printed.
const MOST_REASONS: usize = 2;

/// Returns a remark on results without a number, grouped by reason. Returns `None` if there are
/// none, or if no result has a number. Runtimes are left out, because their missing results are
/// listed below their tables.
fn missing_results(results: &[CaseFinding]) -> Option<String> {
    let missing = results
        .iter()
        .filter(|finding| finding.case.runtime.is_none())
        .filter_map(|finding| match &finding.verdict {
            Verdict::NotMeasured { why } => Some((why, label(&finding.case))),
            _ => None,
        });
    let missing: Vec<(&String, String)> = missing.collect();
    if missing.is_empty() || missing.len() == results.len() {
        return None;
    }
    let groups = grouped(missing);
    let (named, others) = groups.split_at(groups.len().min(MOST_REASONS));
    let named = named
        .iter()
        .map(|(why, names)| format!("{} ({why})", first_few(names, 1, ", ")));
    let others: usize = others.iter().map(|(_, names)| names.len()).sum();
    let others = (others > 0).then(|| format!("{others} more for other reasons (--details)"));
    let all = named.chain(others).join(", ");
    Some(format!("not measured: {all}"))
}

/// Returns a remark on refused controls; `None` if no control was refused.
fn refused(header: &Header) -> Option<String> {
    let refused = header
        .controls
        .iter()
        .filter_map(|control| match &control.outcome {
            ControlOutcome::Refused { found, fix, .. } => Some((&control.name, found, fix)),
            _ => None,
        });
    let refused: Vec<(&String, &String, &String)> = refused.collect();
    let (first, found, fix) = refused.first()?;
    let more = match refused.len() - 1 {
        0 => String::new(),
        1 => ", and 1 more control (--details)".to_owned(),
        more => format!(", and {more} more controls (--details)"),
    };
    let found = strip_error_numbers(found);
    Some(format!("{first} was refused ({found}){more}; fix: {fix}"))
}

/// Returns a remark on the results that have the flag `name`; `None` if there are none.
fn flagged(results: &[CaseFinding], name: FlagName, text: &str) -> Option<String> {
    let has = |finding: &&CaseFinding| finding.flags.iter().any(|flag| flag.name == name);
    let with: Vec<String> = results
        .iter()
        .filter(has)
        .map(|finding| starred(finding, &label(&finding.case)))
        .collect();
    let whose = match with.as_slice() {
        [] => return None,
        [_, _, ..] if with.len() == results.len() => "all costs".to_owned(),
        names => first_few(names, 1, ", "),
    };
    Some(format!("{whose}: {text}"))
}
