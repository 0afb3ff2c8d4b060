//! Tests on synthetic observations with known differences.
use rand_chacha::ChaCha8Rng;
use switchcost_record::observation::{
    Histogram, KnownBy, KnownPoint, Observation, Reload, Source, Subject, Tasks, Throttled,
};
use switchcost_units::{Bytes, Nanos};

use super::*;
use crate::compare::tests::{MOST_ALARMS, TRIALS, is_alarm};
use crate::compare::{Change, Outcome, Quantity, Ratio, Who};
use crate::observation::Range;
use crate::observation::tests::{cost, known, pair as preempted_by};
use crate::testing::{self, assert_is_near, assert_within, normal, seeded};

/// Counts and times of the tasks of one name in a synthetic record.
#[derive(Clone, Copy)]
struct Made {
    voluntary: f64,
    involuntary: f64,
    run_ns: f64,
    /// Histogram bucket of all waits.
    bucket: usize,
}

const USUAL: Made = Made {
    voluntary: 9_000.0,
    involuntary: 1_000.0,
    run_ns: 1e9,
    bucket: 7,
};

const HALVED: Made = Made {
    voluntary: 4_500.0,
    involuntary: 500.0,
    ..USUAL
};

fn named(name: &str, made: Made) -> Tasks {
    let switches = (made.voluntary + made.involuntary) as u64;
    let mut waits = vec![0; 16];
    waits[made.bucket] = switches;
    Tasks {
        count: 1,
        voluntary: made.voluntary as u64,
        involuntary: made.involuntary as u64,
        run_ns: Nanos(made.run_ns as u64),
        resident_bytes: Some(Bytes::mib(1)),
        wait: Histogram::new(waits),
        others: Histogram::new([0, switches]),
        ..Tasks::empty(Some(7), name.to_owned())
    }
}

fn calibration(ns: f64, measured_at: &str) -> Calibration {
    let cost = |ns: f64| cost(ns, ns * 0.1);
    Calibration {
        measured_at: measured_at.to_owned(),
        blocked: Some(cost(ns)),
        yielded: Some(cost(ns / 2.0)),
        preempted: None,
        reloads: Vec::new(),
        loads: Vec::new(),
    }
}

fn observation(tasks: Vec<Tasks>) -> Observation {
    Observation {
        subject: Subject::Command(vec!["server".to_owned()]),
        window_ns: Nanos(10_000_000_000),
        source: Source::Bpf,
        tasks,
        calibration: Some(calibration(1_000.0, "2026-01-01T00:00:00Z")),
        ..Observation::empty(testing::host(), String::new())
    }
}

/// Makes `count` records whose counts and times differ from run to run by the share `spread`, each
/// independently.
fn runs(
    random: &mut ChaCha8Rng,
    count: usize,
    spread: f64,
    of: &[(&str, Made)],
) -> Vec<Observation> {
    let mut about = |value: f64| value * (spread * normal(random)).exp();
    let mut run = || {
        let tasks = of.iter().map(|(name, made)| {
            let made = Made {
                voluntary: about(made.voluntary),
                involuntary: about(made.involuntary),
                run_ns: about(made.run_ns),
                ..*made
            };
            named(name, made)
        });
        observation(tasks.collect())
    };
    (0..count).map(|_| run()).collect()
}

/// Makes records of one program alone.
fn servers(random: &mut ChaCha8Rng, count: usize, spread: f64, made: Made) -> Vec<Observation> {
    runs(random, count, spread, &[("server", made)])
}

fn judged(base: &[Observation], new: &[Observation]) -> Comparison {
    judged_with(base, new, Request::default())
}

fn judged_with(base: &[Observation], new: &[Observation], request: Request<'_>) -> Comparison {
    let [base, new] = [base, new].map(|side| side.iter().collect::<Vec<_>>());
    compare_observations(&base, &new, request)
}

fn pair<'a>(comparison: &'a Comparison, who: &Who, quantity: Quantity) -> &'a Pair {
    let is_it = |pair: &&Pair| {
        pair.subject == super::Subject::Observed(who.clone()) && pair.quantity == quantity
    };
    comparison
        .pairs
        .iter()
        .find(is_it)
        .unwrap_or_else(|| panic!("no {quantity:?} of {who:?}"))
}

