//! Figures 1 and 2 once more, with the same walks in the caches of the paper's machine.
//!
//! The cost of a switch is what the shared caches take longer than private ones: the walks of two processes that take
//! turns, less the same walks of each alone, which is what the paper's baseline is. What its memory sustained is not
//! published: each point is simulated with the fastest and the slowest bus that the machine can have had, and with one between
//! them that is fitted to one of the paper's figures. A claim holds where it does with all three: the fitted one shows what
//! one bus can do at once, and decides nothing.

use std::ops::Range;

use units::Bytes;
use workload::Access;

use super::steps::{ACCESSES, SIZES_KIB, STRIDE_SIZES_KIB, STRIDES, simulated_step};
use crate::exhibit::Cell;
use crate::text::{microseconds, number};
use crate::{Axis, Chart, Claim, Exhibit, Records, Series, Shape, Style, Table};

/// Nanoseconds a switch by size in KiB.
type Points = Vec<(u64, f64)>;

/// What is told of a claim.
type Outcome = Result<(String, Shape), String>;

/// The buses, in the order of the designs of each step.
const BUSES: [&str; 3] = ["3.2 GB/s", "2.2 GB/s", "1.7 GB/s"];

/// The one with which reading and writing costs twice reading from 384 to 512 KB, as the paper has it.
const FITTED: usize = 1;

const NOT_PUBLISHED: &str = "it depends on the bus: what the machine's memory sustained is not published";

pub(super) fn exhibits(records: &Records) -> Vec<Exhibit> {
    vec![figure_1(records), figure_2(records)]
}

/// Excess cycles of the shared hierarchy a switch with one of the buses, in nanoseconds of the paper's 2 GHz.
fn cost(records: &Records, bus: usize, access: Access, stride: u64, kib: u64) -> Result<f64, String> {
    let (_, findings) = records.simulated(&simulated_step(access, stride, kib))?;
    let design = findings.designs.get(bus).ok_or("the record has no design with this bus")?;
    let cycles = design.excess_cycles_per_switch.ok_or("the record has no switches")?;
    let [cycle_ns, _] = design.cycle_ns.ok_or("the design does not say how long a cycle is")?;
    Ok(cycles * cycle_ns)
}

/// The sizes that were simulated; why not, where none was.
fn points(records: &Records, bus: usize, access: Access, stride: u64, kibs: &[u64]) -> Result<Points, String> {
    let found: Vec<_> = kibs.iter().map(|kib| (*kib, cost(records, bus, access, stride, *kib))).collect();
    let why = found.iter().find_map(|(_, cost)| cost.clone().err()).unwrap_or_default();
    let points: Points = found.into_iter().filter_map(|(kib, cost)| Some((kib, cost.ok()?))).collect();
    if points.is_empty() { Err(why) } else { Ok(points) }
}

/// One number for each bus, the fitted one first.
fn with_each(numbers: [f64; 3], show: impl Fn(f64) -> String) -> String {
    let [fast, fitted, slow] = numbers.map(show);
    format!("{fitted} with the fitted bus of {} ({fast} with {}, {slow} with {})", BUSES[1], BUSES[0], BUSES[2])
}

