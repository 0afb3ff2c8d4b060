//! The cost of a switch over the stride.

use workload::Access;

use super::super::steps::{BUS_CYCLES, STRIDE_SIZES_KIB, STRIDES};
use super::buses::{Fitted, Outcome, judged, name, of_figure_1, shown, strides, told};
use super::walks::{by_bus, bytes, cost, mean, points};
use crate::exhibit::Cell;
use crate::text::{microseconds, number};
use crate::{Axis, Chart, Claim, Exhibit, Records, Series, Style, Table};

pub(super) fn exhibit(records: &Records) -> Exhibit {
    let fitted = of_figure_1(records);
    let mut exhibit =
        Exhibit::new("Figure 2, simulated", "The same walks in the caches of the Xeon of 2007, by stride");
    exhibit.table = table(records, [0, shown(&fitted), BUS_CYCLES.len() - 1]);
    let by_size = STRIDE_SIZES_KIB.iter().filter_map(|kib| by_stride(records, shown(&fitted), *kib));
    let mut lines: Vec<Series> = by_size.collect();
    let published = |name: &str, ns: [f64; 2]| Series::new(name, Style::Published, [(8.0, ns[0]), (128.0, ns[1])]);
    // Means over the arrays that do not fit, from the paper's text.
    lines.push(published("mean of arrays that do not fit, published", [116_500.0, 825_300.0]));
    exhibit.chart = Some(Chart::new("stride", Axis::Size, "simulated cost of a switch", Axis::Time, lines));
    exhibit.claims = vec![
        Claim::decided(
            "Arrays of 32 and 128 KB: the stride hardly matters (by less than 5 us)",
            small_strides(records, &fitted),
        ),
        Claim::decided(
            "Arrays that do not fit: a stride of 128 B costs about 7 times as much as one of 8 B (3 to 15 are taken)",
            large_strides(records, &fitted),
        ),
    ];
    exhibit.notes.push(format!(
        "Drawn with {}, to which figure 1 leads. A stream of lines is prefetched at either stride. At 8 B the loop needs 16 turns \
         for a line, in which the next ones arrive; at 128 B it asks for a new line each turn, and waits for memory and bus. \
         The paper's mean of 825 us is more than a switch can lose here: 512 KiB fetched and as much written back over \
         the slowest bus are 620 us.",
        name(shown(&fitted)),
    ));
    exhibit
}

fn table(records: &Records, buses: [usize; 3]) -> Table {
    let heads = buses.map(|bus| format!("rmw us, {}", name(bus)));
    let mut table = Table::new(&["size", "stride B", &heads[0], &heads[1], &heads[2]]);
    for kib in STRIDE_SIZES_KIB {
        for stride in STRIDES {
            let cells = buses.map(|bus| {
                let found = cost(records, bus, Access::Rmw, stride, kib);
                let missing = found.clone().err().unwrap_or_default();
                Cell::or_missing(found.ok().map(|ns| ns / 1e3), 2, &missing)
            });
            let mut row = vec![bytes(kib).into(), Cell::number(stride as f64, 0)];
            row.extend(cells);
            table.row(row);
        }
    }
    table
}

/// The cost over the stride with one bus.
fn by_stride(records: &Records, bus: usize, kib: u64) -> Option<Series> {
    let at = |stride: u64| Some((stride as f64, cost(records, bus, Access::Rmw, stride, kib).ok()?));
    let points: Vec<_> = STRIDES.into_iter().filter_map(at).filter(|(_, ns)| *ns > 0.0).collect();
    (!points.is_empty()).then(|| Series::new(bytes(kib), Style::Found, points))
}

fn small_strides(records: &Records, fitted: &Fitted) -> Outcome {
    let mean_at =
        |bus, stride| Ok::<f64, String>(mean(&points(records, bus, Access::Rmw, stride, &STRIDE_SIZES_KIB[..2])?));
    let more = by_bus(|bus| Ok((mean_at(bus, 128)? - mean_at(bus, 8)?).abs()))?;
    let why = "lines are lost at one stride that are kept at the other";
    Ok((format!("by {}", told(&more, fitted, microseconds)), judged(&more, &(0.0..5000.0), fitted, why)))
}

fn large_strides(records: &Records, fitted: &Fitted) -> Outcome {
    let ends = strides(records)?;
    let (short, long) = ends[shown(fitted)];
    let times = ends.map(|(short, long)| long / short);
    let found = format!(
        "{} at 8 B, {} at 128 B: {} times",
        microseconds(short),
        microseconds(long),
        told(&times, fitted, number)
    );
    let why = "the prefetcher hides as much at long strides as at short ones";
    Ok((found, judged(&times, &(3.0..15.0), fitted, why)))
}
