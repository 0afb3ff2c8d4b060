use std::collections::BTreeMap;

use switchcost_analysis::CounterFinding;
use switchcost_design::result::LevelCounts;
use switchcost_record::Mechanism;
use switchcost_workload::Access;

use super::hiding::STEP as HIDING;
use super::with_kernel::{LAYERS, Layer, Variant, step};
use super::{KERNEL, USER};
use crate::arm::{ARMS, Arm};
use crate::testing::{self, Shown, case, measured, simulated, verdicts};
use crate::{Claim, Paper, Records, Verdict};

/// Array sizes in the guest, in KiB.
const GUEST_KIB: [u64; 5] = [8, 32, 64, 128, 256];

/// Misses per time slice of the L1I and of the dTLB, and cycles, by layer that switches, arm, KiB,
/// and variant of the design.
type InGuest = fn(Layer, Arm, u64, usize) -> [f64; 3];

fn add_guest(records: &mut Records, story: InGuest) {
    let (head, findings) = simulated();
    for (layer, arm, kib) in LAYERS
        .into_iter()
        .flat_map(|l| ARMS.map(|a| GUEST_KIB.map(|kib| (l, a, kib))))
        .flatten()
    {
        let mut findings = findings.clone();
        findings.designs = vec![findings.designs[0].clone(); 8];
        for (variant, design) in findings.designs.iter_mut().enumerate() {
            // Each of two tasks has 500 time slices.
            let [l1i, dtlb, cycles] =
                story(layer, arm, kib, variant).map(|a_turn| (a_turn * 1000.0).round() as u64);
            design.hierarchies.shared.cycles = cycles;
            // The cycles are those of a walk; with four times the entries, in every other variant,
            // a quarter.
            let dtlb_cycles = if variant % 2 == 1 {
                dtlb * 30 / 4
            } else {
                dtlb * 30
            };
            let shared = &mut design.hierarchies.shared;
            shared.levels = vec![LevelCounts {
                name: "L1I".to_owned(),
                instruction_misses: l1i,
                cycles: l1i * 11,
                ..LevelCounts::default()
            }];
            shared.tlbs = vec![LevelCounts {
                name: "DTLB".to_owned(),
                load_misses: dtlb,
                cycles: dtlb_cycles,
                ..LevelCounts::default()
            }];
        }
        records.add_simulated(&step(layer, arm, kib), head.clone(), findings);
    }
}

/// Returns numbers as the poster's text describes its figure 4.
fn as_published(layer: Layer, arm: Arm, kib: u64, variant: usize) -> [f64; 3] {
    let size = kib as f64;
    let inclusive = if variant == Variant::Inclusive as usize {
        1000.0 + size
    } else {
        0.0
    };
    match (arm, layer) {
        (Arm::Alone, _) => [5.0 + size / 16.0, 5.0, 1000.0],
        (Arm::Two, Layer::Kernel) => [25.0 + size / 8.0, 45.0, 2000.0 + inclusive],
        (Arm::Two, Layer::User) => [8.0 + size / 10.0, 9.0, 1200.0],
    }
}

/// Returns numbers that contradict the poster's claims on Figure 4.
fn turned(layer: Layer, arm: Arm, kib: u64, variant: usize) -> [f64; 3] {
    let size = kib as f64;
    let inclusive = if variant == Variant::Inclusive as usize {
        size / 10.0
    } else {
        0.0
    };
    match (arm, layer) {
        (Arm::Alone, _) => [5.0, 5.0, 1000.0],
        (Arm::Two, Layer::Kernel) => [5.0 - size / 100.0, 5.0, 2000.0 + size + inclusive],
        (Arm::Two, Layer::User) => [5.5 - size / 200.0, 5.0, 1200.0],
    }
}

/// Pairs six array sizes in KiB with costs in ns.
fn by_size(costs_ns: [f64; 6]) -> Vec<(u64, f64)> {
    [0, 8, 16, 32, 96, 256].into_iter().zip(costs_ns).collect()
}

