//! Figures 1 and 2 once more, with the same walks in the caches of the paper's machine.
//!
//! The cost of a switch is what the shared caches take longer than private ones: the walks of two processes that take
//! turns, less the same walks of each alone, which is what the paper's baseline is.

use record::HierarchyCounts;
use units::Bytes;
use workload::Access;

use super::steps::{ACCESSES, SIZES_KIB, STRIDE_SIZES_KIB, STRIDES, simulated_step};
use crate::exhibit::Cell;
use crate::text::{microseconds, number};
use crate::{Axis, Chart, Claim, Exhibit, Records, Series, Shape, Style, Table};

/// Nanoseconds a switch by size in KiB.
type Points = Vec<(u64, f64)>;

pub(super) fn exhibits(records: &Records) -> Vec<Exhibit> {
    vec![figure_1(records), figure_2(records)]
}

/// Excess cycles of the shared hierarchy a switch, in nanoseconds of the paper's 2 GHz.
fn cost(records: &Records, access: Access, stride: u64, kib: u64) -> Result<f64, String> {
    let (_, findings) = records.simulated(&simulated_step(access, stride, kib))?;
    let design = findings.designs.first().ok_or("the record has no design")?;
    let cycles = design.excess_cycles_per_switch.ok_or("the record has no switches")?;
    let [cycle_ns, _] = design.cycle_ns.ok_or("the design does not say how long a cycle is")?;
    Ok(cycles * cycle_ns)
}

/// The same where each line that is written back takes the bus as long as one that is fetched, and the processor waits.
fn cost_with_bus(records: &Records, access: Access, stride: u64, kib: u64) -> Result<f64, String> {
    let (head, findings) = records.simulated(&simulated_step(access, stride, kib))?;
    let finding = findings.designs.first().ok_or("the record has no design")?;
    let design = &head.designs.first().ok_or("the record has no design")?.design;
    let last = design.levels.last().ok_or("the design has no level")?;
    let [cycle_ns, _] = finding.cycle_ns.ok_or("the design does not say how long a cycle is")?;
    let written = |counts: &HierarchyCounts| counts.levels.last().map_or(0, |level| level.write_backs) as f64;
    let more = written(&finding.hierarchies.shared) - written(&finding.hierarchies.private);
    let switches = (head.trace.voluntary_switches + head.trace.involuntary_switches).max(1) as f64;
    Ok(cost(records, access, stride, kib)? + more / switches * f64::from(last.miss_cycles) * cycle_ns)
}

/// The sizes that were simulated; why not, where none was.
fn points(records: &Records, access: Access, stride: u64, kibs: &[u64]) -> Result<Points, String> {
    let found: Vec<_> = kibs.iter().map(|kib| (*kib, cost(records, access, stride, *kib))).collect();
    whole(found)
}

fn points_with_bus(records: &Records, access: Access) -> Result<Points, String> {
    whole(SIZES_KIB.iter().map(|kib| (*kib, cost_with_bus(records, access, 8, *kib))).collect())
}

fn whole(found: Vec<(u64, Result<f64, String>)>) -> Result<Points, String> {
    let why = found.iter().find_map(|(_, cost)| cost.clone().err()).unwrap_or_default();
    let points: Points = found.into_iter().filter_map(|(kib, cost)| Some((kib, cost.ok()?))).collect();
    if points.is_empty() { Err(why) } else { Ok(points) }
}

fn bytes(kib: u64) -> String {
    Bytes::kib(kib).to_string()
}

fn series(name: &str, points: &Points) -> Series {
    let above = points.iter().filter(|(_, ns)| *ns > 0.0);
    Series::new(name, Style::Found, above.map(|(kib, ns)| ((kib * 1024) as f64, *ns)))
}

