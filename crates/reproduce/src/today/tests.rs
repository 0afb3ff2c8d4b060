use std::collections::BTreeMap;

use switchcost_analysis::simulation::{DesignFinding, TimeLost};
use switchcost_analysis::{CoreFinding, Interval, LosesMore, SharedCache};
use switchcost_record::{Mechanism, VectorCase, VectorState};
use switchcost_units::Bytes;
use switchcost_workload::{Access, WorkingSet};

use super::{
    AFFINITY, KERNEL, MACHINES, ROUND_ROBIN, SHARED_CACHE, VECTORS, penalty, servers, time_lost,
    validated,
};
use crate::testing::{self, Shown, assert_within, case, estimate, measured, simulated};
use crate::{Cell, Paper, Records, Verdict};

/// Numbers of a synthetic run.
struct Story {
    /// Nanoseconds for the kernel's lines with small and with large arrays.
    kernel_ns: [f64; 2],
    /// Nanoseconds per walk lost by time-sharing and by concurrent use.
    shared_ns: [f64; 2],
    /// Cycles under round robin, and with affinity.
    cycles: [u64; 2],
    /// Smallest and largest ratio of the likely to the measured reload of an array.
    ratios: [f64; 2],
    /// Ratio of a request through many processes to one through few: in 1990 and since.
    servers: [f64; 2],
    /// Nanoseconds per switch that all vector registers add.
    vectors_ns: f64,
    /// The kernel's misses per hand-off, in addition to a thousand instructions.
    kernel_misses: u64,
    /// Likely time per switch in nanoseconds to reload lost lines; `None` if they have no price.
    lost_ns: Option<f64>,
    /// Share of the lost lines without a price.
    unpriced: f64,
}

/// Story that agrees with the papers.
const PAPERS: Story = Story {
    kernel_ns: [100.0, 900.0],
    shared_ns: [3000.0, 200.0],
    cycles: [1000, 500],
    ratios: [0.39, 5.9],
    servers: [2.0, 3.0],
    vectors_ns: 60.0,
    kernel_misses: 100,
    lost_ns: Some(1e5),
    unpriced: 0.0,
};

fn simulation(
    records: &mut Records,
    step: &str,
    designs: impl Fn(&DesignFinding) -> Vec<DesignFinding>,
) {
    let (head, mut findings) = simulated();
    let like = findings.designs[0].clone();
    findings.designs = designs(&like);
    records.add_simulated(step, head, findings);
}

fn records(story: &Story) -> Records {
    let mut records = Records::default();
    for (step, cycles) in [ROUND_ROBIN, AFFINITY].into_iter().zip(story.cycles) {
        simulation(&mut records, step, |like| {
            let mut design = like.clone();
            design.hierarchies.shared.cycles = cycles;
            vec![design]
        });
    }
    let (record, mut findings) = measured();
    for (kib, ns) in [16, 2048].into_iter().zip(story.kernel_ns) {
        let mut finding = case(Mechanism::Pipe, kib << 10, Access::Rmw, 5000.0);
        finding.indirect_kernel_ns = Some(estimate(ns));
        findings.results.push(finding);
    }
    records.add_measured(KERNEL, record, findings);
    add_shared_cache(&mut records, story.shared_ns, None);
    add_reloads(&mut records, story.ratios);
    add_servers(&mut records, story.servers);
    add_vectors(&mut records, story.vectors_ns);
    add_penalties(&mut records, story.kernel_misses);
    add_time_lost(&mut records, story);
    records
}

/// Adds lost lines that take from half to twice the likely time, and switches of 1 us between
/// processes and 10 ns between fibers.
fn add_time_lost(records: &mut Records, story: &Story) {
    let (record, mut findings) = measured();
    for (mechanism, ns) in [(Mechanism::Pipe, 1000.0), (Mechanism::Fiber, 10.0)] {
        findings.results.push(case(mechanism, 0, Access::Rmw, ns));
    }
    records.add_measured(time_lost::DIRECT, record, findings);
    simulation(records, time_lost::TIMESHARING, |like| {
        vec![DesignFinding {
            time_lost: Some(lost(story.lost_ns, story.unpriced)),
            ..like.clone()
        }]
    });
}

/// Returns lost lines that take from half to twice the likely time.
fn lost(likely_ns: Option<f64>, unpriced: f64) -> TimeLost {
    let times = |factor: f64| Some(likely_ns? * factor);
    TimeLost {
        cpu_model: None,
        low_ns: times(0.5),
        likely_ns,
        high_ns: times(2.0),
        cycles_ns: None,
        unpriced_share: Some(unpriced),
        lines: Vec::new(),
    }
}

/// Claims that compare a cost with the time to reload lost lines.
const IN_TIME: [&str; 3] = [
    "dominates-since",
    "registers-small",
    "vector-registers-small",
];

