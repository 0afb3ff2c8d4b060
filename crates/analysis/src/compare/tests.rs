use std::collections::BTreeMap;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use switchcost_record::{
    Between, Class, Fact, Mechanism, Policy, Relation, RuntimeCase, RuntimeFacts, RuntimeRun,
    SwitchPath,
};
use switchcost_units::{Bytes, CpuId};

use super::*;
use crate::analyse;
use crate::testing::{FakeCase, fake_record_with_seed, normal};

/// Makes records whose costs differ from run to run by a share, scaled by `factor`.
pub(super) fn runs(
    count: u64,
    seed: u64,
    spread: f64,
    factor: f64,
    cases: &[FakeCase],
) -> Vec<Analysis> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let run = |number| {
        let cases = cases.iter().cloned().map(|mut case| {
            case.switch_ns *= factor * (spread * normal(&mut random)).exp();
            case
        });
        let record = fake_record_with_seed(cases.collect(), 8, seed * 1_000 + number);
        let findings = analyse(&record);
        (record, findings)
    };
    (0..count).map(run).collect()
}

type Analysis = (MeasureRecord, Findings);

/// Makes records of a hand-off through a pipe.
fn pipes(count: u64, seed: u64, spread: f64) -> Vec<Analysis> {
    runs(count, seed, spread, 1.0, &[FakeCase::pipe()])
}

fn compared(base: &[Analysis], new: &[Analysis]) -> Comparison {
    judged(base, new, Request::default())
}

fn judged(base: &[Analysis], new: &[Analysis], request: Request<'_>) -> Comparison {
    let [base, new] = [base, new].map(|runs| -> Vec<Analysed<'_>> {
        runs.iter()
            .map(|(record, findings)| (record, findings))
            .collect()
    });
    compare(&base, &new, &[], request)
}

fn ratio(pair: &Pair) -> Ratio {
    pair.outcome.interval().expect("compared")
}

fn why(pair: &Pair) -> &str {
    match &pair.outcome {
        Outcome::NotComparable { why } => why,
        other => panic!("{other:?}"),
    }
}

fn whats(differences: &[Difference]) -> Vec<&str> {
    differences
        .iter()
        .map(|difference| difference.what.as_str())
        .collect()
}

fn verdicts(comparison: &Comparison) -> Vec<Option<Change>> {
    verdicts_of(&comparison.pairs)
}

fn verdicts_of(pairs: &[Pair]) -> Vec<Option<Change>> {
    let verdict = |pair: &Pair| match pair.outcome {
        Outcome::Compared { verdict, .. } => Some(verdict),
        Outcome::NotJudged { .. } | Outcome::NotComparable { .. } => None,
    };
    pairs.iter().map(verdict).collect()
}

fn six_cases() -> Vec<FakeCase> {
    let tasks = |tasks| FakeCase::pipe().change(|case| case.tasks = tasks);
    vec![
        tasks(2),
        tasks(3),
        tasks(4),
        tasks(8),
        FakeCase::fiber(),
        FakeCase::pipe().with_set(Bytes::kib(64)),
    ]
}

/// Compares equal pairs of record sets; returns in how many a difference is reported: in a cost,
/// and in system calls.
fn false_alarms(trials: u64, records: u64, spread: f64) -> [usize; 2] {
    let is_called = |pairs: &[Pair]| {
        verdicts_of(pairs)
            .iter()
            .any(|one| *one != Some(Change::NoDifferenceShown))
    };
    let mut alarms = [0, 0];
    for trial in 0..trials {
        let base = runs(records, 2 * trial + 1, spread, 1.0, &six_cases());
        let new = runs(records, 2 * trial + 2, spread, 1.0, &six_cases());
        let comparison = compared(&base, &new);
        assert_eq!((comparison.compared, comparison.calls.len()), (6, 8));
        alarms[0] += usize::from(is_called(&comparison.pairs));
        alarms[1] += usize::from(is_called(&comparison.calls));
    }
    alarms
}

/// Trials of a false-alarm test. The limits are the nominal 10 % of 200 (1 % for calls) plus two
/// standard deviations of chance: 28 and 5.
const TRIALS: u64 = 200;
const MOST_ALARMS: [usize; 2] = [28, 5];