/// Costs in ns by KiB, their spread as a share, and the additional misses of two tasks over one: of
/// the L1D, of the dTLB.
struct Level {
    costs: Vec<(u64, f64)>,
    spread: f64,
    misses: fn(u64) -> [f64; 2],
}

/// Adds measurements of switches in the kernel and at user level.
fn add_measured(records: &mut Records, kernel: &Level, user: &Level) {
    for (step, mechanism, level) in [
        (KERNEL, Mechanism::Pipe, kernel),
        (USER, Mechanism::Ucontext, user),
    ] {
        let (record, mut findings) = measured();
        for (kib, ns) in &level.costs {
            let mut finding = case(mechanism, kib * 1024, Access::Rmw, *ns);
            for estimate in [&mut finding.direct_ns, &mut finding.total_ns]
                .into_iter()
                .flatten()
            {
                estimate.sd = ns * level.spread;
            }
            let counter = |name: &str, more: f64| CounterFinding {
                name: name.to_owned(),
                baseline: 5.0,
                switching: 5.0 + more,
                n: 9,
                difference_error: Some(0.001),
            };
            let [l1d, dtlb] = (level.misses)(*kib);
            finding.counters = vec![
                counter("L1-dcache-load-misses", l1d),
                counter("dTLB-load-misses", dtlb),
            ];
            findings.results.push(finding);
        }
        records.add_measured(step, record, findings);
    }
}

fn claim(records: &Records, id: &str) -> Claim {
    testing::claim(Paper::Michigan, records, id)
}

fn published() -> Records {
    let mut records = Records::default();
    let kernel = Level {
        costs: by_size([620.0, 650.0, 700.0, 900.0, 800.0, 1500.0]),
        spread: 0.05,
        misses: |kib| [if kib == 32 { 400.0 } else { 100.0 }, kib as f64 / 10.0],
    };
    let user = Level {
        costs: by_size([1300.0, 1230.0, 1300.0, 1380.0, 1500.0, 2000.0]),
        spread: 0.005,
        misses: |_| [50.0, 2.0],
    };
    add_measured(&mut records, &kernel, &user);
    add_guest(&mut records, as_published);
    add_pages(&mut records, [1200.0, 900.0]);
    records.add_text(HIDING, output([0.9, 0.95, 0.99], [-1.0, 0.7, 0.96]));
    records
}

/// Adds costs with base pages and with huge pages, in nanoseconds.
fn add_pages(records: &mut Records, costs_ns: [f64; 2]) {
    for (pages, ns) in ["base", "huge"].into_iter().zip(costs_ns) {
        let (record, mut findings) = measured();
        findings.results = [2048, 4096]
            .map(|kib| case(Mechanism::Pipe, kib << 10, Access::Rmw, ns))
            .into();
        records.add_measured(&format!("michigan-pages-{pages}"), record, findings);
    }
}

/// Returns an output of the program on waits in which fibers, and threads and processes, hide these
/// shares of a wait of 1, 10 and 100 us. A unit of work takes 100 ns, and a request 50 ns more than
/// the wait if the CPU spins.
fn output(fibers: [f64; 3], kernel: [f64; 3]) -> String {
    let mut lines = vec![];
    for repetition in 0..3 {
        // The machine is slower in a later repetition, so that only ratios within one count.
        let slow = 1.0 + f64::from(repetition) / 100.0;
        let mut line = |way: &str, wait_ns: u64, ns: f64, units: f64, switches: u32| {
            let ns = ns * slow;
            lines.push(format!(
                r#"{{"way":"{way}","wait_ns":{wait_ns},"ns":{ns},"units":{units},"requests":100,"switches":{switches}}}"#
            ));
        };
        line("alone", 50_000_000, 50e6, 500_000.0, 0);
        for (place, wait_ns) in [1_000, 10_000, 100_000].into_iter().enumerate() {
            let spin_ns = (wait_ns + 50) as f64;
            line("spin", wait_ns, spin_ns * 100.0, 0.0, 0);
            for (way, hidden, switches) in [
                ("fibers", fibers[place], 0),
                ("threads", kernel[place], 100),
                ("processes", kernel[place], 100),
            ] {
                // The work takes as long as the wait.
                let own_ns = spin_ns * (1.0 - hidden);
                let units = wait_ns as f64;
                line(
                    way,
                    wait_ns,
                    (own_ns + wait_ns as f64) * 100.0,
                    units,
                    switches,
                );
            }
        }
    }
    lines.join("\n")
}

