use record::Mechanism;
use workload::Access;

use super::steps::{BUS_CYCLES, GRID, points, simulated_step};
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
    findings.designs = vec![findings.designs[0].clone(); BUS_CYCLES.len()];
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

/// As published, but with these factors by bus: what storing costs, and how much dearer a long stride is.
fn by_bus(stores: [f64; 8], strides: [f64; 8]) -> Records {
    in_silico(move |bus, access, stride, kib| {
        let stores = if access == Access::Read || kib < 384 { 1.0 } else { stores[bus] / 2.0 };
        let strides = if stride == 128 && kib >= 384 { strides[bus] / 7.0 } else { 1.0 };
        as_published(access, stride, kib) * stores * strides
    })
}

#[test]
fn what_depends_on_the_bus_is_decided_by_the_one_that_the_other_figure_leads_to() {
    let stores = [0.5, 0.6, 0.7, 2.1, 2.9, 4.0, 5.0, 6.0];
    let strides = [20.0, 16.0, 12.0, 7.0, 6.0, 5.0, 4.0, 3.5];
    let records = by_bus(stores, strides);
    let (figure_1, figure_2) = (exhibit(&records, "Figure 1, simulated"), exhibit(&records, "Figure 2, simulated"));
    assert_eq!(verdicts(&figure_1)[2], Some(true));
    let found = "2.10 with 2.21 GB/s (0.500 to 6.00 over all buses)";
    assert_eq!(figure_1.claims[2].found, format!("write {found}; rmw {found} times read"));
    assert_eq!(verdicts(&figure_2)[1], Some(true));
    assert!(figure_2.claims[1].found.ends_with("7.00 with 2.21 GB/s (3.50 to 20.0 over all buses) times"));
    let led_to: Vec<_> =
        exhibit(&records, "Figures 1 and 2, by bus").table.rows.iter().map(|row| row[6].clone()).collect();
    assert_eq!(led_to[3], Cell::from("figure 1, figure 2"));
    assert!(led_to.iter().enumerate().all(|(bus, by)| bus == 3 || *by == Cell::from("")));
}

#[test]
fn no_figure_is_tested_with_the_bus_that_it_leads_to_itself() {
    // Storing costs twice loading with the fourth bus, a long stride seven times a short one with the seventh.
    let stores = [0.5, 0.6, 0.7, 2.0, 3.5, 4.0, 5.0, 6.0];
    let strides = [40.0, 30.0, 25.0, 20.0, 16.0, 10.0, 7.0, 4.0];
    let records = by_bus(stores, strides);
    assert_eq!(verdicts(&exhibit(&records, "Figure 1, simulated"))[2], Some(false));
    assert_eq!(verdicts(&exhibit(&records, "Figure 2, simulated"))[1], Some(false));
}

#[test]
fn what_no_bus_leads_to_is_not_told() {
    let stores = [0.5, 0.6, 0.7, 2.0, 3.5, 4.0, 5.0, 6.0];
    let figure_1 = exhibit(&by_bus(stores, [1.0; 8]), "Figure 1, simulated");
    let Shape::NotShown(why) = &figure_1.claims[2].shape else { panic!("{:?}", figure_1.claims[2]) };
    assert_eq!(why, "it depends on the bus, and the other figure leads to none: 1.00 there at best");
    assert_eq!(figure_1.claims[2].found.matches("over all buses").count(), 2);
    // All on one side of what is looked for: no bus is needed to tell.
    let figure_1 = exhibit(&by_bus([4.0; 8], [1.0; 8]), "Figure 1, simulated");
    assert_eq!(verdicts(&figure_1)[2], Some(false));
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