fn are_few([of_costs, of_calls]: [usize; 2]) -> bool {
    of_costs <= MOST_ALARMS[0] && of_calls <= MOST_ALARMS[1]
}

#[test]
fn sets_that_are_the_same_seldom_differ() {
    for (records, spread) in [(3, 0.01), (5, 0.03)] {
        let alarms = false_alarms(TRIALS, records, spread);
        assert!(
            are_few(alarms),
            "{alarms:?} of {TRIALS} with {records} records a side that spread by {spread}"
        );
    }
}

#[test]
fn single_records_seldom_differ_if_runs_spread_as_assumed() {
    let alarms = false_alarms(TRIALS, 1, ASSUMED_RUN_SPREAD);
    assert!(are_few(alarms), "{alarms:?} of {TRIALS}");
}

fn across_and_not() -> [FakeCase; 2] {
    [FakeCase::pipe().across_cpus(), FakeCase::pipe()]
}

/// Shows that a difference on one CPU is not chance, although two runs of one guest, minutes apart,
/// differed by 26 % across CPUs.
#[test]
fn what_is_a_difference_on_one_cpu_is_none_across_two() {
    use Change::{NoDifferenceShown, Slower};
    let side = |seed, factor| runs(1, seed, 0.0, factor, &across_and_not());
    let found = compared(&side(1, 1.0), &side(2, 1.26));
    assert_eq!(verdicts(&found), [Some(NoDifferenceShown), Some(Slower)]);
    let of_calls = [
        NoDifferenceShown,
        NoDifferenceShown,
        NoDifferenceShown,
        Slower,
    ]
    .map(Some);
    assert_eq!(
        verdicts_of(&found.calls),
        of_calls,
        "hand-offs with their calls likewise"
    );
    let assumed = |share| {
        Some(RunSpread {
            share,
            origin: Origin::Assumed,
        })
    };
    assert_eq!(found.run_spread, assumed(ASSUMED_RUN_SPREAD));
    assert_eq!(found.run_spread_across_cpus, assumed(ASSUMED_ACROSS_CPUS));
    let given = judged(
        &side(1, 1.0),
        &side(2, 1.26),
        Request {
            run_spread: Some(0.02),
            ..Request::default()
        },
    );
    assert_eq!(
        verdicts(&given),
        [Some(Slower); 2],
        "what is given holds for all"
    );
    assert_eq!(given.run_spread, given.run_spread_across_cpus);
    let apart = |seed, factor| runs(1, seed, 0.0, factor, &across_and_not()[..1]);
    let alone = compared(&apart(1, 1.0), &apart(2, 1.26));
    assert_eq!(verdicts(&alone), [Some(NoDifferenceShown)]);
    assert_eq!(
        alone.run_spread,
        assumed(ASSUMED_ACROSS_CPUS),
        "there is no other"
    );
}

/// The spread of hand-offs across CPUs widens no interval of a case on one CPU, nor does the spread
/// on one CPU narrow an interval across CPUs.
#[test]
fn each_kind_of_cases_learns_what_its_own_runs_differ_by() {
    let side = |seed, apart_ns| {
        let mut cases = across_and_not();
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut records = Vec::new();
        for number in 0..5 {
            cases[0].switch_ns = apart_ns * (0.13 * normal(&mut random)).exp();
            cases[1].switch_ns = 1_700.0 * (0.01 * normal(&mut random)).exp();
            let record = fake_record_with_seed(cases.to_vec(), 8, seed * 1_000 + number);
            let findings = analyse(&record);
            records.push((record, findings));
        }
        records
    };
    let found = compared(&side(31, 12_500.0), &side(32, 12_500.0));
    let [one, across] =
        [found.run_spread, found.run_spread_across_cpus].map(|spread| spread.expect("learned"));
    assert_eq!([one.origin, across.origin], [Origin::Records; 2]);
    assert!(
        (0.005..0.025).contains(&one.share) && (0.1..0.2).contains(&across.share),
        "{one:?}, {across:?}"
    );
}