/// Whether all numbers lie where they should; neither is said where some do not, or what is looked for lies between.
fn in_all(numbers: [f64; 3], wanted: &Range<f64>, why_not: &str) -> Shape {
    if numbers.iter().all(|number| wanted.contains(number)) {
        Shape::Holds
    } else if numbers.iter().all(|number| *number < wanted.start) || numbers.iter().all(|number| *number >= wanted.end)
    {
        Shape::Differs(why_not.to_owned())
    } else {
        Shape::NotShown(NOT_PUBLISHED.to_owned())
    }
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
    let curves = [0, 1, 2].map(|bus| ACCESSES.map(|access| points(records, bus, access, 8, &SIZES_KIB)));
    let all =
        || curves.iter().zip(BUSES).flat_map(|(curves, bus)| curves.iter().zip(ACCESSES).map(move |of| (bus, of)));
    let mut heads = vec!["size".to_owned()];
    heads.extend(all().map(|(bus, (_, access))| format!("{access} us, {bus}")));
    let mut table = Table::new(&heads.iter().map(String::as_str).collect::<Vec<_>>());
    for kib in SIZES_KIB {
        let cell = |points: &Result<Points, String>| {
            let at = |points: &Points| points.iter().find(|(k, _)| *k == kib).map(|(_, ns)| ns / 1e3);
            Cell::or_missing(points.as_ref().ok().and_then(at), 2, "not simulated")
        };
        let mut row: Vec<Cell> = vec![bytes(kib).into()];
        row.extend(curves.iter().flatten().map(cell));
        table.row(row);
    }
    exhibit.table = table;
    let is_drawn = |bus: &str, access: Access| bus == BUSES[FITTED] || access == Access::Rmw;
    let mut lines: Vec<Series> = all()
        .filter(|(bus, (_, access))| is_drawn(bus, *access))
        .filter_map(|(bus, (points, access))| Some(series(&format!("{access}, {bus}"), points.as_ref().ok()?)))
        .filter(|line| !line.x.is_empty())
        .collect();
    lines.push(Series::new(
        "rmw, published",
        Style::Published,
        [(256.0 * 1024.0, 38_600.0), (512.0 * 1024.0, 203_200.0)],
    ));
    exhibit.chart =
        Some(Chart::new("size of each process's array", Axis::Size, "simulated cost of a switch", Axis::Time, lines));
    let [read, write, rmw] = [0, 1, 2].map(|access| [&curves[0][access], &curves[1][access], &curves[2][access]]);
    exhibit.claims = vec![
        Claim::decided(
            "Region 1, 1 to 200 KB: little is lost (at most 4.9 us beside the direct cost in the paper)",
            small(rmw),
        ),
        Claim::decided(
            "Region 2, 256 to 512 KB: a steep rise, to tens and hundreds of microseconds (38.6 to 203.2 us in the paper)",
            middle(rmw),
        ),
        Claim::decided(
            "From 384 KB on, writing costs about twice as much as reading (1.5 to 3 are taken; the fitted bus is fitted to this)",
            twice(read, write, rmw),
        ),
        Claim::decided(
            "Region 3, above 512 KB: not monotone, since an array that does not fit is missed without switches, too",
            large(rmw),
        ),
    ];
    exhibit.notes.push(
        "Simulated with three buses. Lines that are fetched, prefetched and written back take the bus one after the other: for \
         80 cycles each at its peak of 3.2 GB/s, for 152 at 1.7 GB/s, the slowest that the paper's own times allow, and for 117 \
         at 2.2 GB/s, where rmw costs twice reading from 384 to 512 KB, as in the paper. A claim holds where it does with all \
         three. Where a stream of reads takes the bus for less time than the loop \
         needs for a line, it costs next to nothing beyond the first lines of each page; written lines take it twice as long. \
         So what writing costs against reading depends on which side of the bus the loop is."
            .into(),
    );
    exhibit.notes.push(
        "Simulated: the walks' addresses without the kernel's and the stack's, one cycle an instruction, 13 instructions an \
         element; the direct cost (3.8 us in the paper) is not in it. Frames lie in a row, so that two arrays of 256 KB just fit: \
         what the paper lost there (38.6 us) is not lost here. The design file says what is published of the machine \
         and what is assumed."
            .into(),
    );
    exhibit
}

/// The curves of one access, with each bus.
type Curves<'a> = [&'a Result<Points, String>; 3];

fn within(points: &Result<Points, String>, from: u64, to: u64) -> Result<Points, String> {
    let inside: Points = points.clone()?.into_iter().filter(|(kib, _)| (from..=to).contains(kib)).collect();
    if inside.is_empty() { Err(format!("no size from {from} to {to} KiB was simulated")) } else { Ok(inside) }
}

