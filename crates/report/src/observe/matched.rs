//! Renders the cost of cold caches, estimated by comparing equal system calls with and without a
//! switch.

use switchcost_analysis::observation::{
    Check, CheckName, Effect, Findings, MatchedIntervals, Outcome, UnknownBecause,
};
use switchcost_record::observation::Observation;

use crate::plain::plain;
use crate::quantity::{count, share, time, times};
use crate::{Entry, Grid, Page};

/// Formats the share of measured switches, such as `measured on 96 % of the switches`. A check that
/// turned the cost into a range is named.
pub(super) fn measured_on(findings: &Findings) -> String {
    let sum = |of: fn(&MatchedIntervals) -> f64| findings.matched.iter().map(of).sum::<f64>();
    let switches = sum(switches);
    let covered = sum(|found| found.covered * self::switches(found));
    let part = (switches > 0.0).then_some(covered / switches);
    format!(
        "measured on {} of the switches{}",
        share(part),
        intercept_clause(findings)
    )
}

/// Returns `, but the check "intercept" failed`, or that it could not be made, for the program with
/// the most waits; empty if the check passed, or was not needed.
fn intercept_clause(findings: &Findings) -> &'static str {
    let known = findings
        .matched
        .iter()
        .filter(|found| found.wait_ns.is_some());
    let checks = known
        .max_by_key(|found| found.waits)
        .map(|found| &found.checks);
    let mut checks = checks.into_iter().flatten();
    match checks
        .find(|check| check.name == CheckName::Intercept)
        .map(|check| check.outcome)
    {
        Some(Outcome::Failed) => ", but the check \"intercept\" failed",
        Some(Outcome::NotMade) => ", but the check \"intercept\" could not be made",
        Some(Outcome::Passed) | None => "",
    }
}

fn switches(found: &MatchedIntervals) -> f64 {
    (found.waits + found.preemptions) as f64
}

/// Reason for an unknown cost of cold caches if no system call was traced.
const NOT_TRACED: &str = "none was traced";

/// Returns the reason why traced system calls do not show the cost of cold caches, for the program
/// with the most waits.
pub(super) fn unknown_because(observation: &Observation, findings: &Findings) -> String {
    let unknown = findings
        .matched
        .iter()
        .filter_map(|matched| Some((matched, matched.unknown_because?)));
    let Some((matched, why)) = unknown.max_by_key(|(matched, _)| matched.waits) else {
        let no_calls = observation.no_calls_because.as_deref();
        return match no_calls {
            _ if !findings.matched.is_empty() => "calls of too few programs were traced",
            Some(why) => why,
            None if observation.calls.is_some() => "the traced calls are not compared yet",
            None => NOT_TRACED,
        }
        .to_owned();
    };
    match why {
        UnknownBecause::TooFew if matched.waits == 0 => "no wait was traced".to_owned(),
        UnknownBecause::TooFew if matched.waits == 1 => "only one wait was traced".to_owned(),
        UnknownBecause::TooFew => format!(
            "too few of {} traced waits have a similar call without a wait to compare with",
            count(matched.waits as u64)
        ),
        UnknownBecause::NotCovered => format!(
            "only {} of the switches have a similar call without a switch to compare with",
            share(matched.covered)
        ),
        UnknownBecause::CheckFailed => failed(matched),
        UnknownBecause::LessWork => {
            "the program does less work after a wait than after a call without one".to_owned()
        }
        UnknownBecause::NotTraced => NOT_TRACED.to_owned(),
    }
}

/// Describes the checks that failed, or else those that could not be made, such as `the check "work
/// before" failed`.
fn failed(matched: &MatchedIntervals) -> String {
    let is = |outcome| {
        let checks = matched.checks.iter();
        // The cost may be known without the check "intercept".
        let is_needless =
            |check: &Check| (check.name, check.outcome) == (CheckName::Intercept, Outcome::NotMade);
        let names = checks.filter(move |check| check.outcome == outcome && !is_needless(check));
        let names: Vec<String> = names.map(|check| format!("\"{}\"", check.name)).collect();
        names
    };
    let (failed, not_made) = (is(Outcome::Failed), is(Outcome::NotMade));
    let (names, how) = if failed.is_empty() {
        (not_made, "could not be made")
    } else {
        (failed, "failed")
    };
    let checks = if names.len() == 1 { "check" } else { "checks" };
    format!("the {checks} {} {how}", names.join(" and "))
}

/// Adds the comparisons of equal system calls for each program, and their checks.
pub(super) fn add(page: &mut Page, findings: &Findings) {
    for matched in &findings.matched {
        add_program(page, matched);
    }
}

fn add_program(page: &mut Page, matched: &MatchedIntervals) {
    let mut rows = Vec::new();
    let mut row = |label: String, effect: Option<&Effect>| {
        rows.extend(effect.map(|effect| cells(label, effect)));
    };
    row("all waits".to_owned(), matched.all_waits.as_ref());
    for of in &matched.by_others {
        row(range(of.from_ns, of.to_ns), Some(&of.effect));
    }
    for of in &matched.by_call {
        row(format!("  in {}", of.call), Some(&of.effect));
    }
    row(
        format!(
            "waits of more than {} minus shorter ones",
            time(matched.short_wait_ns.into())
        ),
        matched.dose.as_ref(),
    );
    row(
        "long preemptions minus short ones".to_owned(),
        matched.long_preemptions.as_ref(),
    );
    if rows.is_empty() && matched.checks.is_empty() {
        return;
    }
    page.heading(
        format!("Cold caches of {}", plain(&matched.program)),
        format!(
            "from {} calls, time after a switch minus time after the same call without one",
            count(matched.calls as u64)
        ),
    );
    let grid = Grid::new(1).left([""]).right([
        "switches",
        "matched",
        "user code",
        "kernel",
        "cost per switch",
    ]);
    page.grid(grid.with_rows(rows));
    for check in &matched.checks {
        let outcome = match check.outcome {
            Outcome::Passed => "passed",
            Outcome::Failed => "failed",
            Outcome::NotMade => "could not be made",
        };
        page.item(format!(
            "check \"{}\": {outcome}{}",
            check.name,
            found(check)
        ));
    }
}

fn found(check: &Check) -> String {
    let Some(found) = check.found else {
        return String::new();
    };
    if check.name == CheckName::RandomLabels {
        return format!(
            ", {} of 20 confidence intervals do not include 0",
            found.estimate
        );
    }
    format!(", {}", times(found))
}

fn cells(label: String, effect: &Effect) -> Vec<Entry> {
    let matched = effect.treated as f64 / effect.anchors.max(1) as f64;
    entries![
        label,
        count(effect.anchors as u64),
        share(matched),
        time(effect.user_ns),
        time(effect.kernel_ns),
        times(effect.ns)
    ]
}

/// Returns the label of the row for times for which other tasks ran, such as ` others ran 3.00 us
/// to 30.0 us`.
fn range(from_ns: u32, to_ns: Option<u32>) -> String {
    let from = time(f64::from(from_ns));
    match to_ns {
        _ if from_ns == 0 => format!("  others ran at most {}", time(to_ns.unwrap_or(0).into())),
        Some(to) => format!("  others ran {from} to {}", time(f64::from(to))),
        None => format!("  others ran more than {from}"),
    }
}
