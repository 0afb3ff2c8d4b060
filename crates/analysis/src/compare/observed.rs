//! Compares observations of live tasks to find whether a change lowered the cost of switching.
//!
//! A program never makes exactly the same number of switches twice, and the difference between two
//! equal runs depends on the program. A verdict therefore needs several records of each side. Both
//! sides are priced alike, so that costs differ only by counts and causes.

mod intervals;
mod numbers;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use switchcost_record::observation::{Calibration, Observation, Subject as Observed};

use super::candidate::{Candidate, Suspects, judge};
use super::environment::{Facts, different, host_facts};
use super::{
    Basis, Comparison, Cost, Difference, Origin, Outcome, Pair, Pricing, Request, RunSpread,
    Subject,
};
use numbers::{Key, Record};

/// Compares new records of observations with base records.
pub fn compare_observations(
    base: &[&Observation],
    new: &[&Observation],
    request: Request<'_>,
) -> Comparison {
    let all: Vec<&Observation> = base.iter().chain(new).copied().collect();
    let pricing = pricing(&all);
    let newest = newest(&all).filter(|_| pricing == Pricing::OneCalibration);
    let priced = |side: &[&Observation]| {
        side.iter()
            .map(|record| Record::new(record, newest))
            .collect::<Vec<_>>()
    };
    let (base_records, new_records) = (priced(base), priced(new));
    let keys = numbers::keys(&base_records, &new_records);
    let reason = counted_differently(&all);
    let of_caches = caches_priced_differently(base_records.iter().chain(&new_records));
    let candidate = |key: &Key| {
        let of_caches = of_caches.as_deref().filter(|_| key.has_caches());
        candidate(key, &base_records, &new_records, request).unless(reason.as_deref().or(of_caches))
    };
    let candidates = keys.iter().map(candidate).collect();
    let judged = judge_in_halves(candidates, request);
    let run_spread = request.run_spread.map(|share| RunSpread {
        share,
        origin: Origin::Given,
    });
    Comparison {
        environment: differences(base, new),
        pricing: Some(pricing),
        ..Comparison::new(Basis::Observations, judged, run_spread, request)
    }
}

/// Judges main numbers and parts with half of the allowed error each, so that many names do not
/// hide a change of the whole.
fn judge_in_halves(candidates: Vec<Candidate>, request: Request<'_>) -> (Vec<Pair>, usize) {
    let (whole, parts): (Vec<_>, Vec<_>) = candidates
        .into_iter()
        .partition(|candidate| candidate.pair.is_main());
    let has_any = |half: &[Candidate]| half.iter().any(|candidate| candidate.ratio.is_some());
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

/// Returns a reason if records were counted in different ways. Each way of counting slows a switch
/// by a different time, up to a third of a short switch, and so changes how often and how long
/// tasks run.
fn counted_differently(all: &[&Observation]) -> Option<String> {
    let ways: BTreeSet<String> = all.iter().map(|record| record.source.to_string()).collect();
    let ways: Vec<String> = ways.into_iter().collect();
    (ways.len() > 1).then(|| {
        let ways = ways.join(", ");
        format!("switches were counted in different ways ({ways}), which slow them differently; observe all in one way")
    })
}

/// Whether cold caches were priced in different ways, which gives different costs even for the same
/// program.
fn caches_priced_differently<'a>(all: impl Iterator<Item = &'a Record>) -> Option<String> {
    let ways: BTreeSet<&str> = all.filter_map(Record::caches_by).collect();
    let ways: Vec<&str> = ways.into_iter().collect();
    (ways.len() > 1).then(|| {
        let ways = ways.join(", ");
        format!("cold caches were priced in different ways ({ways}); observe all with the same knowledge")
    })
}

fn candidate(key: &Key, base: &[Record], new: &[Record], request: Request<'_>) -> Candidate {
    let of = |side: &[Record]| {
        side.iter()
            .map(|record| record.number(key))
            .collect::<Vec<_>>()
    };
    let (base_numbers, new_numbers) = (of(base), of(new));
    let judged = intervals::ratio(key, &base_numbers, &new_numbers, request.run_spread);
    let cost = |numbers: &[_]| -> Option<Cost> { intervals::cost(key, numbers, request) };
    let (ratio, outcome) = match judged {
        Ok(ratio) => (Some(ratio), Outcome::NotComparable { why: String::new() }),
        Err(outcome) => (None, outcome),
    };
    let costs = [cost(&base_numbers), cost(&new_numbers)];
    let pair = Pair::unjudged(
        Subject::Observed(key.who.clone()),
        key.quantity,
        costs,
        outcome,
    );
    Candidate {
        pair,
        ratio,
        suspects: Suspects::among(base, new, Record::has_lost),
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

/// Returns the newest calibration. All times have the same time zone, so they sort as text.
fn newest<'a>(all: &[&'a Observation]) -> Option<&'a Calibration> {
    all.iter()
        .filter_map(|record| record.calibration.as_ref())
        .max_by(|a, b| a.measured_at.cmp(&b.measured_at))
}

/// Returns other differences: what was observed, the machine, and the way of counting.
fn differences(base: &[&Observation], new: &[&Observation]) -> Vec<Difference> {
    let of = |side: &[&Observation]| {
        side.iter()
            .map(|record| facts(record))
            .collect::<Vec<Facts>>()
    };
    different(&of(base), &of(new))
}

fn facts(record: &Observation) -> Facts {
    // Process numbers and their count do not identify the programs.
    let observed = match &record.subject {
        Observed::Command(words) => words.join(" "),
        Observed::Processes(_) => "processes".to_owned(),
        Observed::ControlGroup(group) => format!("control group {group}"),
        Observed::Everything => "everything".to_owned(),
    };
    let mut facts = vec![("observed".to_owned(), observed)];
    facts.extend(host_facts(&record.host));
    facts.push(("counted by".to_owned(), record.source.to_string()));
    facts.push(("switchcost".to_owned(), record.program.clone()));
    facts
}
