use std::slice::from_ref;
use switchcost_units::Bytes;

use super::*;
use crate::compare::tests::{MOST_ALARMS, TRIALS, is_alarm, whats};
use crate::compare::{Change, Difference, Pair, Ratio, Subject};
use crate::simulation::testing::{QUANTUM, READ, Run, counts};
use crate::simulation::{Cost as Number, Findings, FunctionFinding, FunctionMisses, KernelFinding};
use crate::testing::{assert_is_near, assert_within, normal, seeded};

type Found = (Simulation, Findings);

fn simulated(seed: u64, factor: f64) -> Found {
    simulated_with_luck(seed, factor, 0.02)
}

/// Simulates a synthetic trace. Each switch has a random excess, scaled by `factor` and by a random
/// factor of the whole trace, with the spread `luck`.
fn simulated_with_luck(seed: u64, factor: f64, luck: f64) -> Found {
    let mut random = seeded(seed);
    let mut run = Run::new();
    run.head.trace.source = format!("seed {seed}");
    run.head.started_at = format!("seed {seed}, factor {factor}");
    let luck = (luck * normal(&mut random)).exp();
    for segment in 0..120 {
        let excess = luck * factor * (0.3 * normal(&mut random)).exp();
        let cause = if segment % 3 == 0 { READ } else { QUANTUM };
        run.segment(segment % 2, cause, 50_000, 1.5, |_| excess);
    }
    let shared = &mut run.head.designs[0].hierarchies.shared;
    let fetches = (10_000.0 * (0.01 * normal(&mut random)).exp()) as u64;
    shared.levels = vec![
        counts("L1I", fetches),
        counts("L1D", (90_000.0 * factor * luck) as u64),
    ];
    (run.head.clone(), run.findings())
}

fn several(seeds: std::ops::Range<u64>, factor: f64) -> Vec<Found> {
    seeds.map(|seed| simulated(seed, factor)).collect()
}

fn side(found: &[Found]) -> Vec<Simulated<'_>> {
    found
        .iter()
        .map(|(head, findings)| (head, findings))
        .collect()
}

fn judged(base: &[Found], new: &[Found]) -> Comparison {
    compare_simulations(&side(base), &side(new), Request::default())
}

fn find<'a>(comparison: &'a Comparison, part: &Part, quantity: Quantity) -> &'a Pair {
    let is_it = |pair: &&Pair| match &pair.subject {
        Subject::Simulated(place) => place.part == *part && pair.quantity == quantity,
        Subject::Case(_) | Subject::Observed(_) | Subject::Injected { .. } => false,
    };
    comparison
        .pairs
        .iter()
        .find(is_it)
        .unwrap_or_else(|| panic!("no {part:?} in {comparison:?}"))
}

fn ratio(pair: &Pair) -> (Ratio, Change) {
    let found = pair.outcome.interval().zip(pair.verdict());
    found.unwrap_or_else(|| panic!("not compared: {}", pair.reason()))
}

fn level(name: &str) -> Part {
    Part::Level(name.to_owned())
}

fn main(comparison: &Comparison) -> &Pair {
    find(comparison, &Part::All, Quantity::AverageCost)
}

#[test]
fn on_the_same_trace_the_luck_of_the_trace_falls_out() {
    let same = judged(&[simulated(1, 1.0)], &[simulated(1, 1.5)]);
    let (found, verdict) = ratio(main(&same));
    assert_eq!((same.basis, verdict), (Basis::SameTrace, Change::Slower));
    // Cycles are whole numbers, so a little is lost to rounding.
    assert!(
        (found.ratio - 1.5).abs() < 1e-3 && (found.high / found.low - 1.0) < 1e-3,
        "{found:?}"
    );
    let other = judged(&[simulated(1, 1.0)], &[simulated(2, 1.5)]);
    let (wide, _) = ratio(main(&other));
    assert_eq!(other.basis, Basis::SingleTrace);
    assert!(
        wide.high / wide.low > 1.05 && wide.low < 1.5 && wide.high > 1.5,
        "{wide:?}"
    );
}

/// The expected values are SciPy's `exp` of `ttest_rel(log(new), log(base)).confidence_interval(1 -
/// 0.1 / 11)` of the costs below, computed by the closed form of Student's t with two degrees of
/// freedom. With 0.1 in place of 0.1 / 11 that form gives the values of SciPy 1.17.1:
/// 1.05066581811767 and 1.172699685842677.
#[test]
fn several_traces_are_paired_as_scipy_pairs_them() {
    let (mut base, mut new) = (several(1..4, 1.0), several(1..4, 1.0));
    for (place, (findings, value)) in new.iter_mut().zip([110.0, 112.0, 111.0]).enumerate() {
        findings.1.designs[0].average_cost_cycles.estimate = Some(value);
        findings.0.started_at = format!("another {place}");
    }
    for (findings, value) in base.iter_mut().zip([100.0, 101.0, 99.0]) {
        findings.1.designs[0].average_cost_cycles.estimate = Some(value);
    }
    let comparison = judged(&base, &new);
    assert_eq!(
        (comparison.basis, comparison.compared),
        (Basis::SameTraces, 11)
    );
    let (found, verdict) = ratio(main(&comparison));
    assert_eq!(verdict, Change::Slower);
    assert_within(found.ratio, 1.1100069706232616, 1e-9);
    for (end, expected) in [(found.low, PAIRED[0]), (found.high, PAIRED[1])] {
        assert_within(end, expected, 1e-6);
    }
}

