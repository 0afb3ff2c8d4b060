use std::collections::BTreeMap;

use switchcost_analysis::{Curve, CurvePoint, Knee};
use switchcost_design::result::{LostCycles, LostTo};
use switchcost_record::Mechanism;
use switchcost_units::Bytes;
use switchcost_workload::Access;

use super::steps::hand_off::{HAND_OFFS, Machine, SETTINGS, SIZES_KIB, step};
use super::steps::{BUS_CYCLES, GRID, JUDGED, LATENCIES, LOOPS, sensitivity_step};
use crate::arm::{ARMS, Arm};
use crate::li2007::interference;
use crate::testing::{self, Shown, case, claim, measured, simulated};
use crate::{Cell, Exhibit, Paper, Records, Verdict};

fn exhibit(records: &Records, name: &str) -> Exhibit {
    testing::exhibit(Paper::Li2007, records, name)
}

/// Costs of a switch as a paper reports them, in microseconds, by array size in KiB.
struct Measured {
    direct: f64,
    /// Costs of read-modify-writes at a stride of 8 B.
    rmw: Vec<(u64, f64)>,
    /// Ratio of the cost of writing to that of reading.
    writes: f64,
    /// Ratios of the cost at a stride of 128 B to the cost at 8 B: for the three smallest sizes,
    /// and for the larger sizes.
    strides: [f64; 2],
    /// Ends of the first knee in KiB.
    knee: (u64, u64),
}

fn last_level() -> u64 {
    measured()
        .0
        .header
        .host
        .caches
        .iter()
        .map(|cache| cache.size_bytes.0 >> 10)
        .max()
        .expect("caches")
}

/// Returns the costs that the paper's text gives for its three ranges of array sizes (regions 1 to
/// 3). The four largest sizes scale with the last-level cache of the test's record.
fn published() -> Measured {
    let last = last_level();
    Measured {
        direct: 3.8,
        rmw: vec![
            (1, 4.2),
            (8, 5.0),
            (16, 8.7),
            (last / 2, 38.6),
            (last, 203.2),
            (2 * last, 100.0),
            (4 * last, 120.0),
        ],
        writes: 2.0,
        strides: [1.0, 7.1],
        // Region 1 ends at about 200 KB, and region 2 begins at 256 KB, of a cache of 512 KB.
        knee: (last * 200 / 512, last / 2),
    }
}

fn add_grid(records: &mut Records, story: &Measured) {
    let (record, mut findings) = measured();
    findings
        .results
        .push(case(Mechanism::Pipe, 0, Access::Rmw, story.direct * 1e3));
    let mut curve = Curve {
        title: String::new(),
        points: Vec::new(),
        knees: Vec::new(),
        regions: Vec::new(),
    };
    for (number, (kib, us)) in story.rmw.iter().enumerate() {
        curve.points.push(CurvePoint {
            size_bytes: kib * 1024,
            result: findings.results.len(),
            total_ns: us * 1e3,
        });
        for (access, factor) in [
            (Access::Rmw, 1.0),
            (Access::Write, 1.0),
            (Access::Read, 1.0 / story.writes),
        ] {
            findings
                .results
                .push(case(Mechanism::Pipe, kib * 1024, access, us * 1e3 * factor));
        }
        let at_128 = story.strides[usize::from(number > 2)];
        for (stride, power) in [(64, 0.5), (128, 1.0), (512, 1.2), (4096, 1.4)] {
            let mut strided = case(
                Mechanism::Pipe,
                kib * 1024,
                Access::Rmw,
                us * 1e3 * at_128.powf(power),
            );
            strided.case.working_set.stride_bytes = Bytes(stride);
            findings.results.push(strided);
        }
    }
    let (after, before) = story.knee;
    curve.knees.push(Knee {
        after_bytes: after << 10,
        before_bytes: before << 10,
        confidence: 1.0,
        cause: None,
    });
    findings.curves = vec![curve];
    records.add_measured(GRID, record, findings);
}

/// Simulated microseconds per switch by latency, bus, access, stride and KiB.
type Simulated = fn(usize, usize, Access, u64, u64) -> f64;

fn add_simulated(records: &mut Records, story: Simulated) {
    let (head, findings) = simulated();
    for instructions in LOOPS {
        for (access, stride, kib) in JUDGED {
            let mut findings = findings.clone();
            findings.designs =
                vec![findings.designs[0].clone(); LATENCIES.len() * BUS_CYCLES.len()];
            for (number, design) in findings.designs.iter_mut().enumerate() {
                let us = story(
                    number / BUS_CYCLES.len(),
                    number % BUS_CYCLES.len(),
                    access,
                    stride,
                    kib,
                );
                design.cycle_ns = Some([0.5, 0.5]);
                design.excess_cycles_per_switch = Some(us * 2000.0);
            }
            records.add_simulated(
                &sensitivity_step(instructions, access, stride, kib),
                head.clone(),
                findings,
            );
        }
    }
}