/// Repeats [`single_records_seldom_differ_if_runs_spread_as_assumed`] with the spread of the
/// records from which the constant was calibrated.
#[test]
fn single_records_of_hand_offs_across_cpus_seldom_differ() {
    let side = |seed| runs(1, seed, 0.13, 1.0, &across_and_not()[..1]);
    let alarms = (0..TRIALS).filter(|trial| {
        let found = compared(&side(2 * trial + 1), &side(2 * trial + 2));
        verdicts(&found) != [Some(Change::NoDifferenceShown)]
    });
    let alarms = alarms.count();
    assert!(alarms <= MOST_ALARMS[0], "{alarms} of {TRIALS}");
}

/// Shows that a system call filter, which slows both arms by 900 ns, changes no cost of a switch
/// (1,700 ns), but only the calls.
#[test]
fn what_makes_system_calls_slower_is_reported_of_them_and_not_of_the_switch() {
    let with_calls_of = |ns: f64, seed| {
        let mut case = FakeCase::pipe();
        case.baseline_ns = ns;
        runs(
            4,
            seed,
            0.002,
            1.0,
            &[
                case,
                FakeCase::fiber(),
                FakeCase::pipe().with_set(Bytes::kib(64)),
            ],
        )
    };
    let found = compared(&with_calls_of(900.0, 21), &with_calls_of(1_170.0, 22));
    assert_eq!(verdicts(&found), [Some(Change::NoDifferenceShown); 3]);
    assert_eq!(
        verdicts_of(&found.calls),
        [Some(Change::Slower); 2],
        "of the pipe without data alone"
    );
    let expected = [
        (Quantity::Calls, 1.3),
        (Quantity::HandOffWithCalls, 2_870.0 / 2_600.0),
    ];
    for (pair, (quantity, ratio)) in found.calls.iter().zip(expected) {
        assert_eq!(pair.quantity, quantity);
        assert!(
            (pair.ratio().expect("compared") / ratio - 1.0).abs() < 0.01,
            "{pair:?}"
        );
    }
    let lowered = FakeCase::pipe().change(|case| case.policy = Policy::Other);
    let across = Request {
        across: &[Condition::Policy],
        ..Request::default()
    };
    assert_eq!(
        judged(
            &with_calls_of(900.0, 21),
            &runs(1, 3, 0.0, 1.0, &[lowered]),
            across
        )
        .calls
        .len(),
        2
    );
}

#[test]
fn a_real_difference_is_found_and_has_its_direction() {
    for (records, factor, expected) in [
        (1, 1.2, Change::Slower),
        (1, 0.8, Change::Faster),
        (6, 1.05, Change::Slower),
    ] {
        let base = pipes(records, 11, 0.01);
        let new = runs(records, 12, 0.01, factor, &[FakeCase::pipe()]);
        let comparison = compared(&base, &new);
        assert_eq!(
            verdicts(&comparison),
            [Some(expected)],
            "{records} records, {factor}"
        );
        let found = ratio(&comparison.pairs[0]);
        assert!((found.ratio / factor - 1.0).abs() < 0.04, "{found:?}");
        assert!(
            found.low <= found.ratio && found.ratio <= found.high,
            "{found:?}"
        );
        let inverse = ratio(&compared(&new, &base).pairs[0]);
        assert!(
            (inverse.ratio * found.ratio - 1.0).abs() < 1e-9,
            "the way round matters"
        );
    }
}

/// Shows that a true change as large as the one detectable at 80 % power is reported in about 80 of
/// 100 comparisons.
#[test]
fn a_detectable_change_is_shown_as_often_as_said() {
    let changed = |trial: u64, change: f64| {
        let base = pipes(6, 2 * trial + 1, ASSUMED_RUN_SPREAD);
        let new = runs(
            6,
            2 * trial + 2,
            ASSUMED_RUN_SPREAD,
            1.0 + change,
            &[FakeCase::pipe()],
        );
        compared(&base, &new)
    };
    let detectable = |trial| changed(trial, 0.0).detectable(0.8).expect("an interval");
    let change = (0..50).map(detectable).sum::<f64>() / 50.0;
    let is_shown =
        |trial: &u64| verdicts(&changed(1_000 + trial, change)) == [Some(Change::Slower)];
    let shown = (0..TRIALS).filter(is_shown).count() as f64 / TRIALS as f64;
    assert!(
        (0.70..=0.90).contains(&shown),
        "{shown} with a change of {change}"
    );
}