/// Judges each claim by numbers after the poster's text, and by contradicting numbers.
pub(crate) fn reported() -> BTreeMap<String, Shown> {
    assert_eq!(
        measured()
            .0
            .header
            .host
            .caches
            .iter()
            .map(|cache| cache.size_bytes.0 >> 10)
            .min(),
        Some(32)
    );
    let mut turned = Records::default();
    let steady = |spread, misses: fn(u64) -> [f64; 2]| Level {
        costs: by_size([600.0, 610.0, 700.0, 800.0, 1450.0, 1500.0]),
        spread,
        misses,
    };
    let cheap = Level {
        costs: by_size([200.0, 200.0, 600.0, 1300.0, 1500.0, 700.0]),
        ..steady(0.4, |kib| [kib as f64, 9.0])
    };
    add_measured(
        &mut turned,
        &steady(0.001, |kib| [kib as f64, 2.0 - kib as f64 / 1000.0]),
        &cheap,
    );
    add_guest(&mut turned, self::turned);
    add_pages(&mut turned, [1000.0, 1200.0]);
    turned.add_text(HIDING, output([0.1, 0.1, 0.1], [0.2, 0.3, 0.4]));
    let mut code = published();
    add_guest(&mut code, |_, arm, _, _| {
        if arm == Arm::Two {
            [500.0, 5.0, 2000.0]
        } else {
            [5.0, 5.0, 1000.0]
        }
    });
    testing::reported(Paper::Michigan, &published(), &[turned, code])
}

/// Makes costs that do not depend on the size.
fn flat(ns: f64, spread: f64) -> Level {
    Level {
        costs: by_size([ns; 6]),
        spread,
        misses: |_| [1.0; 2],
    }
}

#[test]
fn variance_is_in_microseconds() {
    let mut records = published();
    add_measured(&mut records, &flat(3000.0, 0.1), &flat(300.0, 0.4));
    let verdict = claim(&records, "user-varies-less").verdict;
    assert_eq!(verdict, Verdict::Holds, "120 against 300 ns");
}

#[test]
fn a_cost_with_base_pages_that_may_be_0_has_no_ratio() {
    let mut records = published();
    let (record, mut findings) = measured();
    let cost = |kib: u64, half_ns| {
        let mut finding = case(Mechanism::Pipe, kib << 10, Access::Rmw, 1200.0);
        finding.total_ns = Some(testing::within(1200.0, half_ns));
        finding
    };
    findings.results = vec![cost(2048, 10.0), cost(4096, 1300.0)];
    records.add_measured("michigan-pages-base", record, findings);
    assert_eq!(
        claim(&records, "larger-pages").missing.as_deref(),
        Some("at 4 MiB, the cost with base pages is not clear of 0")
    );
}

#[test]
fn a_maximum_within_the_intervals_is_not_reported() {
    let mut records = published();
    add_measured(&mut records, &flat(620.0, 0.01), &flat(1300.0, 0.01));
    let verdict = claim(&records, "maximum-at-l1").verdict;
    assert_eq!(verdict, Verdict::Inconclusive);
}

