use std::collections::BTreeMap;

use switchcost_analysis::simulation::{Cost, DesignFinding};
use switchcost_analysis::{Difference, LosesMore, SharedCache};
use switchcost_record::Mechanism;
use switchcost_units::Bytes;
use switchcost_workload::{Access, WorkingSet};

use super::{AFFINITY, DIRECT, KERNEL, LARGER, MACHINES, ROUND_ROBIN, SETS, SHARED_CACHE, set_step};
use crate::testing::{self, Shown, case, estimate, measured, simulated};
use crate::{Cell, Paper, Records, Verdict};

/// What a run says.
struct Story {
    /// Microseconds lost in the caches at a switch, by set, on every machine since 1990; then in 1990.
    since_us: [f64; 3],
    then_us: [f64; 3],
    /// Nanoseconds of the kernel's direct cost here, and of a fiber's.
    direct_ns: f64,
    fiber_ns: f64,
    /// Nanoseconds of the kernel's lines with small and with large arrays.
    kernel_ns: [f64; 2],
    /// Nanoseconds that a walk loses in turn and at once.
    shared_ns: [f64; 2],
    /// Cycles in turn, and with affinity.
    cycles: [u64; 2],
    /// Cycles of each set with four times the cache, of 1000.
    larger: [u64; 3],
}

/// As the papers say; the kernel of the years between took less.
const PAPERS: Story = Story {
    since_us: [40.0, 20.0, 1.5],
    then_us: [406.0, 170.0, 7.44],
    direct_ns: 1000.0,
    fiber_ns: 10.0,
    kernel_ns: [100.0, 900.0],
    shared_ns: [3000.0, 200.0],
    cycles: [1000, 500],
    larger: [868, 966, 1000],
};

fn simulation(records: &mut Records, step: &str, designs: impl Fn(&DesignFinding) -> Vec<DesignFinding>) {
    let (head, mut findings) = simulated();
    let like = findings.designs[0].clone();
    findings.designs = designs(&like);
    records.add_simulated(step, head, findings);
}

fn records(story: &Story) -> Records {
    let mut records = Records::default();
    for set in 0..SETS.len() {
        simulation(&mut records, &set_step(set), |like| {
            let of_machine = |(place, machine): (usize, &super::Machine)| {
                let us = if place == 0 { story.then_us[set] } else { story.since_us[set] };
                // A cycle of a nanosecond: a thousand cycles a microsecond.
                let cycles = us * 1e3;
                let average_cost_cycles =
                    Cost { estimate: Some(cycles), low: Some(cycles), high: Some(cycles), ..Cost::default() };
                DesignFinding {
                    name: machine.design.to_owned(),
                    cycle_ns: Some([1.0, 1.0]),
                    average_cost_cycles,
                    ..like.clone()
                }
            };
            let mut designs: Vec<DesignFinding> = MACHINES.iter().enumerate().map(of_machine).collect();
            designs[0].hierarchies.shared.cycles = 1000;
            let mut larger = designs[0].clone();
            (larger.name, larger.hierarchies.shared.cycles) = (LARGER.to_owned(), story.larger[set]);
            designs.push(larger);
            designs
        });
    }
    for (step, cycles) in [ROUND_ROBIN, AFFINITY].into_iter().zip(story.cycles) {
        simulation(&mut records, step, |like| {
            let mut design = like.clone();
            design.hierarchies.shared.cycles = cycles;
            vec![design]
        });
    }
    let (record, mut findings) = measured();
    findings.results.push(case(Mechanism::Pipe, 0, Access::Rmw, story.direct_ns));
    findings.results.push(case(Mechanism::Fiber, 0, Access::Rmw, story.fiber_ns));
    records.add_measured(DIRECT, record, findings);
    let (record, mut findings) = measured();
    for (kib, ns) in [16, 2048].into_iter().zip(story.kernel_ns) {
        let mut finding = case(Mechanism::Pipe, kib << 10, Access::Rmw, 5000.0);
        finding.indirect_kernel_ns = Some(estimate(ns));
        findings.results.push(finding);
    }
    records.add_measured(KERNEL, record, findings);
    add_shared_cache(&mut records, story.shared_ns, None);
    records
}

fn add_shared_cache(records: &mut Records, [in_turn, at_once]: [f64; 2], why: Option<&str>) {
    let (record, mut findings) = measured();
    for size in super::sizes_bytes(&record.header.host).into_iter().chain([4096]) {
        let less =
            Difference { estimate: in_turn - at_once, low: in_turn - at_once - 10.0, high: in_turn - at_once + 10.0 };
        findings.shared_cache.push(SharedCache {
            working_set: WorkingSet { size_bytes: Bytes(size), ..WorkingSet::NONE },
            in_turn: None,
            at_once: 0,
            alone_ns: Some(estimate(10_000.0)),
            in_turn_ns: Some(estimate(in_turn)),
            at_once_ns: Some(estimate(at_once)),
            in_turn_less_at_once_ns: Some(less).filter(|_| why.is_none()),
            loses_more: LosesMore::Undecided,
            why: why.map(str::to_owned),
        });
    }
    records.add_measured(SHARED_CACHE, record, findings);
}

#[test]
fn what_is_withheld_is_not_reported_with_its_reason() {
    let mut records = records(&PAPERS);
    add_shared_cache(&mut records, [3000.0, 200.0], Some("the CPUs share their core"));
    let exhibit = Paper::Today.exhibits(&records).into_iter().find(|exhibit| exhibit.name == "A shared cache");
    let claim = exhibit.expect("it").claims.swap_remove(0);
    assert_eq!(claim.verdict, Verdict::Undecided);
    assert!(claim.missing.is_some_and(|why| why.ends_with("the CPUs share their core")));
}

/// Each claim by the papers' own words, and by others.
pub(crate) fn reported() -> BTreeMap<String, Shown> {
    let other = Story {
        since_us: [0.1, 0.1, 0.01],
        then_us: [50.0, 1.0, 1.0],
        direct_ns: 400.0,
        fiber_ns: 100.0,
        kernel_ns: [900.0, 100.0],
        shared_ns: [200.0, 3000.0],
        cycles: [500, 1000],
        larger: [966, 868, 1000],
    };
    // Caches over kernel were 5.8 in 1990, and are 10.5 and more since: the claims hold together.
    testing::reported(Paper::Today, &records(&PAPERS), &[records(&other)])
}

#[test]
fn shares_are_those_of_both_together() {
    let exhibit = Paper::Today.exhibits(&records(&PAPERS)).swap_remove(0);
    let row = &exhibit.table.rows[4];
    // 40 us in the caches, and 1 in the kernel of this machine.
    assert_eq!(row[2], Cell::Number { value: 1.0, decimals: 2 });
    let Cell::Number { value, .. } = row[5] else { panic!("{row:?}") };
    assert!((value - 100.0 * 40.0 / 41.0).abs() < 1e-9, "{value}");
    let chart = exhibit.chart.expect("a figure");
    assert_eq!((chart.series.len(), chart.series[0].x.len(), chart.x_names.len()), (3, 6, 6));
    assert!((chart.series[0].y[0] - 406.0 / 476.0).abs() < 1e-9, "{:?}", chart.series[0]);
}

#[test]
fn years_ascend_and_every_design_is_shipped() {
    assert!(MACHINES.windows(2).all(|pair| pair[0].year <= pair[1].year));
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../designs");
    for machine in &MACHINES {
        assert!(folder.join(format!("{}.toml", machine.design)).exists(), "{}", machine.design);
    }
}