#[test]
fn what_is_open_has_no_power() {
    let (base, new) = (pipes(1, 1, 0.0), runs(1, 2, 0.0, 1.0, &[FakeCase::fiber()]));
    assert_eq!(compared(&base, &new).detectable(0.8), None);
}

#[test]
fn more_pairs_need_more_evidence() {
    let (base, new) = (
        runs(4, 21, 0.01, 1.0, &six_cases()),
        runs(4, 22, 0.01, 1.0, &six_cases()),
    );
    let all = compared(&base, &new);
    let (base, new) = (
        runs(4, 21, 0.01, 1.0, &six_cases()[..1]),
        runs(4, 22, 0.01, 1.0, &six_cases()[..1]),
    );
    let one = compared(&base, &new);
    let width = |comparison: &Comparison| {
        let found = ratio(&comparison.pairs[0]);
        (found.high / found.low).ln()
    };
    assert_eq!((all.compared, one.compared), (6, 1));
    assert!(
        width(&all) > 1.3 * width(&one),
        "{} {}",
        width(&all),
        width(&one)
    );
}

#[test]
fn what_cannot_be_compared_says_why() {
    let base = runs(1, 1, 0.0, 1.0, &[FakeCase::pipe(), FakeCase::fiber()]);
    let new = runs(1, 2, 0.0, 1.0, &[FakeCase::pipe(), FakeCase::synthetic()]);
    let comparison = compared(&base, &new);
    let [_, without_new, without_base] = &comparison.pairs[..] else {
        panic!("{comparison:?}")
    };
    assert_eq!(why(without_new), "the new record has no such case");
    assert_eq!(why(without_base), "the base record has no such case");
    assert_eq!(comparison.compared, 1);
    let free = runs(1, 3, 0.0, 0.0, &[FakeCase::pipe()]);
    let none = compared(&base, &free);
    let why = why(&none.pairs[0]);
    assert!(
        why.contains("not above 0") || why.starts_with("not measured in the new record: "),
        "{why}"
    );
}

#[test]
fn one_number_of_several_records_is_not_enough() {
    let (base, mut new) = (pipes(3, 1, 0.01), pipes(3, 2, 0.01));
    for (_, findings) in &mut new[1..] {
        findings.results[0].direct_ns = None;
    }
    let comparison = compared(&base, &new);
    assert_eq!(
        why(&comparison.pairs[0]),
        "only 1 of 3 new records has a number, so their spread is unknown"
    );
    assert_eq!(comparison.compared, 0);
    assert!(
        comparison.pairs[0].new.is_some(),
        "it is shown all the same"
    );
}

/// Shows that costs are compared at one core clock, which is no property of the compared subject:
/// at half the clock, the same switch takes twice as long.
#[test]
fn costs_are_compared_at_one_clock_of_the_core() {
    let cases = || [FakeCase::pipe(), FakeCase::pipe().with_set(Bytes::kib(64))];
    let (base, mut new) = (
        runs(3, 31, 0.01, 1.0, &cases()),
        runs(3, 32, 0.01, 1.0, &cases()),
    );
    let base_hertz = 3e9;
    let with_hertz = |findings: &mut Findings, hertz| {
        findings.core = Some(crate::CoreFinding {
            hertz: Some(hertz),
            fastest_hertz: None,
        })
    };
    let mut base = base;
    base.iter_mut()
        .for_each(|(_, findings)| with_hertz(findings, base_hertz));
    for (_, findings) in &mut new {
        with_hertz(findings, base_hertz / 2.0);
        for result in &mut findings.results {
            // The wait for memory does not change.
            let reload = result
                .indirect_reload_ns
                .as_ref()
                .map_or(0.0, |reload| reload.estimate);
            let twice =
                |cost: crate::Estimate, reload: f64| cost.scaled(2.0 - reload / cost.estimate);
            result.direct_ns = result.direct_ns.take().map(|direct| twice(direct, 0.0));
            result.total_ns = result.total_ns.take().map(|total| twice(total, reload));
        }
    }
    let comparison = compared(&base, &new);
    assert_eq!(verdicts(&comparison), [Some(Change::NoDifferenceShown); 2]);
    assert!(
        comparison
            .hertz
            .is_some_and(|hertz| (hertz / (base_hertz / 2.0_f64.sqrt()) - 1.0).abs() < 1e-9)
    );
}