/// The costs are 1 us, 10 ns and 60 ns. Lines without a price may take any time.
#[test]
fn the_time_of_lost_lines_decides_as_far_as_it_is_known() {
    use Verdict::{Differs, Holds, Inconclusive};
    for (lost_ns, unpriced, expected) in [
        (1e5, 0.0, [Holds; 3]),
        (1e5, 0.01, [Holds; 3]),
        (1000.0, 0.0, [Inconclusive, Holds, Inconclusive]),
        (100.0, 0.0, [Differs, Inconclusive, Differs]),
        (10.0, 0.0, [Differs; 3]),
        (10.0, 0.01, [Inconclusive; 3]),
    ] {
        let story = Story {
            lost_ns: Some(lost_ns),
            unpriced,
            ..PAPERS
        };
        let found = testing::verdicts(Paper::Today, &records(&story));
        let found = IN_TIME.map(|id| found[id]);
        assert_eq!(found, expected, "{lost_ns} ns, {unpriced} without a price");
    }
    let story = Story {
        lost_ns: None,
        unpriced: 1.0,
        ..PAPERS
    };
    for id in IN_TIME {
        let claim = testing::claim(Paper::Today, &records(&story), id);
        let why = "no lost line has a price on this machine";
        assert_eq!(
            (claim.verdict, claim.missing.as_deref()),
            (Inconclusive, Some(why))
        );
    }
}

/// The likely time is 100 us: its interval is that of the ratios of the arrays, which is wider than
/// the range of the estimate.
#[test]
fn the_interval_of_the_time_covers_the_ratios_of_the_arrays() {
    let claim = testing::claim(Paper::Today, &records(&PAPERS), "dominates-since");
    let term = &claim.terms[0];
    assert_within(term.value, 0.01, 1e-9);
    assert_within(term.low, 990.0 / (1e5 / 0.39), 1e-9);
    assert_within(term.high, 1010.0 / (1e5 / 5.9), 1e-9);
}

fn add_vectors(records: &mut Records, more_ns: f64) {
    let (record, mut findings) = measured();
    for (state, bytes, ns) in [
        (VectorState::Avx512, 2368, 1000.0 + more_ns),
        (VectorState::Init, 0, 1000.0),
    ] {
        let mut finding = case(Mechanism::Pipe, 0, Access::Rmw, ns);
        finding.direct_ns = Some(crate::testing::within(ns, 0.5));
        finding.case.vectors = Some(VectorCase {
            state,
            xsave_bytes: Bytes(bytes),
        });
        findings.results.push(finding);
    }
    records.add_measured(VECTORS, record, findings);
}

/// Adds hand-offs with a thousand kernel instructions and `misses` misses.
fn add_penalties(records: &mut Records, misses: u64) {
    for (step, is_all) in penalty::every_step() {
        simulation(records, &step, |like| {
            let design = |cycles: u64| {
                let mut design = like.clone();
                let of_kernel = if is_all { 1000 + misses * cycles } else { 0 };
                design.hierarchies.shared.cycles = (5000 + of_kernel) * penalty::HAND_OFFS;
                design
            };
            [5, 15, 50, 150, 5, 15, 50, 150].map(design).to_vec()
        });
    }
}

#[test]
fn all_registers_are_compared_with_none_whatever_their_order() {
    let claim = |id| testing::claim(Paper::Today, &records(&PAPERS), id);
    let found = claim("vector-registers-cost").found;
    let expected = "all registers minus none, ns: 60.0 (58.9 to 61.1)";
    assert!(found.starts_with(expected), "{found}");
    // There are a thousand instructions, and 100 misses of 5 or 150 cycles.
    let follows = claim("kernel-follows-penalty");
    assert_eq!(follows.terms.len(), 4);
    assert_within(follows.terms[0].value, 16_000.0 / 1500.0, 1e-9);
}

/// Adds requests whose cost grows with the touched memory. Through many processes, the cost is
/// multiplied by `dearer`: by the first factor in 1990, by the second one since.
fn add_servers(records: &mut Records, dearer: [f64; 2]) {
    for kib in servers::TOTALS_KIB {
        for tasks in [servers::ONE, servers::MANY] {
            simulation(records, &servers::step(tasks, kib), |like| {
                let design = |(place, machine): (usize, &super::Machine)| {
                    let mut design = DesignFinding {
                        name: machine.design.to_owned(),
                        ..like.clone()
                    };
                    let times =
                        dearer[usize::from(place > 0)] * (1.0 + 1e-4 * (kib * place as u64) as f64);
                    let times = if tasks == servers::MANY { times } else { 1.0 };
                    design.hierarchies.shared.cycles = (kib as f64 * 1e6 * times) as u64;
                    design
                };
                MACHINES.iter().enumerate().map(design).collect()
            });
        }
    }
}

/// Adds measured reloads of 10 us. In simulation, the smallest arrays take that time multiplied by
/// the first ratio, the others by the second.
fn add_reloads(records: &mut Records, ratios: [f64; 2]) {
    add_reloads_of(records, |at| {
        (
            lost(Some(10_000.0 * ratios[usize::from(at > 0)]), 0.0),
            10_000.0,
        )
    });
}

