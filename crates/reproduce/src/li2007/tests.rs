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

/// A simulation of every point, with excess cycles of 0.5 ns as given by access, stride and KiB.
fn in_silico(excess: impl Fn(Access, u64, u64) -> f64) -> Records {
    let (head, findings) = simulated();
    let mut records = Records::default();
    for (access, stride, kib) in points(false) {
        let mut findings = findings.clone();
        findings.designs.truncate(1);
        let design = &mut findings.designs[0];
        design.cycle_ns = Some([0.5, 0.5]);
        design.excess_cycles_per_switch = Some(excess(access, stride, kib));
        // As many lines written back in either hierarchy: the bus adds nothing.
        design.hierarchies.private = design.hierarchies.shared.clone();
        records.add_simulated(&simulated_step(access, stride, kib), head.clone(), findings);
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
    let records = in_silico(as_published);
    assert_eq!(verdicts(&exhibit(&records, "Figure 1, simulated")), [Some(true); 4]);
    assert_eq!(verdicts(&exhibit(&records, "Figure 2, simulated")), [Some(true); 2]);
}

#[test]
fn a_cache_that_loses_nothing_does_not() {
    let records = in_silico(|_, _, _| 2000.0);
    assert_eq!(
        verdicts(&exhibit(&records, "Figure 1, simulated")),
        [Some(true), Some(false), Some(false), Some(false)]
    );
    assert_eq!(verdicts(&exhibit(&records, "Figure 2, simulated")), [Some(true), Some(false)]);
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