fn share_throughout(findings: &mut Findings) {
    for result in &mut findings.results {
        result.shared = Some(crate::Shared {
            share: 1.0,
            is_left_out: false,
            cost_ns: None,
        });
    }
}

#[test]
fn a_shared_core_is_compared_with_a_shared_one_alone() {
    let run = |count, seed| pipes(count, seed, 0.01);
    let (mut base, new) = (run(1, 1), run(1, 2));
    share_throughout(&mut base[0].1);
    assert_eq!(
        why(&compared(&base, &new).pairs[0]),
        "the cost of the base record is from a shared core, and that of the other side is not"
    );
    let mut both = run(1, 3);
    share_throughout(&mut both[0].1);
    assert_eq!(compared(&base, &both).compared, 1);
    let mut mixed = run(3, 4);
    share_throughout(&mut mixed[1].1);
    let comparison = compared(&mixed, &new);
    assert_eq!(
        comparison.pairs[0].base.map(|cost| cost.records),
        Some(2),
        "the one that was shared is left out"
    );
}

#[test]
fn what_may_be_anything_is_not_known() {
    let wide = |seed| {
        let mut runs = pipes(1, seed, 0.0);
        let direct = runs[0].1.results[0]
            .direct_ns
            .as_mut()
            .expect("an estimate");
        direct.within_run.1 = 20.0 * direct.estimate;
        runs
    };
    let comparison = compared(&wide(1), &wide(2));
    assert!(why(&comparison.pairs[0]).starts_with("the records differ so much"));
}

#[test]
fn another_cpu_is_the_same_case_and_another_policy_is_not() {
    let pipe = |change: fn(&mut Case)| vec![FakeCase::pipe().change(change)];
    let base = runs(1, 1, 0.0, 1.0, &pipe(|_| ()));
    let pairs = |change| {
        compared(&base, &runs(1, 2, 0.0, 1.0, &pipe(change)))
            .pairs
            .len()
    };
    assert_eq!(pairs(|case| case.placement.cpus = vec![CpuId(7)]), 1);
    assert_eq!(pairs(|case| case.policy = Policy::Other), 2);
    assert_eq!(pairs(|case| case.mechanism = Mechanism::Futex), 2);
    assert_eq!(pairs(|case| case.between = Between::Thread), 2);
    assert_eq!(pairs(|case| case.placement.relation = Relation::Smt), 2);
}

#[test]
fn cases_are_compared_across_what_was_named_and_no_more() {
    let pipe = |change: fn(&mut Case)| FakeCase::pipe().change(change);
    let across = |base: &[FakeCase], new: &[FakeCase], across: &[Condition]| {
        let (base, new) = (runs(3, 1, 0.001, 1.0, base), runs(3, 2, 0.001, 1.5, new));
        judged(
            &base,
            &new,
            Request {
                across,
                ..Request::default()
            },
        )
    };
    let other = [pipe(|case| case.policy = Policy::Other)];
    let policy = across(&[FakeCase::pipe()], &other, &[Condition::Policy]);
    assert_eq!(verdicts(&policy), [Some(Change::Slower)]);
    let (base, new) = (
        policy.pairs[0].case().expect("a case"),
        policy.pairs[0].new_case.as_ref().expect("another"),
    );
    assert_eq!(
        differing(base, new),
        [("fifo".to_owned(), "other".to_owned())]
    );
    assert_eq!(
        across(
            &[FakeCase::pipe()],
            &other,
            &[Condition::Size, Condition::Tasks]
        )
        .compared,
        0
    );
    let (none, some) = (
        [FakeCase::pipe()],
        [FakeCase::pipe().with_set(Bytes::kib(64))],
    );
    let size = across(&none, &some, &[Condition::Size]);
    assert_eq!(
        (size.compared, size.pairs[0].quantity),
        (1, Quantity::Total),
        "its reload is in it"
    );
    let same = across(
        &[FakeCase::pipe()],
        &[FakeCase::pipe(), other[0].clone()],
        &[Condition::Policy],
    );
    assert_eq!(
        (same.compared, same.pairs.len()),
        (1, 2),
        "what is the same needs no other"
    );
}

