//! Curves with knees at known sizes.

use super::*;
use crate::testing::{fake_record_with_seed, pipe};
use switchcost_record::{Mechanism, Placement};
use switchcost_units::CpuId;
use switchcost_workload::{Pages, Sharing};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// Returns the powers of two from 4 KiB to 4 MiB.
fn sizes() -> Vec<u64> {
    (12..=22).map(|power| 1 << power).collect()
}

/// Returns the curve through cases whose cost is a function of their size, in a record of twelve
/// repetitions.
fn curve(sizes: &[u64], noise: f64, seed: u64, total_ns: impl Fn(u64) -> f64) -> Curve {
    let case = |size: &u64| {
        let mut fake = pipe().with_set(Bytes(*size)).noise(noise);
        fake.walk_ns = 0.0;
        fake.reload_ns = total_ns(*size) - fake.switch_ns;
        fake
    };
    let record = fake_record_with_seed(sizes.iter().map(case).collect(), 12, seed);
    crate::analyse(&record).curves.remove(0)
}

fn places(curve: &Curve) -> Vec<(u64, u64)> {
    curve
        .knees
        .iter()
        .map(|knee| (knee.after_bytes, knee.before_bytes))
        .collect()
}

/// Cost over size as in Li, Ding and Shen 2007, figure 1: flat, then a steep rise at the size where
/// two arrays no longer fit, then high.
fn three_regions(size: u64) -> f64 {
    match size {
        size if size <= 512 * KIB => 4_500.0,
        size if size <= MIB => 50_000.0,
        size => 200_000.0 * (size as f64 / MIB as f64).powf(0.2),
    }
}

#[test]
fn steps_are_found_where_they_are_and_named() {
    let curve = curve(&sizes(), 0.01, 1, three_regions);
    assert_eq!(curve.title, "pipe, process, 2 tasks, stride 8 B, rmw");
    assert_eq!(curve.points.len(), 11);
    let first = &curve.knees[0];
    assert_eq!((first.after_bytes, first.before_bytes), (512 * KIB, MIB));
    assert!(first.confidence > 0.95, "{first:?}");
    assert_eq!(
        first.cause.as_deref(),
        Some("L2: one array fits, two do not")
    );
    let (head, tail) = (&curve.regions[0], curve.regions.last().expect("regions"));
    assert_eq!(
        (head.from_bytes, head.to_bytes, head.name.as_str()),
        (4 * KIB, 512 * KIB, "L1d to L2")
    );
    assert_eq!((tail.to_bytes, tail.name.as_str()), (4 * MIB, "L3"));
    assert!(head.low_ns > 4_000.0 && head.high_ns < 5_000.0 && tail.high_ns > 200_000.0);
    let between = curve
        .regions
        .windows(2)
        .map(|pair| (pair[0].to_bytes, pair[1].from_bytes));
    assert_eq!(between.collect::<Vec<_>>(), places(&curve));
}

#[test]
fn a_bend_is_found_at_its_size() {
    // Cost grows with the size from 128 KiB on.
    let bend = curve(&sizes(), 0.01, 1, |size| {
        3_000.0 * (size as f64 / (128 * KIB) as f64).max(1.0)
    });
    assert_eq!(places(&bend), [(128 * KIB, 256 * KIB)]);
    assert!(bend.knees[0].confidence > 0.9, "{:?}", bend.knees);
}

#[test]
fn noise_has_no_knees() {
    let mut calls = 0;
    for seed in 0..40 {
        for noise in [0.01, 0.1, 0.3] {
            calls += usize::from(!curve(&sizes(), noise, seed, |_| 4_000.0).knees.is_empty());
        }
    }
    assert!(calls <= 6, "{calls} of 120 flat curves have a knee");
}

#[test]
fn one_slope_is_one_region() {
    let slope = curve(&sizes(), 0.02, 4, |size| {
        2_000.0 * (size as f64 / KIB as f64).powf(0.6)
    });
    assert_eq!(places(&slope), []);
    assert_eq!(slope.regions.len(), 1);
    assert_eq!(
        (slope.regions[0].from_bytes, slope.regions[0].to_bytes),
        (4 * KIB, 4 * MIB)
    );
}

#[test]
fn three_sizes_and_other_conditions_make_no_curve() {
    let sized = |kib| pipe().sized_kib(kib);
    let mut cases = vec![sized(4), sized(16), sized(64), pipe()];
    cases.push(sized(256).change(|case| case.tasks = 3));
    cases.push(sized(256).change(|case| case.mechanism = Mechanism::Futex));
    let record = fake_record_with_seed(cases, 6, 1);
    assert_eq!(crate::analyse(&record).curves, []);
}

#[test]
fn a_title_says_what_is_not_usual() {
    let unusual = pipe().sized_kib(4).change(|case| {
        case.working_set.pattern = Pattern::Chase;
        case.working_set.stride_bytes = Bytes(64);
        case.working_set.sharing = Sharing::Shared;
        case.working_set.pages = Pages::Huge;
        case.policy = Policy::Other;
        case.placement = Placement {
            cpus: vec![CpuId(0), CpuId(1)],
            relation: Relation::SharedCache,
        };
    });
    let text = "pipe, process, 2 tasks, chase of 64 B nodes, rmw, shared array, huge pages, policy other, CPU 0-1";
    let free = pipe().change(|case| case.placement = Placement::unpinned());
    for (fake, has_cpus, expected) in [
        (unusual, false, text),
        (
            free,
            true,
            "pipe, process, 2 tasks, stride 8 B, rmw, not pinned",
        ),
        (
            pipe(),
            true,
            "pipe, process, 2 tasks, stride 8 B, rmw, CPU 1",
        ),
    ] {
        assert_eq!(title(&fake.case, has_cpus), expected);
    }
}