/// Shows that a difference is reported if only the cost of the new side includes first touches, as
/// in records of many designs.
#[test]
fn whether_first_touches_are_in_the_cost_is_reported_as_a_difference() {
    let (base, mut new) = (simulated(1, 1.0), simulated(2, 1.0));
    let differs = |new: &Found| {
        let mut found = judged(from_ref(&base), from_ref(new))
            .environment
            .into_iter();
        found.any(|difference| difference.what.starts_with("first touches"))
    };
    assert!(!differs(&new));
    new.1.designs[0].first_touch_cycles = None;
    assert!(differs(&new));
}

/// Low and high end of the expected paired interval.
const PAIRED: [f64; 2] = [1.0478104115017834, 1.175895430420749];

/// Shows that equal designs seldom differ: with one trace per side, if only the excess of switches
/// is random, and with several traces that also differ as a whole.
#[test]
fn traces_that_are_the_same_in_truth_seldom_differ() {
    for (records, luck) in [(1, 0.0), (3, 0.02), (5, 0.02)] {
        let is_called = |trial: &u64| {
            let side = |place: u64| -> Vec<Found> {
                let first = 1 + (2 * trial + place) * records;
                (first..first + records)
                    .map(|seed| simulated_with_luck(seed, 1.0, luck))
                    .collect()
            };
            let comparison = judged(&side(0), &side(1));
            assert!(comparison.compared >= 6, "{comparison:?}");
            is_alarm(&comparison.pairs)
        };
        let alarms = (0..TRIALS).filter(is_called).count();
        assert!(
            alarms <= MOST_ALARMS,
            "{alarms} of {TRIALS} with {records} traces a side"
        );
    }
}

#[test]
fn every_number_of_a_design_is_compared_where_there_are_several_traces() {
    let comparison = judged(&several(1..6, 1.0), &several(11..16, 2.0));
    assert_eq!(comparison.basis, Basis::OtherTraces);
    for (part, quantity) in [
        (Part::All, Quantity::AverageCost),
        (Part::All, Quantity::Overhead),
        (Part::All, Quantity::CyclesPerInstruction),
        (Part::Class("system call".to_owned()), Quantity::AverageCost),
        (
            Part::Cause("involuntary quantum".to_owned()),
            Quantity::AverageCost,
        ),
        (Part::Program("long".to_owned()), Quantity::ExcessPerSwitch),
        (level("L1D"), Quantity::MissesPerInstruction),
    ] {
        let (found, verdict) = ratio(find(&comparison, &part, quantity));
        assert_eq!(verdict, Change::Slower, "{part:?} {found:?}");
    }
    let (overhead, _) = ratio(find(&comparison, &Part::All, Quantity::Overhead));
    let overhead = overhead.ratio;
    // The expected share is (120 x 50,000 e) / (120 x 50,000 (1.5 + e)): the mean of e is about
    // exp(0.3^2 / 2).
    let share = |e: f64| e / (1.5 + e);
    let expected = share(2.0 * 1.046) / share(1.046);
    assert_is_near(overhead, expected, 0.05);
    let same = find(&comparison, &level("L1I"), Quantity::MissesPerInstruction);
    assert_eq!(ratio(same).1, Change::NoDifferenceShown);
}

#[test]
fn what_is_counted_over_one_trace_has_an_exact_ratio_and_no_verdict() {
    let (base, mut new) = (simulated(1, 1.0), simulated(1, 1.5));
    new.1.designs[0].cycle_ns = base.1.designs[0]
        .cycle_ns
        .map(|cycle_ns| cycle_ns.map(|ns| ns / 2.0));
    let comparison = judged(&[base], &[new]);
    let exact = |part, quantity| {
        let pair = find(&comparison, &part, quantity);
        let sides = pair.new.expect("a number").value / pair.base.expect("a number").value;
        match &pair.outcome {
            Outcome::NotJudged { ratio, why } if (ratio / sides - 1.0).abs() < 1e-12 => {
                (*ratio, why.clone())
            }
            other => panic!("{other:?}"),
        }
    };
    let (misses, why) = exact(level("L1D"), Quantity::MissesPerInstruction);
    assert!(
        (misses - 1.5).abs() < 1e-3 && why.contains("give records of several traces"),
        "{misses} {why}"
    );
    let (cpi, verdict) = ratio(find(
        &comparison,
        &Part::All,
        Quantity::CyclesPerInstruction,
    ));
    let (cycles, why) = exact(Part::All, Quantity::Cycles);
    assert!(
        (cycles - cpi.ratio).abs() < 1e-9 && why.contains("verdict on the CPI"),
        "{cycles} {cpi:?} {why}"
    );
    assert_within(exact(Part::All, Quantity::Time).0 / cycles, 0.5, 1e-9);
    assert_eq!(verdict, Change::Slower);
    assert!(
        !comparison.pairs.iter().any(Pair::is_open),
        "nothing that was asked for is without a verdict"
    );
}

