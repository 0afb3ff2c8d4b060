//! Figure 1 of Li et al., simulated: the cost of a switch by the size of the data, for each kind of
//! access.

use switchcost_workload::Access;

use super::super::steps::{ACCESSES, BUS_CYCLES, SIZES_KIB};
use super::walks::{DRAWN, Points, bandwidth, bytes, points, series};
use crate::exhibit::Cell;
use crate::{Axis, Chart, Exhibit, Records, Series, Style, Table};

pub(super) fn exhibit(records: &Records) -> Exhibit {
    let mut exhibit = Exhibit::new(
        "Figure 1, simulated",
        "In the caches of the Xeon of 2007, by access",
    );
    let buses = [0, DRAWN, BUS_CYCLES.len() - 1];
    let curves = buses.map(|bus| {
        (
            bus,
            ACCESSES.map(|access| points(records, bus, access, 8, &SIZES_KIB)),
        )
    });
    exhibit.table = table(&curves);
    exhibit.chart = Some(Chart::new(
        "size of each process's array",
        Axis::Size,
        "simulated cost, without the direct cost",
        Axis::Time,
        lines(&curves),
    ));
    exhibit.notes.push(
        "Simulated: the walks alone, without the direct cost (3.8 us in the paper). Page frames are consecutive, so two \
         arrays of 256 KB just fit, and the 38.6 us that the paper measured there do not appear."
            .into(),
    );
    exhibit.notes.push(
        "The ratio of the write to the read cost depends on the bus bandwidth and the memory latency, which were not \
         published."
            .into(),
    );
    exhibit
}

fn table(curves: &[(usize, [Result<Points, String>; 3]); 3]) -> Table {
    let mut heads = vec!["size".to_owned()];
    let all = || {
        curves.iter().flat_map(|(bus, of)| {
            of.iter()
                .zip(ACCESSES)
                .map(|(points, access)| (*bus, points, access))
        })
    };
    heads.extend(all().map(|(bus, _, access)| format!("{access} us, {}", bandwidth(bus))));
    let mut table = Table::new(&heads.iter().map(String::as_str).collect::<Vec<_>>());
    for kib in SIZES_KIB {
        let cell = |points: &Result<Points, String>| {
            let at = |points: &Points| {
                points
                    .iter()
                    .find(|(k, _)| *k == kib)
                    .map(|(_, ns)| ns / 1e3)
            };
            Cell::or_missing(points.as_ref().ok().and_then(at), 2, "not simulated")
        };
        let mut row: Vec<Cell> = vec![bytes(kib).into()];
        row.extend(all().map(|(_, points, _)| cell(points)));
        table.row(row);
    }
    table
}

/// Returns the curves: all kinds of access with the usual bus, read-modify-writes with the other
/// buses, and the ends of the paper's second region.
fn lines(curves: &[(usize, [Result<Points, String>; 3]); 3]) -> Vec<Series> {
    let mut lines: Vec<Series> = curves
        .iter()
        .flat_map(|(bus, of)| {
            of.iter()
                .zip(ACCESSES)
                .map(|(points, access)| (*bus, points, access))
        })
        .filter(|(bus, _, access)| *bus == DRAWN || *access == Access::Rmw)
        .filter_map(|(bus, points, access)| {
            Some(series(
                &format!("{access}, {}", bandwidth(bus)),
                points.as_ref().ok()?,
            ))
        })
        .filter(|line| !line.x.is_empty())
        .collect();
    let ends = [(256.0 * 1024.0, 38_600.0), (512.0 * 1024.0, 203_200.0)];
    lines.push(Series::new(
        "all accesses, published",
        Style::Published,
        ends,
    ));
    lines
}
