//! Figure 1 of Li et al., simulated: the cost of a switch by the size of the data, for each kind of
//! access.

use super::super::steps::{ACCESSES, SIZES_KIB};
use super::walks::{Points, bytes, points, series};
use crate::exhibit::Cell;
use crate::{Axis, Chart, Exhibit, Outcome, Records, Series, Style};

pub(super) fn exhibit(records: &Records) -> Exhibit {
    let mut exhibit = Exhibit::new(
        "Figure 1, simulated",
        "In the caches of the Xeon of 2007, by access",
        ["size", "read us", "write us", "rmw us"],
    );
    let curves = ACCESSES.map(|access| points(records, access, 8, &SIZES_KIB));
    for kib in SIZES_KIB {
        let cell = |points: &Outcome<Points>| {
            let at = |points: &Points| {
                points
                    .iter()
                    .find(|(k, _)| *k == kib)
                    .map(|(_, ns)| ns / 1e3)
            };
            Cell::or_missing(points.as_ref().ok().and_then(at), 2, "not simulated")
        };
        let mut row: Vec<Cell> = vec![bytes(kib).into()];
        row.extend(curves.iter().map(cell));
        exhibit.row(row);
    }
    exhibit.chart = Some(Chart::new(
        "size of each process's array",
        Axis::Size,
        "simulated cost, without the direct cost",
        Axis::Time,
        lines(&curves),
    ));
    exhibit.add_note("Simulated: the walks alone, without the direct cost (3.8 us in the paper). Page frames are consecutive, so two \
         arrays of 256 KB just fit, and the 38.6 us that the paper measured there do not appear.");
    exhibit.add_note("The ratio of the write to the read cost depends on the bus bandwidth and the memory latency, which were not \
         published.");
    exhibit
}

/// Returns the curves, and the ends of the paper's second region.
fn lines(curves: &[Outcome<Points>; 3]) -> Vec<Series> {
    let mut lines: Vec<Series> = curves
        .iter()
        .zip(ACCESSES)
        .filter_map(|(points, access)| Some(series(&access.to_string(), points.as_ref().ok()?)))
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