fn verdict(comparison: &Comparison, who: &Who, quantity: Quantity) -> (Ratio, Change) {
    let pair = pair(comparison, who, quantity);
    let found = pair.outcome.interval().zip(pair.verdict());
    found.unwrap_or_else(|| panic!("{pair:?}"))
}

fn of_all(comparison: &Comparison, quantity: Quantity) -> (Ratio, Change) {
    verdict(comparison, &Who::All, quantity)
}

fn why<'a>(comparison: &'a Comparison, who: &Who, quantity: Quantity) -> &'a str {
    pair(comparison, who, quantity).reason()
}

#[test]
fn a_known_ratio_is_found_for_all_and_for_the_name_that_changed() {
    let mut random = seeded(1);
    let mut side = |server| {
        let of = [("server", server), ("logger", USUAL)];
        runs(&mut random, 5, 0.02, &of)
    };
    let (base, new) = (side(USUAL), side(HALVED));
    let comparison = judged(&base, &new);
    for (who, expected, change) in [
        (Who::All, 0.75, Change::Faster),
        (Who::Name("server".to_owned()), 0.5, Change::Faster),
        (
            Who::Name("logger".to_owned()),
            1.0,
            Change::NoDifferenceShown,
        ),
    ] {
        for quantity in [Quantity::Switches, Quantity::DirectShare] {
            let (ratio, found) = verdict(&comparison, &who, quantity);
            assert_eq!(found, change, "{who:?} {quantity:?} {ratio:?}");
            assert!(
                ratio.low <= expected
                    && expected <= ratio.high
                    && (ratio.ratio / expected - 1.0).abs() < 0.08,
                "{ratio:?}"
            );
        }
        let (ratio, found) = verdict(&comparison, &who, Quantity::Involuntary);
        assert_eq!(
            found,
            Change::NoDifferenceShown,
            "half of both is the same share: {ratio:?}"
        );
    }
    let (other_way, _) = of_all(&judged(&new, &base), Quantity::Switches);
    let (one_way, _) = of_all(&comparison, Quantity::Switches);
    assert_within(other_way.ratio * one_way.ratio, 1.0, 1e-9);
}

#[test]
fn what_is_the_same_is_seldom_called_changed() {
    let mut random = seeded(2);
    let few = Made {
        voluntary: 400.0,
        involuntary: 20.0,
        ..USUAL
    };
    for (records, spread) in [(3, 0.3), (3, 0.1), (8, 0.2)] {
        let alarms = (0..TRIALS).filter(|_| {
            let mut side = || {
                runs(
                    &mut random,
                    records,
                    spread,
                    &[("server", USUAL), ("few", few)],
                )
            };
            let comparison = judged(&side(), &side());
            assert!(comparison.compared >= 12, "{}", comparison.compared);
            is_alarm(&comparison.pairs)
        });
        let alarms = alarms.count();
        assert!(
            alarms <= MOST_ALARMS,
            "{alarms} of {TRIALS} with {records} records a side that spread by {spread}"
        );
    }
}

#[test]
fn fewer_than_three_records_have_a_ratio_and_no_verdict() {
    let mut random = seeded(3);
    let twice = Made {
        voluntary: 18_000.0,
        involuntary: 2_000.0,
        ..USUAL
    };
    for (of_base, of_new) in [(1, 1), (2, 5), (5, 2)] {
        let base = servers(&mut random, of_base, 0.0, USUAL);
        let new = servers(&mut random, of_new, 0.0, twice);
        let comparison = judged(&base, &new);
        assert_eq!(comparison.compared, 0);
        let pair = pair(&comparison, &Who::All, Quantity::Switches);
        let Outcome::NotJudged { ratio, why } = &pair.outcome else {
            panic!("{:?}", pair.outcome)
        };
        assert_within(*ratio, 2.0, 1e-9);
        assert_eq!(
            why,
            "the spread between runs is unknown; run each side at least 3 times"
        );
        assert!(pair.is_open(), "what was not judged has not passed");
    }
    // A known spread can be given with `--run-spread`.
    let [base, new] = [USUAL, twice].map(|made| servers(&mut random, 1, 0.0, made));
    for (share, expected) in [(0.05, Change::Slower), (0.5, Change::NoDifferenceShown)] {
        let request = Request {
            run_spread: Some(share),
            ..Request::default()
        };
        let comparison = judged_with(&base, &new, request);
        let found = of_all(&comparison, Quantity::Switches).1;
        assert_eq!(found, expected, "{share}");
    }
}

