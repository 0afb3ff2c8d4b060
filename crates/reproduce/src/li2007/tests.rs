use record::Mechanism;
use workload::Access;

use super::steps::{GRID, points, simulated_step};
use crate::testing::{case, measured, simulated};
use crate::{Cell, Exhibit, Paper, Records, Shape};

fn exhibit(records: &Records, name: &str) -> Exhibit {
    let exhibits = Paper::Li2007.exhibits(records);
    exhibits.into_iter().find(|exhibit| exhibit.name == name).expect("an exhibit of this name")
}

/// Whether each claim holds; none where it could not be told.
fn verdicts(exhibit: &Exhibit) -> Vec<Option<bool>> {
    let verdict = |shape: &Shape| match shape {
        Shape::Holds => Some(true),
        Shape::Differs(_) => Some(false),
        Shape::NotShown(_) => None,
    };
    exhibit.claims.iter().map(|claim| verdict(&claim.shape)).collect()
}

/// A simulation of every point, with excess cycles of 0.5 ns as given by bus, access, stride and KiB.
fn in_silico(excess: impl Fn(usize, Access, u64, u64) -> f64) -> Records {
    let (head, mut findings) = simulated();
    findings.designs.truncate(1);
    findings.designs = vec![findings.designs[0].clone(); 3];
    let mut records = Records::default();
    for (access, stride, kib) in points(false) {
        for (bus, design) in findings.designs.iter_mut().enumerate() {
            design.cycle_ns = Some([0.5, 0.5]);
            design.excess_cycles_per_switch = Some(excess(bus, access, stride, kib));
        }
        records.add_simulated(&simulated_step(access, stride, kib), head.clone(), findings.clone());
    }
    records
}

/// What the paper says of its machine, in cycles of 2 GHz: small up to 200 KB, then steep, half of it for reads, uneven
/// above; seven times as much at a stride of 128 B.
fn as_published(access: Access, stride: u64, kib: u64) -> f64 {
    let us = match kib {
        0..=200 => 2.0,
        201..=300 => 38.6,
        301..=600 => 203.2,
        _ => 116.5,
    };
    let writes = if access == Access::Read && kib >= 384 { 0.5 } else { 1.0 };
    let strides = if stride == 128 && kib >= 384 { 7.0 } else { 1.0 };
    us * writes * strides * 2000.0
}

#[test]
fn the_papers_own_curves_show_what_the_paper_says() {
    let records = in_silico(|_, access, stride, kib| as_published(access, stride, kib));
    assert_eq!(verdicts(&exhibit(&records, "Figure 1, simulated")), [Some(true); 4]);
    assert_eq!(verdicts(&exhibit(&records, "Figure 2, simulated")), [Some(true); 2]);
}

#[test]
fn a_cache_that_loses_nothing_does_not() {
    let records = in_silico(|_, _, _, _| 2000.0);
    assert_eq!(
        verdicts(&exhibit(&records, "Figure 1, simulated")),
        [Some(true), Some(false), Some(false), Some(false)]
    );
    assert_eq!(verdicts(&exhibit(&records, "Figure 2, simulated")), [Some(true), Some(false)]);
}

#[test]
fn what_depends_on_the_bus_is_not_told() {
    // As published with the fitted bus; with the faster one stores are as cheap as loads, with the slower one four times as dear.
    let records = in_silico(|bus, access, stride, kib| {
        let stores = if access == Access::Read { 1.0 } else { [0.5, 1.0, 2.0][bus] };
        as_published(access, stride, kib) * stores
    });
    let figure_1 = exhibit(&records, "Figure 1, simulated");
    assert_eq!(verdicts(&figure_1)[2], None, "one bus in three is not enough");
    let found = "2.00 with the fitted bus of 2.2 GB/s (1.00 with 3.2 GB/s, 4.00 with 1.7 GB/s)";
    assert_eq!(figure_1.claims[2].found, format!("write {found}; rmw {found} times read"));
    // All beyond what is looked for, on one side of it.
    let records = in_silico(|bus, access, stride, kib| {
        let stores = if access == Access::Read { 1.0 } else { [2.0, 3.0, 4.0][bus] };
        as_published(access, stride, kib) * stores
    });
    assert_eq!(verdicts(&exhibit(&records, "Figure 1, simulated"))[2], Some(false));
}

/// A grid of the pipe with these costs in us by size in KiB for reading; writing costs `writes` times as much.
fn grid(costs: &[(u64, f64)], writes: f64) -> Records {
    let (record, mut findings) = measured();
    findings.results.push(case(Mechanism::Pipe, 0, Access::Rmw, 3800.0));
    for (kib, us) in costs {
        for (access, factor) in [(Access::Read, 1.0), (Access::Write, writes), (Access::Rmw, writes)] {
            findings.results.push(case(Mechanism::Pipe, kib * 1024, access, us * 1e3 * factor));
        }
    }
    let mut records = Records::default();
    records.add_measured(GRID, record, findings);
    records
}

#[test]
fn measured_curves_are_judged_by_their_shape() {
    let last = measured().0.header.host.caches.iter().map(|cache| cache.size_bytes.0 >> 10).max().expect("caches");
    let costs = [(1, 4.2), (8, 5.0), (16, 8.7), (last, 203.2), (2 * last, 100.0)];
    // No knees were looked for in these findings: that claim cannot be told.
    let found = verdicts(&exhibit(&grid(&costs, 2.0), "Figure 1"));
    assert_eq!(found, [Some(true), None, Some(true), Some(true), Some(true)]);
    // What is not clear of 0 is not judged: these costs have intervals of 1 %.
    let lost = [(1, 4.2), (8, 5.0), (16, 8.7), (last, -203.2), (2 * last, -100.0)];
    let found = exhibit(&grid(&lost, 2.0), "Figure 1");
    assert_eq!(verdicts(&found)[4], None);
    let missing = Cell::Missing { why: "not distinguishable from 0".to_owned() };
    assert!(found.table.rows.iter().any(|row| row[2] == missing), "no negative cost is printed");
    let flat = [(1, 4.2), (8, 4.2), (16, 4.2), (last, 4.2), (2 * last, 4.3)];
    let found = verdicts(&exhibit(&grid(&flat, 1.0), "Figure 1"));
    assert_eq!(found, [Some(true), None, Some(false), Some(false), Some(false)]);
    let direct = exhibit(&grid(&costs, 2.0), "section 3.1");
    assert_eq!(verdicts(&direct), [Some(true)]);
    assert_eq!(direct.claims[0].found, "3.80 us");
}