#[test]
fn of_several_alike_none_is_chosen() {
    let tasks = |tasks| FakeCase::pipe().change(move |case| case.tasks = tasks);
    let (base, new) = (
        pipes(1, 1, 0.0),
        runs(1, 2, 0.0, 1.0, &[tasks(3), tasks(4)]),
    );
    let found = judged(
        &base,
        &new,
        Request {
            across: &[Condition::Tasks],
            ..Request::default()
        },
    );
    assert_eq!(
        why(&found.pairs[0]),
        "2 cases of the new record fit it, so it is not clear which to compare"
    );
    assert_eq!(found.compared, 0);
}

#[test]
fn what_else_differs_is_named() {
    let (base, mut new) = (pipes(1, 1, 0.0), pipes(2, 2, 0.0));
    let none = compared(&base, &new);
    assert_eq!(none.environment, []);
    let host = &mut new[1].0.header.host;
    host.governor = Fact::Known("powersave".to_owned());
    host.mitigations
        .insert("spectre_v2".to_owned(), "Vulnerable".to_owned());
    host.memory_available_bytes = Bytes(1);
    host.microcode = Some("0xa0011d1".to_owned());
    let found = compared(&base, &new).environment;
    assert_eq!(
        whats(&found),
        [
            "microcode",
            "frequency governor",
            "mitigation of spectre_v2"
        ]
    );
    assert_eq!(found[1].base, ["unknown"]);
    assert_eq!(
        found[1].new,
        ["powersave", "unknown"],
        "both values of a side that does not agree"
    );
}

/// Makes the facts of a switch path without anything that slows it.
fn bare_path() -> SwitchPath {
    let (none, unknown) = (
        || Fact::Known(Vec::new()),
        || Fact::<String>::unknown("not asked"),
    );
    SwitchPath {
        nice: Fact::Known(0),
        slice_ns: Fact::unknown("not asked"),
        utilization_clamp: Fact::unknown("not asked"),
        control_group: Fact::Known("/".to_owned()),
        control_group_depth: Fact::Known(0),
        autogroup: unknown(),
        seccomp_filters: Fact::Known(0),
        speculation: unknown(),
        is_traced: Fact::Known(false),
        sched_ext: unknown(),
        ftrace: none(),
        observers: none(),
        audit: unknown(),
        security_modules: none(),
        settings: BTreeMap::new(),
    }
}

#[test]
fn what_acts_on_a_switch_is_named_as_what_differs() {
    let (mut base, mut new) = (pipes(2, 1, 0.0), pipes(2, 2, 0.0));
    for (record, _) in base.iter_mut().chain(&mut new) {
        record.header.host.switch_path = Some(bare_path());
    }
    assert_eq!(compared(&base, &new).environment, []);
    for (record, _) in &mut new {
        let path = record.header.host.switch_path.as_mut().expect("one");
        path.seccomp_filters = Fact::Known(5);
        path.observers = Fact::Known(vec!["perf: 4 perf events".to_owned()]);
        path.control_group_depth = Fact::Known(3);
        path.settings
            .insert("kernel/sched_schedstats".to_owned(), "1".to_owned());
    }
    let found = compared(&base, &new).environment;
    let said: Vec<(&str, &str)> = found
        .iter()
        .map(|one| (one.what.as_str(), one.new[0].as_str()))
        .collect();
    let expected = [
        ("seccomp filters", "5"),
        ("perf and BPF", "perf: 4 perf events"),
        ("depth of the control group", "3"),
        ("kernel/sched_schedstats", "1"),
    ];
    assert_eq!(said, expected);
    new[0].0.header.host.switch_path = None;
    assert_eq!(
        compared(&base, &new).environment,
        [],
        "a record that says nothing of it"
    );
}