/// Shows that three runs that agree to the last switch do not exclude chance.
#[test]
fn a_few_events_differ_by_chance_however_alike_the_runs_are() {
    let made = |involuntary| Made {
        involuntary,
        ..USUAL
    };
    let of = |involuntary| vec![observation(vec![named("server", made(involuntary))]); 3];
    let change = |base, new| of_all(&judged(&of(base), &of(new)), Quantity::Involuntary).1;
    assert_eq!(change(20.0, 40.0), Change::NoDifferenceShown);
    assert_eq!(change(2_000.0, 4_000.0), Change::Slower);
}

/// Shows that waits in neighbouring buckets may be equal, because the position within a bucket is
/// unknown, and that waits two buckets apart differ.
#[test]
fn waits_in_neighbouring_buckets_may_be_the_same() {
    let of = |bucket| vec![observation(vec![named("server", Made { bucket, ..USUAL })]); 4];
    let change = |base, new| of_all(&judged(&of(base), &of(new)), Quantity::WaitP99).1;
    assert_eq!([change(7, 8), change(8, 7)], [Change::NoDifferenceShown; 2]);
    assert_eq!(
        [change(7, 9), change(9, 7)],
        [Change::Slower, Change::Faster]
    );
}

#[test]
fn both_sides_are_priced_alike_where_they_are_of_one_machine() {
    let mut random = seeded(4);
    let base = servers(&mut random, 3, 0.01, USUAL);
    let mut new = servers(&mut random, 3, 0.01, USUAL);
    for record in &mut new {
        record.calibration = Some(calibration(2_000.0, "2026-01-02T00:00:00Z"));
    }
    let comparison = judged(&base, &new);
    assert_eq!(comparison.pricing, Some(Pricing::OneCalibration));
    let (ratio, change) = of_all(&comparison, Quantity::DirectShare);
    assert_eq!(change, Change::NoDifferenceShown);
    assert_within(ratio.ratio, 1.0, 0.05);
    let direct = pair(&comparison, &Who::All, Quantity::DirectShare)
        .base
        .expect("a cost")
        .value;
    assert_is_near(direct, 0.0195, 0.05);
    for record in &mut new {
        record.host.kernel = "another".to_owned();
    }
    let apart = judged(&base, &new);
    assert_eq!(apart.pricing, Some(Pricing::OwnCalibrations));
    assert_eq!(apart.environment[0].what, "kernel");
    assert_eq!(of_all(&apart, Quantity::DirectShare).1, Change::Slower);
}

#[test]
fn what_no_record_has_is_left_out_and_what_one_side_has_not_says_why() {
    let mut random = seeded(5);
    let unpriced = |mut records: Vec<Observation>| {
        records
            .iter_mut()
            .for_each(|record| record.calibration = None);
        records
    };
    let both = [("server", USUAL), ("old", USUAL)];
    let base = unpriced(runs(&mut random, 3, 0.01, &both));
    let unpreempted = Made {
        involuntary: 0.0,
        ..USUAL
    };
    let mut new = unpriced(servers(&mut random, 3, 0.01, unpreempted));
    for record in &mut new {
        record.throttled = vec![Throttled {
            group: "g".to_owned(),
            times: 90,
            throttled_ns: Nanos(1_000_000_000),
            joined_after_ns: None,
        }];
    }
    let comparison = judged(&base, &new);
    let has = |quantity| {
        comparison
            .pairs
            .iter()
            .any(|pair| pair.quantity == quantity)
    };
    assert!(!has(Quantity::DirectShare) && !has(Quantity::CostShare) && !has(Quantity::ColdShare));
    assert!(!has(Quantity::Preemptions), "none preempted");
    assert_eq!(comparison.pricing, Some(Pricing::Nothing));
    let zero = "number is 0 in 3 of 3 records, so it has no ratio";
    assert_eq!(
        why(&comparison, &Who::All, Quantity::Throttled),
        format!("the base {zero}")
    );
    assert_eq!(
        why(&comparison, &Who::All, Quantity::Involuntary),
        format!("the new {zero}")
    );
    assert!(
        pair(&comparison, &Who::All, Quantity::Throttled).is_open(),
        "it has grown out of nothing"
    );
    assert!(
        !pair(&comparison, &Who::All, Quantity::Involuntary).is_open(),
        "what is gone has not grown"
    );
    let old = Who::Name("old".to_owned());
    let gone = why(&comparison, &old, Quantity::Switches);
    assert_eq!(gone, "the new side has no such name");
}

