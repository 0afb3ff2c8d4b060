use std::slice::from_ref;

use switchcost_record::{
    Between, Class, Fact, Mechanism, Policy, Relation, RuntimeCase, RuntimeFacts, RuntimeRun,
};
use switchcost_units::{Bytes, CpuId};

use super::*;
use crate::analyse;
use crate::testing::{
    FakeCase, assert_is_near, assert_within, fake_record_with_seed, fiber, is_near, normal, pipe,
    seeded, switch_path, synthetic,
};

impl Pair {
    /// Returns the verdict; `None` without one.
    pub(super) fn verdict(&self) -> Option<Change> {
        match self.outcome {
            Outcome::Compared { verdict, .. } => Some(verdict),
            Outcome::NotJudged { .. } | Outcome::NotComparable { .. } => None,
        }
    }

    /// Returns the reason why there is no verdict.
    pub(super) fn reason(&self) -> &str {
        match &self.outcome {
            Outcome::NotJudged { why, .. } | Outcome::NotComparable { why } => why,
            Outcome::Compared { .. } => panic!("{self:?}"),
        }
    }
}

/// Returns the names of the facts that differ between the sides.
pub(super) fn whats(differences: &[Difference]) -> Vec<&str> {
    let whats = differences.iter();
    whats.map(|difference| difference.what.as_str()).collect()
}

/// Whether a difference is reported in any pair.
pub(super) fn is_alarm(pairs: &[Pair]) -> bool {
    let is_change = |pair: &Pair| matches!(pair.verdict(), Some(Change::Slower | Change::Faster));
    pairs.iter().any(is_change)
}

/// Number of trials in a test for false alarms.
pub(super) const TRIALS: u64 = 100;
/// The nominal 10 % of [`TRIALS`] plus two standard deviations of chance. A binomial count exceeds
/// this number in 2 of 100 cases; with a rate of 20 % instead, in 81.
pub(super) const MOST_ALARMS: usize = 16;
/// The nominal 1 % of [`TRIALS`] plus two standard deviations of chance.
const MOST_ALARMS_OF_CALLS: usize = 3;

/// Makes `count` records whose switch costs are scaled by `factor` and differ from run to run by
/// the share `spread`.
pub(super) fn runs(
    count: u64,
    seed: u64,
    spread: f64,
    factor: f64,
    cases: &[FakeCase],
) -> Vec<Analysis> {
    let mut random = seeded(seed);
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
    runs(count, seed, spread, 1.0, &[pipe()])
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

fn across(across: &[Condition]) -> Request<'_> {
    Request {
        across,
        ..Request::default()
    }
}

fn ratio(pair: &Pair) -> Ratio {
    pair.outcome.interval().expect("compared")
}

fn verdicts(comparison: &Comparison) -> Vec<Option<Change>> {
    verdicts_of(&comparison.pairs)
}

fn verdicts_of(pairs: &[Pair]) -> Vec<Option<Change>> {
    pairs.iter().map(Pair::verdict).collect()
}

fn six_cases() -> Vec<FakeCase> {
    let tasks = |tasks| pipe().change(|case| case.tasks = tasks);
    vec![
        tasks(2),
        tasks(3),
        tasks(4),
        tasks(8),
        fiber(),
        pipe().sized_kib(64),
    ]
}

/// Shows that equal costs seldom differ: in sets of records, and in single records with a typical
/// spread between runs, on one CPU and across CPUs.
#[test]
fn records_that_are_the_same_seldom_differ() {
    let (usual, across_cpus) = (six_cases(), [pipe().across_cpus()]);
    for (records, spread, cases, calls) in [
        (1, ASSUMED_RUN_SPREAD, &usual[..], 8),
        (3, 0.01, &usual, 8),
        (5, 0.03, &usual, 8),
        (1, 0.13, &across_cpus, 2),
    ] {
        let [mut of_costs, mut of_calls] = [0, 0];
        for trial in 0..TRIALS {
            let side = |seed| runs(records, 2 * trial + seed, spread, 1.0, cases);
            let found = compared(&side(1), &side(2));
            assert_eq!((found.compared, found.calls.len()), (cases.len(), calls));
            of_costs += usize::from(is_alarm(&found.pairs));
            of_calls += usize::from(is_alarm(&found.calls));
        }
        assert!(
            of_costs <= MOST_ALARMS && of_calls <= MOST_ALARMS_OF_CALLS,
            "{of_costs} and {of_calls} of {TRIALS} with {records} records a side that spread by {spread}"
        );
    }
}

fn across_and_not() -> [FakeCase; 2] {
    [pipe().across_cpus(), pipe()]
}