/// Returns the paper's costs minus the direct cost, whatever the free parameters.
fn as_published(_: usize, _: usize, access: Access, stride: u64, kib: u64) -> f64 {
    let us = match kib {
        0..=200 => 2.0,
        201..=300 => 38.6 - 3.8,
        301..=600 => 203.2 - 3.8,
        _ => 112.7,
    };
    let writes = if access == Access::Read && kib >= 384 {
        0.5
    } else {
        1.0
    };
    let strides = if stride == 128 && kib >= 384 {
        7.08
    } else {
        1.0
    };
    us * writes * strides
}

/// Additional time of a hand-off to another task over one to itself, in microseconds, by KiB and
/// setting.
type HandOff = fn(u64, usize) -> f64;

fn add_hand_offs(records: &mut Records, story: HandOff) {
    let (head, findings) = simulated();
    for (kib, arm) in SIZES_KIB
        .into_iter()
        .flat_map(|kib| ARMS.map(|arm| (kib, arm)))
    {
        let mut findings = findings.clone();
        findings.designs = vec![findings.designs[0].clone(); SETTINGS];
        for (setting, design) in findings.designs.iter_mut().enumerate() {
            let us = 10.0
                + if arm == Arm::Two {
                    story(kib, setting)
                } else {
                    0.0
                };
            design.cycle_ns = Some([0.5, 0.5]);
            design.hierarchies.shared.cycles = (us * 2000.0) as u64 * HAND_OFFS;
            let kernel = LostTo {
                kernel: (kib + 1) * 2000 * HAND_OFFS,
                ..LostTo::default()
            };
            design.lost_to = Some(LostCycles {
                kernel,
                ..LostCycles::default()
            });
        }
        records.add_simulated(&step(Machine::Xeon, arm, kib), head.clone(), findings);
    }
}

/// Returns the additional time of a hand-off in microseconds: the published direct cost without
/// arrays, and the middle of the costs in region 1 with arrays.
fn as_in_region_1(kib: u64, _: usize) -> f64 {
    if kib == 0 { 3.8 } else { 6.5 }
}

fn records(measured: &Measured, simulated: Simulated, hand_off: HandOff) -> Records {
    let mut records = Records::default();
    add_grid(&mut records, measured);
    add_simulated(&mut records, simulated);
    add_hand_offs(&mut records, hand_off);
    records
}

/// Judges each claim by the paper's own numbers, and by invented numbers. The runs for Tables 1 and
/// 2 are made from the intervals printed there.
pub(crate) fn reported() -> BTreeMap<String, Shown> {
    let last = last_level();
    let flat: Vec<(u64, f64)> = [1, 8, 16, last / 2, last, 2 * last]
        .map(|kib| (kib, 4.2))
        .into();
    let steady = vec![
        (1, 4.0),
        (8, 9.0),
        (16, 20.0),
        (last / 2, 30.0),
        (last, 21.0),
        (2 * last, 30.0),
        (4 * last, 40.0),
    ];
    let others = [
        records(
            &Measured {
                direct: 20.0,
                rmw: flat,
                writes: 1.0,
                strides: [5.0, 0.5],
                knee: (1, 2),
            },
            |_, _, _, _, _| 150.0,
            |kib, _| 3.8 + kib as f64,
        ),
        records(
            &Measured {
                rmw: steady,
                ..published()
            },
            |_, _, _, stride, _| if stride == 128 { 3000.0 } else { 150.0 },
            |kib, _| 1.0 + kib as f64,
        ),
    ];
    let mut reported = testing::reported(
        Paper::Li2007,
        &records(&published(), as_published, as_in_region_1),
        &others,
    );
    reported.extend(interference::tests::reported());
    reported
}