#[test]
fn a_compared_name_has_a_hundredth_of_the_switches_of_one_side() {
    let mut random = seeded(7);
    let small = |voluntary| Made {
        voluntary,
        involuntary: 0.0,
        ..USUAL
    };
    let mut of = |grown| {
        let names = [
            ("server", USUAL),
            ("rare", small(60.0)),
            ("grown", small(grown)),
        ];
        runs(&mut random, 3, 0.01, &names)
    };
    let comparison = judged(&of(10.0), &of(130.0));
    let has = |name: &str| {
        let who = super::Subject::Observed(Who::Name(name.to_owned()));
        comparison.pairs.iter().any(|pair| pair.subject == who)
    };
    assert_eq!(["server", "rare", "grown"].map(has), [true, false, true]);
}

#[test]
fn neighbours_are_compared_by_name_and_not_where_they_were_not_counted() {
    let mut random = seeded(6);
    let mut of = |times| {
        let mut records = servers(&mut random, 3, 0.01, USUAL);
        for record in &mut records {
            record.pairs = vec![preempted_by("batch", Some(9), times)];
        }
        records
    };
    let (base, mut new) = (of(10_000), of(1_000));
    let batch = Who::Neighbour("batch".to_owned());
    let comparison = judged(&base, &new);
    let (ratio, change) = verdict(&comparison, &batch, Quantity::Preemptions);
    assert_eq!(change, Change::Faster);
    assert_within(ratio.ratio, 0.1, 1e-9);
    assert_eq!(
        pair(&comparison, &batch, Quantity::Preemptions)
            .base
            .map(|cost| cost.value.round()),
        Some(1_000.0)
    );
    new.iter_mut()
        .for_each(|record| record.source = Source::Proc);
    let comparison = judged(&base, &new);
    assert_eq!(
        why(&comparison, &batch, Quantity::Preemptions),
        "not counted on the new side"
    );
    assert_eq!(comparison.environment[0].what, "counted by");
}

/// Shows that observations counted in different ways are not compared, because each way adds its
/// own time to a switch.
#[test]
fn what_was_counted_in_different_ways_is_not_compared() {
    let mut random = seeded(8);
    for records in [1, 4] {
        let base = servers(&mut random, records, 0.01, USUAL);
        let mut new = servers(&mut random, records, 0.01, HALVED);
        new[0].source = Source::Perf;
        let comparison = judged(&base, &new);
        assert_eq!(comparison.compared, 0);
        for pair in &comparison.pairs {
            assert_eq!(
                pair.reason(),
                "switches were counted in different ways (bpf, perf), which slow them differently; observe all in one way"
            );
        }
    }
}

/// Gives a record a result of `inject`: cold caches cost 1.2 us after a preemption that touches 1
/// MiB.
fn price(record: &mut Observation) {
    let cost = cost(1_200.0, 200.0);
    record.calibration.as_mut().expect("priced").reloads = vec![Reload {
        size_bytes: Bytes::mib(1),
        walk_ns: 40_000.0,
        cost,
    }];
    let mut known = known(KnownBy::Inject, 7, 0.0);
    known.file = "first.jsonl".to_owned();
    known.points = vec![KnownPoint {
        away_bytes: Bytes::mib(1),
        away_ns: Some(Nanos(40_000)),
        ran_ns: Nanos(1_000),
        cost,
    }];
    record.known = vec![known];
}

/// Shows that costs of cold caches are not compared if one record was priced with another result of
/// `inject`.
#[test]
fn caches_that_are_priced_in_different_ways_are_not_compared() {
    let mut random = seeded(10);
    let mut side = || servers(&mut random, 3, 0.01, USUAL);
    let (mut base, mut new) = (side(), side());
    for record in base.iter_mut().chain(&mut new) {
        price(record);
    }
    let same = judged(&base, &new);
    of_all(&same, Quantity::CostShare);
    new[0].known[0].file = "second.jsonl".to_owned();
    let comparison = judged(&base, &new);
    assert_eq!(
        why(&comparison, &Who::All, Quantity::CostShare),
        "cold caches were priced in different ways (inject first.jsonl, inject second.jsonl); observe all with the same knowledge"
    );
    of_all(&comparison, Quantity::DirectShare);
}