#[test]
fn of_runtimes_it_is_the_versions_that_differ() {
    let (mut base, mut new) = (pipes(1, 1, 0.0), pipes(1, 2, 0.0));
    for (side, version) in [(&mut base, "1.25.3"), (&mut new, "1.26.8")] {
        let record = &mut side[0].0;
        let facts = |name: &str, version: &str| RuntimeFacts {
            name: name.to_owned(),
            version: version.to_owned(),
            program: String::new(),
            handoffs: Vec::new(),
        };
        record.header.runtimes = vec![
            facts("go", version),
            facts("lua", ""),
            facts("tokio", "1.95.0"),
        ];
        let (runtime, handoff) = ("tokio".to_owned(), "channel".to_owned());
        record.header.plan.cases[0].runtime = Some(RuntimeCase {
            runtime,
            handoff,
            class: Class::HandOff,
        });
        let said = |version: &str| RuntimeRun {
            version: version.to_owned(),
            ..RuntimeRun::default()
        };
        record.runtime_runs = vec![
            said("tokio 1.48.0"),
            said("tokio 1.48.0, a library 1.0"),
            said("tokio 1.48.0"),
        ];
    }
    let differences = |base: &[Analysis], new: &[Analysis]| -> Vec<(String, Vec<String>)> {
        let found = compared(base, new).environment;
        found
            .into_iter()
            .map(|difference| (difference.what, difference.new))
            .collect()
    };
    assert_eq!(
        differences(&base, &new),
        [("runtime go".to_owned(), vec!["1.26.8".to_owned()])]
    );
    new[0].0.runtime_runs.pop();
    new[0].0.runtime_runs[0].version = "tokio 1.49.0".to_owned();
    let tokio = (
        "runtime tokio".to_owned(),
        vec!["tokio 1.48.0, a library 1.0; tokio 1.49.0".to_owned()],
    );
    assert_eq!(differences(&base, &new)[1], tokio);
}

#[test]
fn a_limit_counts_only_shown_differences() {
    let base = runs(1, 1, 0.0, 1.0, &six_cases());
    let slower = compared(&base, &runs(1, 2, 0.0, 1.3, &six_cases()));
    let over = |share| slower.slower_by_more_than(share).count();
    assert_eq!(
        over(0.05),
        verdicts(&slower)
            .iter()
            .filter(|verdict| **verdict == Some(Change::Slower))
            .count()
    );
    assert_eq!(over(0.5), 0);
    let same = compared(&base, &runs(1, 3, 0.0, 1.0, &six_cases()));
    assert_eq!(same.slower_by_more_than(0.0).count(), 0);
}

/// Shows the result for a kernel that makes two switches in place of one: each costs as much as
/// before, and a hand-off costs twice as much.
#[test]
fn two_switches_a_hand_off_are_slower_and_a_finding() {
    let twice = || {
        let mut case = FakeCase::pipe();
        case.switches_per_handoff = 2.0;
        case.switch_ns *= 2.0;
        case.change(|case| case.switches = None)
    };
    let once = || FakeCase::pipe().change(|case| case.switches = None);
    let (base, new) = (
        runs(3, 1, 0.005, 1.0, &[once()]),
        runs(3, 2, 0.005, 1.0, &[twice()]),
    );
    let comparison = compared(&base, &new);
    assert_eq!(verdicts(&comparison), [Some(Change::Slower)]);
    assert_eq!(
        comparison.slower_by_more_than(0.5).count(),
        1,
        "the gate closes"
    );
    let [changed] = comparison.switches.as_slice() else {
        panic!("{:?}", comparison.switches)
    };
    assert!(
        (changed.base - 1.0).abs() < 0.02 && (changed.new - 2.0).abs() < 0.02,
        "{changed:?}"
    );
    assert!(compared(&base, &base).switches.is_empty());
}

#[test]
fn a_cost_beside_others_is_suspect_and_its_record_is_named() {
    let (base, mut new) = (pipes(2, 1, 0.01), pipes(2, 2, 0.01));
    let flag = crate::Flag {
        name: crate::FlagName::BesideOthers,
        detail: String::new(),
    };
    new[1].1.results[0].flags.push(flag);
    let names = ["a", "b", "c", "d"].map(str::to_owned);
    let found = judged(
        &base,
        &new,
        Request {
            base: &names[..2],
            new: &names[2..],
            ..Request::default()
        },
    );
    assert!(found.pairs[0].is_suspect);
    assert_eq!(found.pairs[0].suspect_records, ["d"]);
}