fn figure_1(records: &Records) -> Exhibit {
    let mut exhibit =
        Exhibit::new("Figure 1, simulated", "The same walks in the caches of the Xeon of 2007, by access");
    let mut table =
        Table::new(&["size", "read us", "write us", "rmw us", "write us, with the bus", "rmw us, with the bus"]);
    let by_access = ACCESSES.map(|access| points(records, access, 8, &SIZES_KIB));
    let with_bus = [Access::Write, Access::Rmw].map(|access| points_with_bus(records, access));
    for kib in SIZES_KIB {
        let cell = |points: &Result<Points, String>| {
            let at = |points: &Points| points.iter().find(|(k, _)| *k == kib).map(|(_, ns)| ns / 1e3);
            Cell::or_missing(points.as_ref().ok().and_then(at), 2, "not simulated")
        };
        let mut row: Vec<Cell> = vec![bytes(kib).into()];
        row.extend(by_access.iter().chain(&with_bus).map(cell));
        table.row(row);
    }
    exhibit.table = table;
    let mut lines: Vec<Series> = by_access
        .iter()
        .zip(ACCESSES)
        .filter_map(|(points, access)| Some(series(&access.to_string(), points.as_ref().ok()?)))
        .filter(|line| !line.x.is_empty())
        .collect();
    lines.extend(with_bus[1].as_ref().ok().map(|points| series("rmw, with the bus", points)));
    lines.push(Series::new(
        "rmw, published",
        Style::Published,
        [(256.0 * 1024.0, 38_600.0), (512.0 * 1024.0, 203_200.0)],
    ));
    exhibit.chart =
        Some(Chart::new("size of each process's array", Axis::Size, "simulated cost of a switch", Axis::Time, lines));
    let [read, _, rmw] = by_access;
    let [write_bus, rmw_bus] = with_bus;
    exhibit.claims = vec![small(&rmw), middle(&rmw), twice(&read, &write_bus, &rmw_bus), large(&rmw)];
    exhibit.notes.push(
        "With the bus: the simulator lets lines be written back while nothing waits. In these columns each one adds the time \
         of a fetch, as on a bus that carries both and is never idle."
            .into(),
    );
    exhibit.notes.push(
        "Simulated: the walks' addresses without the kernel's, cycles without overlap; the direct cost (3.8 us in the \
         paper) is not in it. The design file says what is published of the machine and what is assumed."
            .into(),
    );
    exhibit
}

fn within(points: &Result<Points, String>, from: u64, to: u64) -> Result<Points, String> {
    let inside: Points = points.clone()?.into_iter().filter(|(kib, _)| (from..=to).contains(kib)).collect();
    if inside.is_empty() { Err(format!("no size from {from} to {to} KiB was simulated")) } else { Ok(inside) }
}

fn range(points: &Points) -> (f64, f64) {
    let costs = points.iter().map(|(_, ns)| *ns);
    (costs.clone().fold(f64::INFINITY, f64::min), costs.fold(f64::NEG_INFINITY, f64::max))
}

fn small(rmw: &Result<Points, String>) -> Claim {
    let outcome = within(rmw, 1, 200).map(|points| {
        let (low, high) = range(&points);
        let found = format!("{} to {} beside the direct cost", microseconds(low), microseconds(high));
        let why = "two arrays of this size lose lines to each other in a cache whose pages lie at random";
        // 8.7 us at most, of which 3.8 are direct.
        (found, Shape::of(high < 2.0 * (8700.0 - 3800.0), why))
    });
    Claim::decided(
        "Region 1, 1 to 200 KB: little is lost (at most 4.9 us beside the direct cost in the paper; here twice that is allowed)",
        outcome,
    )
}

fn middle(rmw: &Result<Points, String>) -> Claim {
    let outcome = within(rmw, 256, 512).and_then(|points| {
        let (small, most) = (range(&within(rmw, 1, 128)?).1, range(&points).1);
        let found = format!("at most {}, and {} up to 128 KB", microseconds(most), microseconds(small));
        let holds = most > 10.0 * small && (38_600.0..2.0 * 203_200.0).contains(&most);
        Ok((found, Shape::of(holds, "the loss does not grow with what no longer fits")))
    });
    Claim::decided(
        "Region 2, 256 to 512 KB: a steep rise, to tens and hundreds of microseconds (38.6 to 203.2 us in the paper)",
        outcome,
    )
}

