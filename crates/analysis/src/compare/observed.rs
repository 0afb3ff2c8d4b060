//! Compares observations of running tasks: whether the cost of their switches has changed.
//!
//! The number of a program's switches varies from run to run, by an amount that depends on the
//! program. Therefore a verdict needs at least three records on each side, or a given spread. If
//! all records are of one machine, both sides use the same cost of a switch, so that only counts
//! and causes make a difference.

mod intervals;
mod numbers;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use switchcost_record::observation::{Calibration, Observation, Subject as Observed};

use super::candidate::{Candidate, judge, suspects};
use super::environment::{Facts, different, host_facts, named};
use super::{Basis, Comparison, Origin, Pair, Pricing, Request, RunSpread, Subject};
use numbers::{Key, Number, Record};

/// Compares new records of observations with base records.
pub fn compare_observations(
    base: &[&Observation],
    new: &[&Observation],
    request: Request<'_>,
) -> Comparison {
    let all: Vec<&Observation> = base.iter().chain(new).copied().collect();
    let pricing = pricing(&all);
    let newest = newest(&all).filter(|_| pricing == Pricing::OneCalibration);
    let sides = [base, new].map(|side| -> Vec<Record> {
        side.iter()
            .map(|record| Record::new(record, newest))
            .collect()
    });
    let reason = counted_differently(&all);
    let of_caches = caches_priced_differently(sides.iter().flatten());
    let candidate = |key: &Key| {
        let of_caches = of_caches.as_deref().filter(|_| key.has_caches());
        candidate(key, &sides, request).unless(reason.as_deref().or(of_caches))
    };
    let candidates = numbers::keys(&sides).iter().map(candidate).collect();
    let judged = judge_in_halves(candidates, request);
    let run_spread = request.run_spread.map(|share| RunSpread {
        share,
        origin: Origin::Given,
    });
    Comparison {
        environment: different([base, new], |record| facts(record)),
        pricing: Some(pricing),
        ..Comparison::new(Basis::Observations, judged, run_spread, request)
    }
}

/// Computes verdicts on main numbers and on other numbers separately. If there are both, each has
/// half of the allowed error, so that many names do not hide a change of the whole.
fn judge_in_halves(candidates: Vec<Candidate>, request: Request<'_>) -> (Vec<Pair>, usize) {
    let (whole, parts): (Vec<_>, Vec<_>) = candidates
        .into_iter()
        .partition(|candidate| candidate.subject.is_main());
    let has_any = |half: &[Candidate]| half.iter().any(|candidate| candidate.ratio.is_ok());
    let halves = if has_any(&whole) && has_any(&parts) {
        2.0
    } else {
        1.0
    };
    let of_half = Request {
        confidence: 1.0 - (1.0 - request.confidence) / halves,
        ..request
    };
    let (mut pairs, of_whole) = judge(whole, of_half);
    let (others, of_parts) = judge(parts, of_half);
    pairs.extend(others);
    (pairs, of_whole + of_parts)
}

/// Returns the reason why records cannot be compared, if their switches were counted by different
/// methods. Each method makes a switch longer by a different time, up to a third of a short switch.
/// This changes how often and how long tasks run.
fn counted_differently(all: &[&Observation]) -> Option<String> {
    let ways = list_ways(all.iter().map(|record| record.source.to_string()))?;
    Some(format!(
        "switches were counted in different ways ({ways}), which slow them differently; observe all in one way"
    ))
}

/// Returns the reason why costs of cold caches cannot be compared, if they come from different
/// methods, which give different costs for the same program.
fn caches_priced_differently<'a>(all: impl Iterator<Item = &'a Record>) -> Option<String> {
    let ways = list_ways(all.filter_map(|record| record.caches_by.clone()))?;
    Some(format!(
        "cold caches were priced in different ways ({ways}); observe all with the same knowledge"
    ))
}

/// Returns a text with all distinct methods; `None` if there is at most one.
fn list_ways(ways: impl Iterator<Item = String>) -> Option<String> {
    let ways: Vec<String> = ways.collect::<BTreeSet<String>>().into_iter().collect();
    (ways.len() > 1).then(|| ways.join(", "))
}

fn candidate(key: &Key, sides: &[Vec<Record>; 2], request: Request<'_>) -> Candidate {
    let numbers = sides.each_ref().map(|side| -> Vec<Option<Number>> {
        side.iter().map(|record| record.number(key)).collect()
    });
    Candidate {
        subject: Subject::Observed(key.who.clone()),
        new_case: None,
        quantity: key.quantity,
        costs: numbers
            .each_ref()
            .map(|side| intervals::cost(key, side, request)),
        ratio: intervals::ratio(key, &numbers, request.run_spread),
        suspects: suspects(sides.each_ref().map(Vec::as_slice), |record| {
            record.has_lost
        }),
    }
}

fn pricing(all: &[&Observation]) -> Pricing {
    match newest(all) {
        None => Pricing::Nothing,
        Some(_)
            if all
                .windows(2)
                .all(|two| two[0].host.is_same_machine(&two[1].host)) =>
        {
            Pricing::OneCalibration
        }
        Some(_) => Pricing::OwnCalibrations,
    }
}

/// Returns the newest calibration of all records. Dates sort as text, because all have the same
/// time zone.
fn newest<'a>(all: &[&'a Observation]) -> Option<&'a Calibration> {
    all.iter()
        .filter_map(|record| record.calibration.as_ref())
        .max_by(|a, b| a.measured_at.cmp(&b.measured_at))
}

fn facts(record: &Observation) -> Facts {
    // IDs and their number do not identify the programs.
    let observed = match &record.subject {
        Observed::Command(words) => words.join(" "),
        Observed::Processes(_) => "processes".to_owned(),
        Observed::ControlGroup(group) => format!("control group {group}"),
        Observed::Everything => "everything".to_owned(),
    };
    let ways = [
        ("counted by", record.source.to_string()),
        ("switchcost", record.program.clone()),
    ];
    let observed = named([("observed", observed)]);
    [observed, host_facts(&record.host), named(ways)].concat()
}
