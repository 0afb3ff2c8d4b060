//! Figure 2 of Li et al., simulated: the cost of a switch by the stride.

use switchcost_workload::Access;

use super::super::steps::{STRIDE_SIZES_KIB, STRIDES};
use super::walks::{bytes, cost};
use crate::exhibit::Cell;
use crate::{Axis, Chart, Exhibit, Records, Series, Style};

pub(super) fn exhibit(records: &Records) -> Exhibit {
    let mut exhibit = Exhibit::new(
        "Figure 2, simulated",
        "In the caches of the Xeon of 2007, by stride",
        ["size", "stride B", "rmw us"],
    );
    for kib in STRIDE_SIZES_KIB {
        for stride in STRIDES {
            let cost = cost(records, Access::Rmw, stride, kib);
            exhibit.row(vec![
                bytes(kib).into(),
                Cell::number(stride as f64, 0),
                Cell::new(&cost, 2, |ns| ns / 1e3),
            ]);
        }
    }
    let by_size = STRIDE_SIZES_KIB
        .iter()
        .filter_map(|kib| series_by_stride(records, *kib));
    let mut lines: Vec<Series> = by_size.collect();
    let published = |name: &str, ns: [f64; 2]| {
        Series::new(name, Style::Published, [(8.0, ns[0]), (128.0, ns[1])])
    };
    // The published values are means over the arrays that do not fit in the cache, from the text of
    // Li et al.
    lines.push(published(
        "arrays that do not fit, published mean",
        [116_500.0, 825_300.0],
    ));
    exhibit.chart = Some(Chart::new(
        "stride",
        Axis::Size,
        "simulated cost, without the direct cost",
        Axis::Time,
        lines,
    ));
    exhibit.add_note("The curve assumes a bus bandwidth of 2.13 GB/s. The paper's mean of 825 us exceeds what a switch can cost here: to fetch 512 \
         KiB and write as much back over the slowest bus takes 620 us.");
    exhibit
}

/// Returns the cost of a switch by the stride, for one array size; `None` if no cost is above 0.
fn series_by_stride(records: &Records, kib: u64) -> Option<Series> {
    let at = |stride: u64| Some((stride as f64, cost(records, Access::Rmw, stride, kib).ok()?));
    let points: Vec<_> = STRIDES
        .into_iter()
        .filter_map(at)
        .filter(|(_, ns)| *ns > 0.0)
        .collect();
    (!points.is_empty()).then(|| Series::new(bytes(kib), Style::Found, points))
}