fn twice(read: &Result<Points, String>, write: &Result<Points, String>, rmw: &Result<Points, String>) -> Claim {
    let outcome = within(read, 384, 512).and_then(|read| {
        let mean = |points: &Points| points.iter().map(|(_, ns)| *ns).sum::<f64>() / points.len() as f64;
        let (write, rmw) = (mean(&within(write, 384, 512)?), mean(&within(rmw, 384, 512)?));
        let read = mean(&read);
        let found = format!("write {}, rmw {} times read from 384 to 512 KB", number(write / read), number(rmw / read));
        let why = "fewer lines are written back than fetched";
        let holds = (1.5..3.0).contains(&(write / read)) && (1.5..3.0).contains(&(rmw / read));
        Ok((found, Shape::of(holds, why)))
    });
    Claim::decided(
        "From 384 KB on, writing costs about twice as much as reading, where lines written back take the bus as long as fetches",
        outcome,
    )
}

fn large(rmw: &Result<Points, String>) -> Claim {
    let outcome = within(rmw, 512, 1024).and_then(|points| {
        if points.len() < 2 {
            return Err("one size alone was simulated".to_owned());
        }
        let list: Vec<String> =
            points.iter().map(|(kib, ns)| format!("{} at {}", microseconds(*ns), bytes(*kib))).collect();
        let falls = points.windows(2).any(|pair| pair[1].1 < pair[0].1);
        Ok((list.join(", "), Shape::of(falls, "what is missed anyway is no longer lost: but more is lost still")))
    });
    Claim::decided(
        "Region 3, above 512 KB: not monotone, since an array that does not fit is missed without switches, too",
        outcome,
    )
}

fn figure_2(records: &Records) -> Exhibit {
    let mut exhibit =
        Exhibit::new("Figure 2, simulated", "The same walks in the caches of the Xeon of 2007, by stride");
    let mut table = Table::new(&["size", "stride B", "rmw us"]);
    let mut lines = Vec::new();
    for kib in STRIDE_SIZES_KIB {
        let mut line = Vec::new();
        for stride in STRIDES {
            let found = cost(records, Access::Rmw, stride, kib);
            let missing = found.clone().err().unwrap_or_default();
            table.row(vec![
                bytes(kib).into(),
                Cell::number(stride as f64, 0),
                Cell::or_missing(found.clone().ok().map(|ns| ns / 1e3), 2, &missing),
            ]);
            line.extend(found.ok().filter(|ns| *ns > 0.0).map(|ns| (stride as f64, ns)));
        }
        if !line.is_empty() {
            lines.push(Series::new(bytes(kib), Style::Found, line));
        }
    }
    exhibit.table = table;
    let published = |name: &str, ns: [f64; 2]| Series::new(name, Style::Published, [(8.0, ns[0]), (128.0, ns[1])]);
    // Means over the arrays that do not fit, from the paper's text.
    lines.push(published("mean of arrays that do not fit, published", [116_500.0, 825_300.0]));
    exhibit.chart = Some(Chart::new("stride", Axis::Size, "simulated cost of a switch", Axis::Time, lines));
    let ratio = |kibs: &[u64]| -> Result<(f64, f64), String> {
        let mean = |stride| -> Result<f64, String> {
            let points = points(records, Access::Rmw, stride, kibs)?;
            Ok(points.iter().map(|(_, ns)| *ns).sum::<f64>() / points.len() as f64)
        };
        Ok((mean(8)?, mean(128)?))
    };
    let text = |(near, far): (f64, f64)| {
        format!("{} at 8 B, {} at 128 B: {} times", microseconds(near), microseconds(far), number(far / near))
    };
    let small = ratio(&STRIDE_SIZES_KIB[..2]).map(|pair| {
        let why = "few lines are lost, and their number depends on chance more than on the stride";
        (text(pair), Shape::of((pair.1 - pair.0).abs() < 5000.0, why))
    });
    let large = ratio(&STRIDE_SIZES_KIB[3..]).map(|pair| {
        let why = "the design has no prefetcher, which hides the fetches of short strides; and the paper's mean of 825 us is \
                   more than fetching every line of its second level once (some 420 us), which is all that a switch can lose here";
        (text(pair), Shape::of((3.0..15.0).contains(&(pair.1 / pair.0)), why))
    });
    exhibit.claims = vec![
        Claim::decided("Arrays of 32 and 128 KB: the stride hardly matters (by less than 5 us)", small),
        Claim::decided(
            "Arrays that do not fit: a stride of 128 B costs about 7 times as much as one of 8 B (3 to 15 are taken)",
            large,
        ),
    ];
    exhibit
}
