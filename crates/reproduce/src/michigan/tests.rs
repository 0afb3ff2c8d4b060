use analysis::CounterFinding;
use record::Mechanism;
use simulation_result::LevelCounts;
use workload::Access;

use super::{KERNEL, QUICKLY_SIMULATED_KIB, SIMULATED_KIB, USER, simulated_step};
use crate::testing::{case, measured, simulated};
use crate::{Paper, Records, Shape};

fn verdicts(records: &Records, number: usize) -> Vec<bool> {
    let exhibit = Paper::Michigan.exhibits(records).swap_remove(number);
    exhibit.claims.iter().map(|claim| claim.shape == Shape::Holds).collect()
}

/// Misses of both hierarchies by KiB: L1D alone and of two, then of the DTLB, then of the L1I.
fn in_silico(misses: impl Fn(u64) -> [[u64; 2]; 3]) -> Records {
    in_silico_at(&SIMULATED_KIB, misses)
}

fn in_silico_at(sizes_kib: &[u64], misses: impl Fn(u64) -> [[u64; 2]; 3]) -> Records {
    let (head, findings) = simulated();
    let mut records = Records::default();
    for &kib in sizes_kib {
        let (mut head, mut findings) = (head.clone(), findings.clone());
        (head.trace.voluntary_switches, head.trace.involuntary_switches) = (0, 10);
        findings.designs.truncate(1);
        let [l1d, dtlb, l1i] = misses(kib);
        let level = |name: &str, misses: u64| LevelCounts {
            name: name.to_owned(),
            load_misses: misses * 10,
            ..LevelCounts::default()
        };
        let hierarchies = &mut findings.designs[0].hierarchies;
        for (counts, place) in [(&mut hierarchies.private, 0), (&mut hierarchies.shared, 1)] {
            counts.levels = vec![level("L1I", l1i[place]), level("L1D", l1d[place])];
            counts.tlbs = vec![level("DTLB", dtlb[place])];
        }
        records.add_simulated(&simulated_step(kib), head, findings);
    }
    records
}

#[test]
fn misses_are_judged_by_what_two_miss_more_than_one() {
    let as_published = |kib: u64| {
        let l1d = if kib <= 32 { [1, 1 + kib * 16] } else { [kib * 16, kib * 16] };
        [l1d, [1, 1 + kib / 4], [0, kib / 8]]
    };
    assert_eq!(verdicts(&in_silico(as_published), 2), [true; 4]);
    assert_eq!(verdicts(&in_silico(|_| [[5, 5]; 3]), 2), [false; 4]);
}

#[test]
fn without_the_sizes_that_a_claim_is_about_it_is_not_decided() {
    let shapes = |sizes_kib: &[u64]| -> Vec<bool> {
        let records = in_silico_at(sizes_kib, |kib| [[1, 1 + kib], [1, 1 + kib], [0, kib]]);
        let claims = Paper::Michigan.exhibits(&records).swap_remove(2).claims;
        claims.iter().map(|claim| !matches!(claim.shape, Shape::NotShown(_))).collect()
    };
    assert_eq!(shapes(&QUICKLY_SIMULATED_KIB), [true; 4]);
    assert_eq!(shapes(&[8, 64, 256]), [false, false, true, true], "without 32 KiB");
    assert_eq!(shapes(&[8, 32, 64]), [true, true, false, true], "without anything above 64 KiB");
    let decided = |sizes: &[u64]| {
        let curve: Vec<(u64, f64)> = sizes.iter().map(|kib| (*kib, 600.0 + *kib as f64)).collect();
        let claims = Paper::Michigan.exhibits(&costs(&curve, &curve)).swap_remove(0).claims;
        !matches!(claims[0].shape, Shape::NotShown(_))
    };
    assert!(decided(&[0, 32, 256]) && !decided(&[0, 256, 512]));
}

/// Costs in ns by KiB, in the kernel and at user level.
fn costs(kernel: &[(u64, f64)], user: &[(u64, f64)]) -> Records {
    let mut records = Records::default();
    for (step, mechanism, costs) in [(KERNEL, Mechanism::Pipe, kernel), (USER, Mechanism::Ucontext, user)] {
        let (record, mut findings) = measured();
        findings.results.extend(costs.iter().map(|(kib, ns)| case(mechanism, kib * 1024, Access::Rmw, *ns)));
        records.add_measured(step, record, findings);
    }
    records
}

#[test]
fn a_maximum_has_to_stand_clear_of_its_neighbours() {
    let first = measured().0.header.host.caches.iter().map(|cache| cache.size_bytes.0 >> 10).min().expect("caches");
    let rising = [(0, 1300.0), (first, 1400.0), (4 * first, 1450.0)];
    let peaked = [(0, 620.0), (first, 900.0), (4 * first, 700.0)];
    assert!(verdicts(&costs(&peaked, &rising), 0)[0]);
    // Within the intervals of 1 %: chance.
    let blurred = [(0, 620.0), (first, 625.0), (4 * first, 620.0)];
    assert!(!verdicts(&costs(&blurred, &rising), 0)[0]);
    assert!(verdicts(&costs(&peaked, &rising), 0)[2], "the poster's library was slower");
    assert!(!verdicts(&costs(&rising, &peaked), 0)[2]);
    assert!(verdicts(&costs(&rising, &peaked), 0)[1], "2 % of less is less");
}

/// Counts of both arms by KiB: of the L1D in the kernel, and of the dTLB in the kernel and at user level.
fn counts(l1d: impl Fn(u64) -> f64, dtlb: [f64; 2]) -> Records {
    let mut records = Records::default();
    for (step, mechanism, dtlb) in [(KERNEL, Mechanism::Pipe, dtlb[0]), (USER, Mechanism::Ucontext, dtlb[1])] {
        let (record, mut findings) = measured();
        for kib in [16, 32, 64, 256] {
            let mut finding = case(mechanism, kib * 1024, Access::Rmw, 1000.0);
            let counter = |name: &str, more: f64| CounterFinding {
                name: name.to_owned(),
                baseline: 5.0,
                switching: 5.0 + more,
                n: 9,
            };
            finding.counters = vec![counter("L1-dcache-load-misses", l1d(kib)), counter("dTLB-load-misses", dtlb)];
            findings.results.push(finding);
        }
        records.add_measured(step, record, findings);
    }
    records
}

#[test]
fn counters_are_laid_beside_the_poster_where_there_are_any() {
    let first = measured().0.header.host.caches.iter().map(|cache| cache.size_bytes.0 >> 10).min().expect("caches");
    assert_eq!(first, 32, "the committed record's machine");
    assert_eq!(verdicts(&counts(|kib| if kib == 32 { 400.0 } else { 100.0 }, [9.0, 2.0]), 1), [true, true]);
    assert_eq!(verdicts(&counts(|kib| kib as f64, [2.0, 9.0]), 1), [false, false]);
    let none = Paper::Michigan.exhibits(&costs(&[(0, 620.0)], &[(0, 1300.0)])).swap_remove(1);
    assert!(none.chart.is_none());
    for claim in none.claims {
        assert!(matches!(&claim.shape, Shape::NotShown(why) if why.contains("counter") || why.contains("counted")));
    }
}