/// One number of each curve.
fn of_each(
    curves: Curves<'_>,
    one: impl Fn(&Result<Points, String>) -> Result<f64, String>,
) -> Result<[f64; 3], String> {
    Ok([one(curves[0])?, one(curves[1])?, one(curves[2])?])
}

fn most(points: &Points) -> f64 {
    points.iter().map(|(_, ns)| *ns).fold(f64::NEG_INFINITY, f64::max)
}

fn mean(points: &Points) -> f64 {
    points.iter().map(|(_, ns)| *ns).sum::<f64>() / points.len() as f64
}

fn small(rmw: Curves<'_>) -> Outcome {
    let most = of_each(rmw, |points| Ok(most(&within(points, 1, 200)?)))?;
    let why = "two arrays of this size lose lines to each other";
    // 8.7 us at most, of which 3.8 are direct.
    let shape = in_all(most, &(f64::NEG_INFINITY..8700.0 - 3800.0), why);
    Ok((format!("at most {}", with_each(most, microseconds)), shape))
}

fn middle(rmw: Curves<'_>) -> Outcome {
    let highest = of_each(rmw, |points| Ok(most(&within(points, 256, 512)?)))?;
    let before = of_each(rmw, |points| Ok(most(&within(points, 1, 128)?)))?;
    let found = format!("at most {}; {} up to 128 KB", with_each(highest, microseconds), microseconds(before[FITTED]));
    if highest.iter().zip(before).any(|(highest, before)| *highest <= 10.0 * before) {
        return Ok((found, Shape::Differs("the loss does not grow with what no longer fits".to_owned())));
    }
    let why = "less is lost than the machine took: its memory was slower, or its prefetcher began later";
    Ok((found, in_all(highest, &(38_600.0..2.0 * 203_200.0), why)))
}

fn twice(read: Curves<'_>, write: Curves<'_>, rmw: Curves<'_>) -> Outcome {
    let of = |curves| of_each(curves, |points| Ok(mean(&within(points, 384, 512)?)));
    let (read, write, rmw) = (of(read)?, of(write)?, of(rmw)?);
    let ratios = |stores: [f64; 3]| [0, 1, 2].map(|bus| stores[bus] / read[bus]);
    let (write, rmw) = (ratios(write), ratios(rmw));
    let found = format!("write {}; rmw {} times read", with_each(write, number), with_each(rmw, number));
    let why = "lines written back take the bus for more or less time than the loop leaves";
    let wanted = 1.5..3.0;
    let shapes = [in_all(write, &wanted, why), in_all(rmw, &wanted, why)];
    let rank = |shape: &Shape| match shape {
        Shape::Holds => 0,
        Shape::NotShown(_) => 1,
        Shape::Differs(_) => 2,
    };
    let [write, rmw] = shapes;
    Ok((found, if rank(&write) > rank(&rmw) { write } else { rmw }))
}

fn large(rmw: Curves<'_>) -> Outcome {
    let [fast, fitted, slow] = rmw.map(|points| within(points, 512, 1024));
    let all = [fast?, fitted?, slow?];
    let points = &all[FITTED];
    if points.len() < 2 {
        return Err("one size alone was simulated".to_owned());
    }
    let list: Vec<String> =
        points.iter().map(|(kib, ns)| format!("{} at {}", microseconds(*ns), bytes(*kib))).collect();
    let falls = |points: &Points| points.windows(2).any(|pair| pair[1].1 < pair[0].1);
    let why = "what is missed anyway is no longer lost: but more is lost still";
    Ok((format!("{} with the fitted bus", list.join(", ")), Shape::of(all.iter().all(falls), why)))
}