#[test]
fn cycles_of_other_traces_are_of_different_work() {
    let comparison = judged(&[simulated(1, 1.0)], &[simulated(2, 1.0)]);
    let cycles = find(&comparison, &Part::All, Quantity::Cycles);
    assert!(cycles.reason().contains("different work"), "{cycles:?}");
    ratio(find(
        &comparison,
        &Part::All,
        Quantity::CyclesPerInstruction,
    ));
}

#[test]
fn what_the_source_of_a_trace_left_out_makes_each_pair_suspect() {
    let mut one = simulated(1, 1.0);
    let are_suspect = |one: &Found| {
        let pairs = judged(&[simulated(1, 1.5)], from_ref(one)).pairs;
        pairs.len() > 3 && pairs.iter().all(|pair| pair.is_suspect)
    };
    assert!(!are_suspect(&one));
    one.0.trace.notes = vec!["no data".to_owned()];
    assert!(are_suspect(&one));
}

#[test]
fn what_cannot_be_compared_says_why() {
    let (base, new) = (simulated(1, 1.0), simulated(2, 1.0));
    let mut sums = new.clone();
    sums.0.designs[0].detail = None;
    let mut run = Run::new();
    run.head = sums.0;
    let blank = run.findings();
    assert!(
        main(&judged(from_ref(&base), &[(run.head, blank)]))
            .reason()
            .starts_with("not available in the new record")
    );
    let free = judged(from_ref(&base), &[simulated(3, 0.0)]);
    assert_eq!(
        main(&free).reason(),
        "the new number is not above 0, so it has no ratio"
    );
    let mut lacking = several(4..7, 1.0);
    for (_, findings) in &mut lacking[1..] {
        findings.designs[0].average_cost_cycles.estimate = None;
    }
    let alone = "only 1 of 3 new records has a number, so their spread is unknown";
    assert_eq!(main(&judged(&several(1..4, 1.0), &lacking)).reason(), alone);
    assert_eq!(
        main(&judged(&several(4..7, 2.0), &lacking)).reason(),
        "only 1 of 3 traces has it on both sides, 2 are needed"
    );
    let overlapping = judged(&several(1..4, 1.0), &several(3..6, 1.0));
    assert!(
        main(&overlapping)
            .reason()
            .starts_with("some traces are on both sides"),
        "{overlapping:?}"
    );
    let (mut two, mut other) = (base.clone(), simulated(2, 1.0));
    for (found, name) in [(&mut two, "first"), (&mut other, "second")] {
        let mut result = found.0.designs[0].clone();
        let mut finding = found.1.designs[0].clone();
        (result.design.name, finding.name) = (name.to_owned(), name.to_owned());
        found.0.designs.push(result);
        found.1.designs.push(finding);
    }
    let unmatched = judged(&[two], &[other]);
    let of = |base: Option<&str>, new: Option<&str>| {
        let is_it = |pair: &&Pair| {
            matches!(&pair.subject, Subject::Simulated(place)
                if place.base_design.as_deref() == base && place.new_design.as_deref() == new)
        };
        unmatched.pairs.iter().find(is_it).expect("a pair").reason()
    };
    assert_eq!(of(Some("first"), None), "the new side has no such design");
    assert_eq!(of(None, Some("second")), "the base side has no such design");
}

#[test]
fn what_differs_in_the_designs_is_distinguished_from_what_differs_around_them() {
    let (base, mut new) = (simulated(1, 1.0), simulated(1, 1.5));
    new.0.designs[0].design.levels[1].size = Bytes::kib(32);
    new.0.designs[0].design.source = "another book".to_owned();
    new.0.interval_instructions = 5_000;
    let comparison = judged(from_ref(&base), from_ref(&new));
    let difference = |[what, base, new]: [&str; 3]| Difference {
        what: what.to_owned(),
        base: vec![base.to_owned()],
        new: vec![new.to_owned()],
        ..Difference::default()
    };
    let expected = [
        ["design mogul-1a L1D size", "64 KiB", "32 KiB"],
        ["instructions in an interval", "10000", "5000"],
    ]
    .map(|texts| vec![difference(texts)]);
    assert_eq!([comparison.designs, comparison.environment], expected);
    let mixed = judged(from_ref(&base), &[new.clone(), simulated(2, 1.0)]);
    assert_eq!(
        main(&mixed).reason(),
        "the new records mean different designs by this name"
    );
    new.0.designs[0].design.name = "another".to_owned();
    let renamed = judged(&[base], &[new]);
    assert_eq!(whats(&renamed.designs), ["design", "design L1D size"]);
    ratio(main(&renamed));
}