/// Adds a simulated and a measured reload in ns for each kind and size. `times` returns both, by
/// the index of the size.
fn add_reloads_of(records: &mut Records, times: impl Fn(usize) -> (TimeLost, f64)) {
    for kind in &validated::KINDS {
        let (record, mut findings) = measured();
        let sizes = validated::sizes(&record.header.host);
        for (at, size) in sizes.into_iter().enumerate() {
            let (lost, ns) = times(at);
            let mut finding = case(Mechanism::Pipe, size, Access::Read, 20_000.0);
            finding.indirect_reload_ns = Some(testing::within(ns, 1.0));
            findings.results.push(finding);
            simulation(records, &validated::simulated_step(kind, size), |like| {
                vec![DesignFinding {
                    time_lost: Some(lost.clone()),
                    ..like.clone()
                }]
            });
        }
        findings.core = Some(CoreFinding {
            hertz: Some(1e9),
            fastest_hertz: Some(1e9),
        });
        records.add_measured(&validated::measured_step(kind), record, findings);
    }
}

#[test]
fn reloads_are_simulated_over_measured() {
    let name = "The simulator beside time";
    let rows = testing::exhibit(Paper::Today, &records(&PAPERS), name)
        .table
        .rows;
    assert_eq!(rows.len(), 16);
    let number = |at: usize| match rows[0][at] {
        Cell::Number { value, .. } => value,
        _ => panic!("{:?}", rows[0]),
    };
    let expected = [3.9, 1.95, 7.8, 10.0, 9.999, 10.001, 0.39];
    for (at, expected) in expected.into_iter().enumerate() {
        assert_within(number(at + 2), expected, 1e-9);
    }
}

/// Of four sizes, one or two count: with a measured reload above 0, and lost lines that all have a
/// price. Arrays without lost lines need no measurable reload.
#[test]
fn the_ratio_is_known_if_half_of_the_losing_arrays_count() {
    let ratios = |times: fn(usize) -> (TimeLost, f64)| {
        let mut records = records(&PAPERS);
        add_reloads_of(&mut records, times);
        validated::likely_over_measured(&records)
    };
    assert_eq!(
        ratios(|at| match at {
            0 => (lost(Some(200.0), 0.0), 100.0),
            1 => (lost(Some(50.0), 0.0), 100.0),
            _ => (lost(Some(900.0), 0.0), 0.5),
        }),
        Ok([0.5, 2.0])
    );
    assert_eq!(
        ratios(|at| match at {
            0 => (lost(Some(200.0), 0.0), 100.0),
            1 => (lost(Some(0.0), 0.0), 100.0),
            2 => (lost(Some(900.0), 0.1), 100.0),
            _ => (lost(Some(900.0), 0.0), 0.5),
        }),
        Ok([2.0, 2.0])
    );
    let too_few = ratios(|at| (lost(Some(200.0), 0.0), if at == 0 { 100.0 } else { 0.5 }));
    assert!(too_few.is_err_and(|why| why.starts_with("too few arrays")));
}

fn add_shared_cache(records: &mut Records, [in_turn, at_once]: [f64; 2], why: Option<&str>) {
    let (record, mut findings) = measured();
    for size in super::sizes_bytes(&record.header.host)
        .into_iter()
        .chain([4096])
    {
        let less = Interval::symmetric(in_turn - at_once, 10.0);
        findings.shared_cache.push(SharedCache {
            working_set: WorkingSet {
                size_bytes: Bytes(size),
                ..WorkingSet::NONE
            },
            in_turn: None,
            at_once: 0,
            alone_ns: Some(estimate(10_000.0)),
            in_turn_ns: Some(estimate(in_turn)),
            at_once_ns: Some(estimate(at_once)),
            in_turn_less_at_once_ns: Some(less).filter(|_| why.is_none()),
            loses_more: LosesMore::Inconclusive,
            why: why.map(str::to_owned),
        });
    }
    records.add_measured(SHARED_CACHE, record, findings);
}

#[test]
fn what_is_withheld_is_not_reported_with_its_reason() {
    let mut records = records(&PAPERS);
    add_shared_cache(
        &mut records,
        [3000.0, 200.0],
        Some("the CPUs share their core"),
    );
    let claim = testing::exhibit(Paper::Today, &records, "A shared cache")
        .claims
        .swap_remove(0);
    assert_eq!(claim.verdict, Verdict::Inconclusive);
    assert!(
        claim
            .missing
            .is_some_and(|why| why.ends_with("the CPUs share their core"))
    );
}

/// Judges each claim by numbers after the papers' conclusions, and by contradicting numbers.
pub(crate) fn reported() -> BTreeMap<String, Shown> {
    let other = Story {
        kernel_ns: [900.0, 100.0],
        shared_ns: [200.0, 3000.0],
        cycles: [500, 1000],
        servers: [3.0, 2.0],
        vectors_ns: -60.0,
        kernel_misses: 1,
        ..PAPERS
    };
    let little_lost = Story {
        lost_ns: Some(10.0),
        ..PAPERS
    };
    let others = [records(&other), records(&little_lost)];
    testing::reported(Paper::Today, &records(&PAPERS), &others)
}

#[test]
fn every_design_is_shipped() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../designs");
    for machine in &MACHINES {
        assert!(
            folder.join(format!("{}.toml", machine.design)).exists(),
            "{}",
            machine.design
        );
    }
}