#[test]
fn what_depends_on_what_is_free_is_not_reported() {
    // With the design's own bus, the ratio of writing to reading is the published one; with other
    // buses it differs.
    let by_bus: Simulated = |latency, bus, access, stride, kib| {
        let factor = if access == Access::Read {
            1.0
        } else {
            [0.6, 1.0, 2.0][bus]
        };
        as_published(latency, bus, access, stride, kib) * factor
    };
    let found = records(&published(), by_bus, as_in_region_1);
    let twice = claim(Paper::Li2007, &found, "simulated-writes-twice");
    assert_eq!(twice.verdict, Verdict::Inconclusive);
    // A cost of twice the paper's is not allowed.
    let expected = "write / read: 1.20 (1.20 to 2.00)";
    assert!(twice.found.starts_with(expected), "{}", twice.found);
    let table = exhibit(&found, "Figures 1 and 2, sensitivity").table;
    assert_eq!(
        table.rows.len(),
        LOOPS.len() * LATENCIES.len() * BUS_CYCLES.len()
    );
}

#[test]
fn a_tlbs_capacity_is_no_caches() {
    let mut story = published();
    // The knee is between the capacities of two levels, at the end of a TLB of 64 entries.
    story.knee = (129, 250);
    let found = records(&story, as_published, as_in_region_1);
    let claim = claim(Paper::Li2007, &found, "first-knee");
    assert_ne!(claim.verdict, Verdict::Holds, "{}", claim.found);
}

#[test]
fn what_is_not_clear_of_0_is_neither_printed_nor_judged() {
    let last = last_level();
    let lost = vec![
        (1, 4.2),
        (8, 5.0),
        (16, 8.7),
        (last, -203.2),
        (2 * last, -100.0),
    ];
    let found = records(
        &Measured {
            rmw: lost,
            ..published()
        },
        as_published,
        as_in_region_1,
    );
    let claim = claim(Paper::Li2007, &found, "region-3-uneven");
    assert_eq!(claim.verdict, Verdict::Inconclusive);
    let missing = Cell::Missing {
        why: "not distinguishable from 0".to_owned(),
    };
    let table = exhibit(&found, "Figure 1").table;
    assert!(
        table.rows.iter().any(|row| row[2] == missing),
        "no negative cost is printed"
    );
}

#[test]
fn what_may_be_the_largest_is_not_passed_over() {
    let mut found = records(&published(), as_published, as_in_region_1);
    let (record, mut findings) = found
        .measured(GRID)
        .map(|(r, f)| (r.clone(), f.clone()))
        .expect("the grid");
    let costs = findings.results.iter_mut();
    let largest = costs
        .filter_map(|finding| finding.total_ns.as_mut())
        .max_by(|a, b| a.estimate.total_cmp(&b.estimate))
        .expect("a cost");
    (largest.low, largest.high, largest.within_run) = (-1e6, 9e6, (-1e6, 9e6));
    found.add_measured(GRID, record, findings);
    let claim = claim(Paper::Li2007, &found, "whole-range");
    assert_eq!(claim.verdict, Verdict::Inconclusive);
}

#[test]
fn the_parts_of_a_hand_off_stand_beside_each_other() {
    let found = records(&published(), as_published, |kib, setting| {
        3.8 + kib as f64 / 8.0 * (1.0 + setting as f64)
    });
    let table = exhibit(&found, "The hand-off with the kernel").table;
    let row = |arrays: &str, part: &str| {
        let row = table
            .rows
            .iter()
            .find(|row| row[0] == Cell::from(arrays) && row[1] == Cell::from(part));
        row.unwrap_or_else(|| panic!("no {part} of {arrays}"))
    };
    let close = |cell: &Cell, expected: f64| matches!(cell, Cell::Number { value, .. } if (value - expected).abs() < 1e-9);
    let direct = row("0 B", "us, direct");
    assert_eq!(
        direct[2],
        Cell::Number {
            value: 3.8,
            decimals: 1
        }
    );
    assert!(
        direct[3..6].iter().all(|cell| close(cell, 3.8)),
        "{direct:?}"
    );
    let total = row("32 KiB", "us, total");
    // The usual setting is the fifth of six.
    assert!(
        close(&total[3], 23.8) && close(&total[4], 7.8) && close(&total[5], 27.8),
        "{total:?}"
    );
    assert!(
        matches!(total[7], Cell::Missing { .. }),
        "what was not measured is missing: {total:?}"
    );
    let lost = |arrays: &str, part: &str| row(arrays, part)[3].clone();
    assert!(close(&lost("0 B", "us lost in kernel lines"), 1.0));
    assert!(
        close(&lost("32 KiB", "us more in kernel lines"), 32.0),
        "more than without arrays"
    );
    assert!(close(&lost("32 KiB", "us more in own lines"), 0.0));
    assert!(
        matches!(&total[6], Cell::Missing { why } if why.contains("li2007-hand-off-host-")),
        "{total:?}"
    );
}