/// Costs whose intervals overlap neither rise nor fall.
#[test]
fn what_the_overhead_does_not_show_is_not_laid_to_the_dtlb() {
    let mut records = published();
    let level = |costs: [(u64, f64); 3]| Level {
        costs: costs.into(),
        spread: 0.01,
        misses: |kib| [1.0, kib as f64],
    };
    let same = level([(96, 800.0), (128, 801.0), (256, 1500.0)]);
    add_measured(
        &mut records,
        &same,
        &level([(96, 1.0), (128, 2.0), (256, 3.0)]),
    );
    let verdict = claim(&records, "counted-follows-dtlb").verdict;
    assert_eq!(verdict, Verdict::Inconclusive);
}

#[test]
fn what_depends_on_whether_a_switch_flushes_the_tlbs_is_not_reported() {
    let mut records = published();
    add_guest(&mut records, |layer, arm, kib, variant| {
        let [l1i, dtlb, cycles] = as_published(layer, arm, kib, variant);
        [
            l1i,
            if variant == Variant::TlbsKept as usize {
                5.0
            } else {
                dtlb
            },
            cycles,
        ]
    });
    let reported = verdicts(Paper::Michigan, &records);
    assert_eq!(
        (reported["kernel-dtlb-gap"], reported["kernel-dtlb-spaces"]),
        (Verdict::Inconclusive, Verdict::Inconclusive)
    );
}

#[test]
fn an_inclusive_second_level_is_a_reason_where_it_alone_shows_what_the_poster_does() {
    let mut records = published();
    add_guest(&mut records, |layer, arm, kib, variant| {
        let is_inclusive = variant == Variant::Inclusive as usize;
        if is_inclusive {
            as_published(layer, arm, kib, variant)
        } else {
            turned(layer, arm, kib, variant)
        }
    });
    for id in ["kernel-l1i-gaps", "kernel-l1i-larger-gap"] {
        let claim = claim(&records, id);
        assert_eq!(claim.verdict, Verdict::Differs, "{id}");
        let reason = &claim.reasons[0];
        assert_eq!(reason.verdict, Verdict::Holds, "{}", reason.found);
    }
}

#[test]
fn the_share_of_a_wait_is_that_of_the_time_without_work() {
    let records = published();
    let kernel = &claim(&records, "kernel-hides-no-microsecond").terms;
    let fibers = &claim(&records, "fibers-hide-more").terms;
    testing::assert_within(kernel[1].value, -1.0, 1e-9);
    testing::assert_within(fibers[0].value, 1.9, 1e-9);
}

#[test]
fn a_disturbed_wait_has_no_share() {
    let mut records = published();
    let text = output([0.9; 3], [0.5; 3]);
    for (text, why) in [
        (
            text.replace(r#""switches":100"#, r#""switches":150"#),
            "the kernel took the CPU from the waiting task 1.50 times per request, not 1",
        ),
        (
            text.replace(
                r#""spin","wait_ns":100000,"ns":"#,
                r#""spin","wait_ns":100000,"ns":2"#,
            ),
            "95.2 % of the CPU's time was lost to others",
        ),
        (
            "torn".to_owned(),
            "the output of michigan-hiding has another format (expected ident at line 1 column 2)",
        ),
    ] {
        records.add_text(HIDING, text);
        let missing = claim(&records, "kernel-hides-no-microsecond").missing;
        assert_eq!(missing.as_deref(), Some(why));
    }
}

#[test]
fn without_counters_there_is_no_figure_of_them() {
    let mut records = Records::default();
    let (record, mut findings) = measured();
    findings
        .results
        .push(case(Mechanism::Pipe, 0, Access::Rmw, 620.0));
    records.add_measured(KERNEL, record, findings);
    let none = Paper::Michigan.exhibits(&records).swap_remove(1);
    assert!(none.chart.is_none());
    for claim in none.claims {
        let why = claim.missing.expect("none is reported");
        assert!(why.contains("counter") || why.contains("counted"), "{why}");
    }
}