fn figure_2(records: &Records) -> Exhibit {
    let mut exhibit =
        Exhibit::new("Figure 2, simulated", "The same walks in the caches of the Xeon of 2007, by stride");
    let heads = BUSES.map(|bus| format!("rmw us, {bus}"));
    let mut table = Table::new(&["size", "stride B", &heads[0], &heads[1], &heads[2]]);
    for kib in STRIDE_SIZES_KIB {
        for stride in STRIDES {
            let cell = |bus| {
                let found = cost(records, bus, Access::Rmw, stride, kib);
                let missing = found.clone().err().unwrap_or_default();
                Cell::or_missing(found.ok().map(|ns| ns / 1e3), 2, &missing)
            };
            table.row(vec![bytes(kib).into(), Cell::number(stride as f64, 0), cell(0), cell(1), cell(2)]);
        }
    }
    exhibit.table = table;
    let mut lines: Vec<Series> = STRIDE_SIZES_KIB.iter().filter_map(|kib| by_stride(records, *kib)).collect();
    let published = |name: &str, ns: [f64; 2]| Series::new(name, Style::Published, [(8.0, ns[0]), (128.0, ns[1])]);
    // Means over the arrays that do not fit, from the paper's text.
    lines.push(published("mean of arrays that do not fit, published", [116_500.0, 825_300.0]));
    exhibit.chart = Some(Chart::new("stride", Axis::Size, "simulated cost of a switch", Axis::Time, lines));
    exhibit.claims = vec![
        Claim::decided(
            "Arrays of 32 and 128 KB: the stride hardly matters (by less than 5 us)",
            small_strides(records),
        ),
        Claim::decided(
            "Arrays that do not fit: a stride of 128 B costs about 7 times as much as one of 8 B (3 to 15 are taken)",
            large_strides(records),
        ),
    ];
    exhibit.notes.push(
        "A stream of lines is prefetched at either stride. At 8 B the loop needs 16 turns for a line, in which the next ones \
         arrive; at 128 B it asks for a new line each turn, and waits for memory and bus. The paper's mean of 825 us is more \
         than a switch can lose here: 512 KiB fetched and as much written back over the slower bus are 620 us."
            .into(),
    );
    exhibit
}

/// The cost over the stride with the fitted bus.
fn by_stride(records: &Records, kib: u64) -> Option<Series> {
    let at = |stride: u64| Some((stride as f64, cost(records, FITTED, Access::Rmw, stride, kib).ok()?));
    let points: Vec<_> = STRIDES.into_iter().filter_map(at).filter(|(_, ns)| *ns > 0.0).collect();
    (!points.is_empty()).then(|| Series::new(bytes(kib), Style::Found, points))
}

/// The mean at the shortest and at the longest stride, by bus.
fn ends(records: &Records, kibs: &[u64]) -> Result<[(f64, f64); 3], String> {
    let mean_at = |bus, stride| Ok::<f64, String>(mean(&points(records, bus, Access::Rmw, stride, kibs)?));
    let both = |bus| Ok::<_, String>((mean_at(bus, 8)?, mean_at(bus, 128)?));
    Ok([both(0)?, both(1)?, both(2)?])
}

fn small_strides(records: &Records) -> Outcome {
    let more = ends(records, &STRIDE_SIZES_KIB[..2])?.map(|(near, far)| (far - near).abs());
    let why = "lines are lost at one stride that are kept at the other";
    Ok((format!("by {}", with_each(more, microseconds)), in_all(more, &(0.0..5000.0), why)))
}

fn large_strides(records: &Records) -> Outcome {
    let ends = ends(records, &STRIDE_SIZES_KIB[3..])?;
    let (near, far) = ends[FITTED];
    let times = ends.map(|(near, far)| far / near);
    let found =
        format!("{} at 8 B, {} at 128 B: {} times", microseconds(near), microseconds(far), with_each(times, number));
    let why = "the prefetcher hides as much at long strides as at short ones";
    Ok((found, in_all(times, &(3.0..15.0), why)))
}