/// Shows that a change by 26 % is a difference on one CPU, but not across CPUs: there two runs of
/// one guest, minutes apart, differed by as much.
#[test]
fn what_is_a_difference_on_one_cpu_is_none_across_two() {
    use Change::{NoDifferenceShown, Slower};
    let side = |seed, factor| runs(1, seed, 0.0, factor, &across_and_not());
    let found = compared(&side(1, 1.0), &side(2, 1.26));
    assert_eq!(verdicts(&found), [Some(NoDifferenceShown), Some(Slower)]);
    let of_calls = verdicts_of(&found.calls);
    assert_eq!(of_calls[..3], [Some(NoDifferenceShown); 3]);
    assert_eq!(of_calls[3..], [Some(Slower)], "hand-offs with their calls");
    let assumed = |share| {
        Some(RunSpread {
            share,
            origin: Origin::Assumed,
        })
    };
    assert_eq!(found.run_spread, assumed(ASSUMED_RUN_SPREAD));
    assert_eq!(found.run_spread_across_cpus, assumed(ASSUMED_ACROSS_CPUS));
    let request = Request {
        run_spread: Some(0.02),
        ..Request::default()
    };
    let given = judged(&side(1, 1.0), &side(2, 1.26), request);
    assert_eq!(verdicts(&given), [Some(Slower); 2], "it holds for all");
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

/// Shows that the spread of hand-offs across CPUs is estimated separately from that of cases on one
/// CPU.
#[test]
fn each_kind_of_cases_learns_what_its_own_runs_differ_by() {
    let side = |seed, apart_ns| {
        let mut cases = across_and_not();
        let mut random = seeded(seed);
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

/// Shows that a system call filter, which slows both arms by 270 ns, changes no cost of a switch
/// (1,700 ns), but only the calls.
#[test]
fn what_makes_system_calls_slower_is_reported_of_them_and_not_of_the_switch() {
    let with_calls_of = |ns: f64, seed| {
        let mut case = pipe();
        case.baseline_ns = ns;
        runs(4, seed, 0.002, 1.0, &[case, fiber(), pipe().sized_kib(64)])
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
        let found = pair.ratio().expect("compared");
        assert!(is_near(found, ratio, 0.01), "{pair:?}");
    }
    let lowered = pipe().change(|case| case.policy = Policy::Other);
    let lowered = runs(1, 3, 0.0, 1.0, &[lowered]);
    let found = judged(
        &with_calls_of(900.0, 21),
        &lowered,
        across(&[Condition::Policy]),
    );
    assert_eq!(found.calls.len(), 2);
}

#[test]
fn a_real_difference_is_found_and_has_its_direction() {
    for (records, factor, expected) in [
        (1, 1.2, Change::Slower),
        (1, 0.8, Change::Faster),
        (6, 1.05, Change::Slower),
    ] {
        let base = pipes(records, 11, 0.01);
        let new = runs(records, 12, 0.01, factor, &[pipe()]);
        let comparison = compared(&base, &new);
        assert_eq!(
            verdicts(&comparison),
            [Some(expected)],
            "{records} records, {factor}"
        );
        let above = |share| comparison.slower_by_more_than(share).count();
        assert_eq!(
            [above(0.02), above(0.5)],
            [usize::from(expected == Change::Slower), 0]
        );
        let found = ratio(&comparison.pairs[0]);
        assert_is_near(found.ratio, factor, 0.04);
        assert!(
            found.low <= found.ratio && found.ratio <= found.high,
            "{found:?}"
        );
        let inverse = ratio(&compared(&new, &base).pairs[0]);
        assert_within(inverse.ratio * found.ratio, 1.0, 1e-9);
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
            &[pipe()],
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
fn what_cannot_be_compared_says_why() {
    let base = runs(1, 1, 0.0, 1.0, &[pipe(), fiber()]);
    let new = runs(1, 2, 0.0, 1.0, &[pipe(), synthetic()]);
    let comparison = compared(&base, &new);
    let [_, without_new, without_base] = &comparison.pairs[..] else {
        panic!("{comparison:?}")
    };
    assert_eq!(without_new.reason(), "the new record has no such case");
    assert_eq!(without_base.reason(), "the base record has no such case");
    assert_eq!(comparison.compared, 1);
    let free = runs(1, 3, 0.0, 0.0, &[pipe()]);
    let none = compared(&base, &free);
    assert_eq!(none.detectable(0.8), None);
    let why = none.pairs[0].reason();
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
        comparison.pairs[0].reason(),
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
    let cases = || [pipe(), pipe().sized_kib(64)];
    let [mut base, mut new] = [31, 32].map(|seed| runs(3, seed, 0.01, 1.0, &cases()));
    let core = |hertz| {
        Some(crate::CoreFinding {
            hertz: Some(hertz),
            fastest_hertz: None,
        })
    };
    base.iter_mut()
        .for_each(|(_, findings)| findings.core = core(3e9));
    for (_, findings) in &mut new {
        findings.core = core(1.5e9);
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
    let hertz = comparison.hertz.expect("a clock");
    assert_is_near(hertz, 3e9 / 2.0_f64.sqrt(), 1e-9);
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
        compared(&base, &new).pairs[0].reason(),
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
    assert!(
        comparison.pairs[0]
            .reason()
            .starts_with("the records differ so much")
    );
}

#[test]
fn another_cpu_is_the_same_case_and_another_policy_is_not() {
    let pipe = |change: fn(&mut Case)| vec![pipe().change(change)];
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
    let found = |new: &[FakeCase], conditions: &[Condition]| {
        let (base, new) = (pipes(3, 1, 0.001), runs(3, 2, 0.001, 1.5, new));
        judged(&base, &new, across(conditions))
    };
    let other = pipe().change(|case| case.policy = Policy::Other);
    let policy = found(from_ref(&other), &[Condition::Policy]);
    assert_eq!(verdicts(&policy), [Some(Change::Slower)]);
    let pair = &policy.pairs[0];
    assert_eq!(
        pair.case()
            .zip(pair.new_case.as_ref())
            .map(|(base, new)| differing(base, new)),
        Some(vec![("fifo".to_owned(), "other".to_owned())])
    );
    let unnamed = found(from_ref(&other), &[Condition::Size, Condition::Tasks]);
    assert_eq!(unnamed.compared, 0);
    let size = found(&[pipe().sized_kib(64)], &[Condition::Size]);
    assert_eq!(
        (size.compared, size.pairs[0].quantity),
        (1, Quantity::Total),
        "its reload is in it"
    );
    let same = found(&[pipe(), other], &[Condition::Policy]);
    assert_eq!(
        (same.compared, same.pairs.len()),
        (1, 2),
        "what is the same needs no other"
    );
}

#[test]
fn of_several_alike_none_is_chosen() {
    let tasks = |tasks| pipe().change(move |case| case.tasks = tasks);
    let (base, new) = (
        pipes(1, 1, 0.0),
        runs(1, 2, 0.0, 1.0, &[tasks(3), tasks(4)]),
    );
    let found = judged(&base, &new, across(&[Condition::Tasks]));
    assert_eq!(
        found.pairs[0].reason(),
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
    let expected = [
        "microcode",
        "frequency governor",
        "mitigation of spectre_v2",
    ];
    assert_eq!(whats(&found), expected);
    assert_eq!(found[1].base, ["unknown"]);
    assert_eq!(
        found[1].new,
        ["powersave", "unknown"],
        "both values of a side that does not agree"
    );
}

#[test]
fn what_acts_on_a_switch_is_named_as_what_differs() {
    let (mut base, mut new) = (pipes(2, 1, 0.0), pipes(2, 2, 0.0));
    for (record, _) in base.iter_mut().chain(&mut new) {
        record.header.host.switch_path = Some(switch_path());
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
    let facts = |(name, version): (&str, &str)| RuntimeFacts {
        name: name.to_owned(),
        version: version.to_owned(),
        program: String::new(),
        handoffs: Vec::new(),
    };
    let run = |version: &&str| RuntimeRun {
        version: (*version).to_owned(),
        ..RuntimeRun::default()
    };
    let side = |go, runs: &[&str]| {
        let mut side = pipes(1, 1, 0.0);
        let record = &mut side[0].0;
        record.header.runtimes = [("go", go), ("lua", ""), ("tokio", "1.95.0")]
            .map(facts)
            .into();
        record.header.plan.cases[0].runtime = Some(RuntimeCase {
            runtime: "tokio".to_owned(),
            handoff: "channel".to_owned(),
            class: Class::HandOff,
        });
        record.runtime_runs = runs.iter().map(run).collect();
        side
    };
    let runs = [
        "tokio 1.48.0",
        "tokio 1.48.0, a library 1.0",
        "tokio 1.48.0",
    ];
    let base = side("1.25.3", &runs);
    let differences = |new: Vec<Analysis>| {
        let found = compared(&base, &new).environment.into_iter();
        let texts = found.map(|difference| (difference.what, difference.new.concat()));
        texts.collect::<Vec<_>>()
    };
    let go = ("runtime go".to_owned(), "1.26.8".to_owned());
    assert_eq!(differences(side("1.26.8", &runs)), [go]);
    let changed = side("1.25.3", &["tokio 1.49.0", runs[1]]);
    let tokio = "tokio 1.48.0, a library 1.0; tokio 1.49.0".to_owned();
    assert_eq!(differences(changed), [("runtime tokio".to_owned(), tokio)]);
}

/// Shows the result for a kernel that makes two switches in place of one: each costs as much as
/// before, and a hand-off costs twice as much.
#[test]
fn two_switches_a_hand_off_are_slower_and_a_finding() {
    let twice = || {
        let mut case = pipe();
        case.switches_per_handoff = 2.0;
        case.switch_ns *= 2.0;
        case.change(|case| case.switches = None)
    };
    let once = || pipe().change(|case| case.switches = None);
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
    assert_within(changed.base, 1.0, 0.02);
    assert_within(changed.new, 2.0, 0.02);
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