#[test]
fn a_curve_ends_at_the_cut_off() {
    let comparison = judged(&[simulated(1, 1.0)], &several(2..4, 1.0));
    let curve = &comparison.curves[0];
    assert_eq!((curve.base.len(), curve.new.len()), (1, 2));
    let (instructions, cycles) = *curve.base[0].last().expect("points");
    assert_eq!((curve.base[0].len(), instructions), (5, 50_000));
    let cost = main(&comparison).base.expect("a cost").value;
    assert_is_near(cycles, cost, 1e-9);
}

#[test]
fn a_copy_is_found() {
    let (one, two) = (simulated(1, 1.0).0, simulated(2, 1.0).0);
    let mut later = one.clone();
    later.started_at = "later".to_owned();
    assert_eq!(copied(&[&one], &[&two]), None);
    assert_eq!(
        copied(&[&one, &two, &later], &[]),
        Some(Copied::InBase(0, 2))
    );
    assert_eq!(copied(&[&two], &[&one, &later]), Some(Copied::InNew(0, 1)));
    assert_eq!(
        copied(&[&one], &[&two, &one]),
        Some(Copied::OnBothSides(0, 1))
    );
    assert_eq!(
        copied(&[&one], &[&later]),
        None,
        "another version may count otherwise"
    );
    later.designs[0].design.levels[0].miss_cycles += 1;
    assert_eq!(
        copied(&[&one, &later], &[]),
        None,
        "another design on the same trace"
    );
}

/// Adds kernel functions with their instructions per switch to the records; each further record has
/// 0.1 % more instructions.
fn with_functions(mut side: Vec<Found>, functions: &[(&str, f64)]) -> Vec<Found> {
    for (place, (_, findings)) in (0..).zip(&mut side) {
        let function = |(name, instructions): &(&str, f64)| FunctionFinding {
            function: (*name).to_owned(),
            instructions_per_switch: instructions * (1.0 + 0.001 * f64::from(place)),
            misses_per_switch: vec![FunctionMisses {
                level: "L1I".to_owned(),
                misses: 0.5,
            }],
        };
        findings.designs[0].kernel = Some(KernelFinding {
            instructions_per_switch: Number::default(),
            lost_to_processes_cycles: Number::default(),
            lost_to_kernel_cycles: Number::default(),
            instructions_per_call: Number::default(),
            cycles_per_call: Number::default(),
            fills_per_switch: Vec::new(),
            functions: functions.iter().map(function).collect(),
        });
    }
    side
}

/// On the new side, `schedule` executes a fifth more instructions, `update_curr` has a compiler
/// suffix, and another function replaces `pick_next_entity`. The function `idle` is too small to be
/// reported.
#[test]
fn functions_of_two_kernels_have_verdicts_of_their_own() {
    let of_base = [
        ("schedule", 1000.0),
        ("update_curr", 300.0),
        ("pick_next_entity", 100.0),
        ("idle", 1.0),
    ];
    let of_new = [
        ("schedule", 1200.0),
        ("update_curr.isra.0", 300.0),
        ("pick_eevdf", 140.0),
        ("idle", 2.0),
    ];
    let base = with_functions(several(1..4, 1.0), &of_base);
    let found = judged(&base, &with_functions(several(4..7, 1.0), &of_new));
    let function = |name: &str| Part::Function(name.to_owned());
    let of = |name| find(&found, &function(name), Quantity::KernelInstructions);
    let (slower, verdict) = ratio(of("schedule"));
    assert!(
        verdict == Change::Slower && (slower.ratio - 1.2).abs() < 1e-9 && slower.low > 1.15,
        "{slower:?}"
    );
    assert_eq!(
        ratio(of("update_curr")).1,
        Change::NoDifferenceShown,
        "a part is its function"
    );
    assert!(of("pick_eevdf").base.is_none() && of("pick_next_entity").new.is_none());
    let is_named = |pair: &Pair| matches!(&pair.subject, Subject::Simulated(place) if place.part == function("idle"));
    assert!(!found.pairs.iter().any(is_named), "less than a hundredth");
    let without = judged(&several(1..4, 1.0), &several(4..7, 1.0));
    assert_eq!(
        found.compared, without.compared,
        "they widen no other interval"
    );
}
