//! The cost of a switch over the size of the data, by access.

use workload::Access;

use super::super::steps::{ACCESSES, BUS_CYCLES, SIZES_KIB};
use super::buses::{Fitted, Outcome, judged, name, of_figure_2, over_reading, shown, told};
use super::walks::{ByBus, Points, by_bus, bytes, most, points, series, within};
use crate::exhibit::Cell;
use crate::text::{microseconds, number};
use crate::{Axis, Chart, Claim, Exhibit, Records, Series, Shape, Style, Table};

pub(super) fn exhibit(records: &Records) -> Exhibit {
    let fitted = of_figure_2(records);
    let mut exhibit =
        Exhibit::new("Figure 1, simulated", "The same walks in the caches of the Xeon of 2007, by access");
    let buses = [0, shown(&fitted), BUS_CYCLES.len() - 1];
    let curves = buses.map(|bus| (bus, ACCESSES.map(|access| points(records, bus, access, 8, &SIZES_KIB))));
    exhibit.table = table(&curves);
    exhibit.chart = Some(Chart::new(
        "size of each process's array",
        Axis::Size,
        "simulated cost of a switch",
        Axis::Time,
        lines(&curves, shown(&fitted)),
    ));
    exhibit.claims = vec![
        Claim::decided(
            "Region 1, 1 to 200 KB: little is lost (at most 4.9 us beside the direct cost in the paper)",
            small(records, &fitted),
        ),
        Claim::decided(
            "Region 2, 256 to 512 KB: a steep rise, to tens and hundreds of microseconds (38.6 to 203.2 us in the paper)",
            middle(records, &fitted),
        ),
        Claim::decided(
            "From 384 KB on, writing costs about twice as much as reading (1.5 to 3 are taken)",
            twice(records, &fitted),
        ),
        Claim::decided(
            "Region 3, above 512 KB: not monotone, since an array that does not fit is missed without switches, too",
            large(records, &fitted),
        ),
    ];
    exhibit.notes.push(
        "Simulated: the walks' addresses without the kernel's and the stack's, one cycle an instruction, 13 instructions an \
         element; the direct cost (3.8 us in the paper) is not in it. Frames lie in a row, so that two arrays of 256 KB just fit: \
         what the paper lost there (38.6 us) is not lost here. The design file says what is published of the machine \
         and what is assumed."
            .into(),
    );
    exhibit.notes.push(
        "Lines that are fetched, prefetched and written back take the bus one after the other. What a stream of reads takes \
         is hidden behind the loop but for the first lines of each page; written lines take the bus twice as long. So what \
         writing costs against reading depends on the bus, and on how long memory takes: see the table by bus, and \
         the method's page for other latencies."
            .into(),
    );
    exhibit
}

fn table(curves: &[(usize, [Result<Points, String>; 3]); 3]) -> Table {
    let mut heads = vec!["size".to_owned()];
    let all =
        || curves.iter().flat_map(|(bus, of)| of.iter().zip(ACCESSES).map(|(points, access)| (*bus, points, access)));
    heads.extend(all().map(|(bus, _, access)| format!("{access} us, {}", name(bus))));
    let mut table = Table::new(&heads.iter().map(String::as_str).collect::<Vec<_>>());
    for kib in SIZES_KIB {
        let cell = |points: &Result<Points, String>| {
            let at = |points: &Points| points.iter().find(|(k, _)| *k == kib).map(|(_, ns)| ns / 1e3);
            Cell::or_missing(points.as_ref().ok().and_then(at), 2, "not simulated")
        };
        let mut row: Vec<Cell> = vec![bytes(kib).into()];
        row.extend(all().map(|(_, points, _)| cell(points)));
        table.row(row);
    }
    table
}

/// All accesses with one bus, reading and writing with the others, and the ends of the paper's second region.
fn lines(curves: &[(usize, [Result<Points, String>; 3]); 3], shown: usize) -> Vec<Series> {
    let mut lines: Vec<Series> = curves
        .iter()
        .flat_map(|(bus, of)| of.iter().zip(ACCESSES).map(|(points, access)| (*bus, points, access)))
        .filter(|(bus, _, access)| *bus == shown || *access == Access::Rmw)
        .filter_map(|(bus, points, access)| Some(series(&format!("{access}, {}", name(bus)), points.as_ref().ok()?)))
        .filter(|line| !line.x.is_empty())
        .collect();
    let ends = [(256.0 * 1024.0, 38_600.0), (512.0 * 1024.0, 203_200.0)];
    lines.push(Series::new("rmw, published", Style::Published, ends));
    lines
}

/// Reading and writing over the sizes from one to another, with each bus.
fn rmw(records: &Records, from: u64, to: u64) -> Result<ByBus<Points>, String> {
    by_bus(|bus| within(&points(records, bus, Access::Rmw, 8, &SIZES_KIB)?, from, to))
}

fn small(records: &Records, fitted: &Fitted) -> Outcome {
    let most = rmw(records, 1, 200)?.each_ref().map(most);
    let why = "two arrays of this size lose lines to each other";
    // 8.7 us at most, of which 3.8 are direct.
    let shape = judged(&most, &(f64::NEG_INFINITY..8700.0 - 3800.0), fitted, why);
    Ok((format!("at most {}", told(&most, fitted, microseconds)), shape))
}

fn middle(records: &Records, fitted: &Fitted) -> Outcome {
    let highest = rmw(records, 256, 512)?.each_ref().map(most);
    let before = rmw(records, 1, 128)?.each_ref().map(most);
    let found = format!(
        "at most {}; {} up to 128 KB",
        told(&highest, fitted, microseconds),
        microseconds(before[shown(fitted)])
    );
    if highest.iter().zip(before).any(|(highest, before)| *highest <= 10.0 * before) {
        return Ok((found, Shape::Differs("the loss does not grow with what no longer fits".to_owned())));
    }
    let why = "less is lost than the machine took: its memory was slower, or its prefetcher began later";
    Ok((found, judged(&highest, &(38_600.0..2.0 * 203_200.0), fitted, why)))
}

fn twice(records: &Records, fitted: &Fitted) -> Outcome {
    let [write, rmw] = [over_reading(records, Access::Write)?, over_reading(records, Access::Rmw)?];
    let found = format!("write {}; rmw {} times read", told(&write, fitted, number), told(&rmw, fitted, number));
    let why = "lines written back take the bus for more or less time than the loop leaves";
    let [write, rmw] = [write, rmw].map(|times| judged(&times, &(1.5..3.0), fitted, why));
    Ok((found, if write == Shape::Holds { rmw } else { write }))
}

fn large(records: &Records, fitted: &Fitted) -> Outcome {
    let all = rmw(records, 512, 1024)?;
    let points = &all[shown(fitted)];
    if points.len() < 2 {
        return Err("one size alone was simulated".to_owned());
    }
    let list: Vec<String> =
        points.iter().map(|(kib, ns)| format!("{} at {}", microseconds(*ns), bytes(*kib))).collect();
    let falls = |points: &Points| points.windows(2).any(|pair| pair[1].1 < pair[0].1);
    let why = "what is missed anyway is no longer lost: but more is lost still";
    Ok((format!("{} with {}", list.join(", "), name(shown(fitted))), Shape::of(all.iter().all(falls), why)))
}
