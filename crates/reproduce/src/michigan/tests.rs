use std::collections::BTreeMap;

use analysis::CounterFinding;
use record::Mechanism;
use simulation_result::LevelCounts;
use workload::Access;

use super::{KERNEL, QUICKLY_SIMULATED_KIB, SIMULATED_KIB, USER, simulated_step};
use crate::testing::{self, Told, case, measured, simulated, verdicts};
use crate::{Paper, Records, Verdict};

/// Misses of both hierarchies by KiB: L1D alone and of two, then of the DTLB, then of the L1I. A switch costs 1000 cycles with an
/// inclusive second level, and `without_inclusion` otherwise.
fn add_simulated(
    records: &mut Records,
    sizes_kib: &[u64],
    without_inclusion: f64,
    misses: impl Fn(u64) -> [[u64; 2]; 3],
) {
    let (head, findings) = simulated();
    for &kib in sizes_kib {
        let (mut head, mut findings) = (head.clone(), findings.clone());
        (head.trace.voluntary_switches, head.trace.involuntary_switches) = (0, 10);
        findings.designs.truncate(1);
        findings.designs.push(findings.designs[0].clone());
        findings.designs[0].excess_cycles_per_switch = Some(without_inclusion);
        findings.designs[1].excess_cycles_per_switch = Some(1000.0);
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
}

/// Costs in ns by KiB, their spread as a share, and misses that two have more than one: of the L1D, of the dTLB.
struct Level {
    costs: Vec<(u64, f64)>,
    spread: f64,
    misses: fn(u64) -> [f64; 2],
}

/// In the kernel and at user level.
fn add_measured(records: &mut Records, kernel: &Level, user: &Level) {
    for (step, mechanism, level) in [(KERNEL, Mechanism::Pipe, kernel), (USER, Mechanism::Ucontext, user)] {
        let (record, mut findings) = measured();
        for (kib, ns) in &level.costs {
            let mut finding = case(mechanism, kib * 1024, Access::Rmw, *ns);
            for estimate in [&mut finding.direct_ns, &mut finding.total_ns].into_iter().flatten() {
                estimate.sd = ns * level.spread;
            }
            let counter = |name: &str, more: f64| CounterFinding {
                name: name.to_owned(),
                baseline: 5.0,
                switching: 5.0 + more,
                n: 9,
            };
            let [l1d, dtlb] = (level.misses)(*kib);
            finding.counters = vec![counter("L1-dcache-load-misses", l1d), counter("dTLB-load-misses", dtlb)];
            findings.results.push(finding);
        }
        records.add_measured(step, record, findings);
    }
}

fn published() -> Records {
    let mut records = Records::default();
    let kernel = Level {
        costs: vec![(0, 620.0), (8, 650.0), (16, 700.0), (32, 900.0), (96, 800.0), (256, 1500.0)],
        spread: 0.05,
        misses: |kib| [if kib == 32 { 400.0 } else { 100.0 }, kib as f64 / 10.0],
    };
    let user = Level {
        costs: vec![(0, 1300.0), (8, 1230.0), (16, 1300.0), (32, 1380.0), (96, 1500.0), (256, 2000.0)],
        spread: 0.005,
        misses: |_| [50.0, 2.0],
    };
    add_measured(&mut records, &kernel, &user);
    add_simulated(&mut records, &SIMULATED_KIB, 100.0, |kib| {
        let l1d = if kib <= 32 { [1, 1 + kib * 16] } else { [kib * 16, kib * 16] };
        [l1d, [1, 1 + kib / 4], [0, kib / 8]]
    });
    records
}

/// Each claim by the poster's own words, and by others.
pub(crate) fn told() -> BTreeMap<String, Told> {
    assert_eq!(measured().0.header.host.caches.iter().map(|cache| cache.size_bytes.0 >> 10).min(), Some(32));
    let mut turned = Records::default();
    let steady = |spread, misses: fn(u64) -> [f64; 2]| Level {
        costs: vec![(0, 600.0), (8, 610.0), (16, 700.0), (32, 800.0), (96, 1450.0), (256, 1500.0)],
        spread,
        misses,
    };
    let cheap = Level {
        costs: vec![(0, 200.0), (8, 200.0), (16, 600.0), (32, 1300.0)],
        ..steady(0.4, |kib| [kib as f64, 9.0])
    };
    add_measured(&mut turned, &steady(0.001, |kib| [kib as f64, 2.0 - kib as f64 / 1000.0]), &cheap);
    add_simulated(&mut turned, &SIMULATED_KIB, 950.0, |kib| [[1, 1 + kib], [1, 300 - kib], [0, 300 - kib]]);
    testing::told(Paper::Michigan, &published(), &[turned])
}

#[test]
fn absolute_and_relative_variance_may_disagree() {
    let mut records = published();
    let level =
        |ns: f64, spread| Level { costs: [0, 8, 16, 32].map(|kib| (kib, ns)).into(), spread, misses: |_| [1.0; 2] };
    add_measured(&mut records, &level(3000.0, 0.1), &level(300.0, 0.4));
    let told = verdicts(Paper::Michigan, &records);
    assert_eq!(told["user-varies-less"], Verdict::Holds, "120 against 300 ns");
    assert_eq!(told["user-varies-less-relatively"], Verdict::Differs, "40 against 10 %");
}

#[test]
fn without_the_sizes_that_a_claim_is_about_it_is_not_decided() {
    let told = |sizes_kib: &[u64]| {
        let mut records = Records::default();
        add_simulated(&mut records, sizes_kib, 100.0, |kib| [[1, 1 + kib], [1, 1 + kib], [0, kib]]);
        // A definition is among them.
        let claims = Paper::Michigan.exhibits(&records).into_iter().flat_map(|exhibit| exhibit.claims);
        let told: BTreeMap<String, Verdict> = claims.map(|claim| (claim.entry.id, claim.verdict)).collect();
        let names = ["maximum-at-l1", "falls-beyond", "dtlb-grows", "l1i-grows"];
        names.map(|name| told[&format!("simulated-{name}")] != Verdict::NotTold)
    };
    assert_eq!(told(&QUICKLY_SIMULATED_KIB), [true; 4]);
    assert_eq!(told(&[8, 64, 256]), [false, false, true, true], "without 32 KiB");
    assert_eq!(told(&[8, 32, 64]), [true, true, false, true], "without anything above 64 KiB");
}

#[test]
fn a_maximum_within_the_intervals_is_not_told() {
    let mut records = published();
    let flat = |ns| Level { costs: [0, 16, 32, 96].map(|kib| (kib, ns)).into(), spread: 0.01, misses: |_| [1.0; 2] };
    add_measured(&mut records, &flat(620.0), &flat(1300.0));
    assert_eq!(verdicts(Paper::Michigan, &records)["maximum-at-l1"], Verdict::NotTold);
}

/// Costs of which the intervals overlap neither rise nor fall.
#[test]
fn what_the_overhead_does_not_tell_is_not_laid_to_the_dtlb() {
    let mut records = published();
    let level = |costs: [(u64, f64); 3]| Level { costs: costs.into(), spread: 0.01, misses: |kib| [1.0, kib as f64] };
    let same = level([(96, 800.0), (128, 801.0), (256, 1500.0)]);
    add_measured(&mut records, &same, &level([(96, 1.0), (128, 2.0), (256, 3.0)]));
    assert_eq!(verdicts(Paper::Michigan, &records)["counted-follows-dtlb"], Verdict::NotTold);
}

#[test]
fn code_that_is_not_traced_is_missing() {
    let mut records = Records::default();
    add_simulated(&mut records, &SIMULATED_KIB, 100.0, |kib| [[1, 1 + kib], [1, 1 + kib], [1, 1]]);
    assert_eq!(verdicts(Paper::Michigan, &records)["simulated-l1i-grows"], Verdict::NotTold);
}

#[test]
fn without_counters_there_is_no_figure_of_them() {
    let mut records = Records::default();
    let (record, mut findings) = measured();
    findings.results.push(case(Mechanism::Pipe, 0, Access::Rmw, 620.0));
    records.add_measured(KERNEL, record, findings);
    let none = Paper::Michigan.exhibits(&records).swap_remove(1);
    assert!(none.chart.is_none());
    for claim in none.claims {
        let why = claim.missing.expect("none is told");
        assert!(why.contains("counter") || why.contains("counted"), "{why}");
    }
}