#[test]
fn a_cost_of_cold_caches_that_cannot_be_compared_is_listed_with_the_reason() {
    let mut random = seeded(11);
    let mut side = || servers(&mut random, 3, 0.01, USUAL);
    let (mut base, mut new, unpriced) = (side(), side(), side());
    base.iter_mut().chain(&mut new).for_each(price);
    let unknown =
        |side| format!("the cost of cold caches is unknown or only a range on the {side} side");
    let comparison = judged(&base, &new);
    for who in [Who::All, Who::Name("server".to_owned())] {
        assert_eq!(
            why(&comparison, &who, Quantity::ColdShare),
            format!("{}; {}", unknown("base"), unknown("new"))
        );
    }
    assert!(!pair(&comparison, &Who::All, Quantity::ColdShare).is_open());
    let comparison = judged(&base, &unpriced);
    assert_eq!(
        why(&comparison, &Who::All, Quantity::CostShare),
        "the likely cost is unknown on the new side"
    );
    assert!(pair(&comparison, &Who::All, Quantity::CostShare).is_open());
}

/// Records agree to the last digit, so that only their own ranges show how well each is known.
#[test]
fn what_cold_caches_cost_differs_only_if_the_ranges_do_not_overlap() {
    let range = |low: f64, high: f64| Range {
        low,
        likely: Some((low * high).sqrt()),
        high,
    };
    let change = |base: Range, new: Range| {
        let key = Key {
            who: Who::All,
            quantity: Quantity::ColdShare,
        };
        let sides = [base, new].map(|range| vec![Number::between(range); 3]);
        let outcome = match intervals::ratio(&key, &sides, None) {
            Ok(ratio) => ratio.judge(0.9),
            Err(outcome) => outcome,
        };
        match outcome {
            Outcome::Compared { verdict, .. } => Ok(verdict),
            Outcome::NotComparable { why } => Err(why),
            Outcome::NotJudged { .. } => panic!("{outcome:?}"),
        }
    };
    let (low, middle, high) = (range(0.01, 0.02), range(0.018, 0.05), range(0.04, 0.06));
    assert_eq!(change(low, high), Ok(Change::Slower));
    assert_eq!(change(high, low), Ok(Change::Faster));
    for [base, new] in [[low, middle], [middle, low], [middle, high], [high, high]] {
        assert_eq!(change(base, new), Ok(Change::NoDifferenceShown));
    }
    let likely = Range {
        likely: Some(0.023),
        ..range(0.00034, 0.045)
    };
    let number = Number::between(likely).expect("both ends");
    assert_eq!(number.value, 0.023);
    assert_eq!(number.within, [0.023 / 0.00034, 0.045 / 0.023]);
    let unknown = "the cost of cold caches is unknown or only a range on the new side".to_owned();
    let vague = Range {
        likely: None,
        ..high
    };
    for new in [range(0.5, f64::INFINITY), range(0.0, 0.005), vague] {
        assert_eq!(change(low, new), Err(unknown.clone()));
    }
}

#[test]
fn a_record_that_lost_many_of_the_kernels_records_is_suspect() {
    let mut random = seeded(9);
    let mut side = || servers(&mut random, 3, 0.01, USUAL);
    let (base, mut new) = (side(), side());
    new[1].lost.records = 2_000;
    let comparison = judged(&base, &new);
    assert!(pair(&comparison, &Who::All, Quantity::Switches).is_suspect);
}

/// Shows that many names do not widen the interval of the whole, because they share their half of
/// the allowed error.
#[test]
fn names_do_not_widen_the_intervals_of_the_whole() {
    let width = |names: usize| {
        let mut random = seeded(7);
        let names: Vec<String> = ('a'..='z').take(names).map(String::from).collect();
        let of: Vec<(&str, Made)> = names.iter().map(|name| (name.as_str(), USUAL)).collect();
        let mut side = || runs(&mut random, 4, 0.0, &of);
        let comparison = judged(&side(), &side());
        let (ratio, _) = of_all(&comparison, Quantity::WaitP99);
        (ratio.high / ratio.low, comparison.compared)
    };
    let ((few, of_few), (many, of_many)) = (width(2), width(9));
    assert!(
        of_many > of_few + 20 && (few / many - 1.0).abs() < 1e-9,
        "{few} {many}"
    );
}
