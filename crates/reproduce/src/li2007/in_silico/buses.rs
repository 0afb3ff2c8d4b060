//! Possible buses of the paper's machine, and the bus that each figure implies.

use switchcost_workload::Access;

use super::super::steps::{BUS_CYCLES, SIZES_KIB, STRIDE_SIZES_KIB};
use super::walks::{ByBus, collect_by_bus, mean, most, points, within};
use crate::exhibit::Cell;
use crate::text::number;
use crate::{Exhibit, Records, Table};

/// Bus that a figure implies, or the reason why there is none.
type Fitted = Result<usize, String>;

/// Index of the design's own bus, which is drawn in addition to the slowest and the fastest.
pub(super) const DRAWN: usize = 4;
/// Ratio of the cost of writing to that of reading, and of a stride of 128 B to one of 8 B, in the
/// paper, sections 3.1 and 3.2.
const TWICE: f64 = 2.0;
const SEVEN_TIMES: f64 = 825.3 / 116.5;
/// Largest factor between a ratio and the published one with which the ratio implies a bus.
const NEAR: f64 = 1.25;

/// Returns the bandwidth of memory with a bus: 128 bytes in this number of cycles of 0.5 ns.
pub(super) fn name(bus: usize) -> String {
    format!("{:.2} GB/s", 128.0 / (f64::from(BUS_CYCLES[bus]) * 0.5))
}

/// Returns the ratio of the mean cost of an access from 384 to 512 KB to that of reading.
fn over_reading(records: &Records, access: Access) -> Result<ByBus<f64>, String> {
    collect_by_bus(|bus| {
        let of = |access| {
            Ok::<_, String>(mean(&within(
                &points(records, bus, access, 8, &SIZES_KIB)?,
                384,
                512,
            )?))
        };
        Ok(of(access)? / of(Access::Read)?)
    })
}

/// Returns the mean costs of arrays that do not fit together: at a stride of 8 B, and of 128 B.
fn strides(records: &Records) -> Result<ByBus<(f64, f64)>, String> {
    let mean_at = |bus, stride| {
        Ok::<_, String>(mean(&points(
            records,
            bus,
            Access::Rmw,
            stride,
            &STRIDE_SIZES_KIB[3..],
        )?))
    };
    collect_by_bus(|bus| Ok((mean_at(bus, 8)?, mean_at(bus, 128)?)))
}

/// Returns the bus that Figure 1 implies: with it writing, and reading and writing, are closest to
/// twice reading.
fn fit_figure_1(records: &Records) -> Fitted {
    let (write, rmw) = (
        over_reading(records, Access::Write)?,
        over_reading(records, Access::Rmw)?,
    );
    nearest(
        collect_by_bus(|bus| Ok((write[bus] * rmw[bus]).sqrt()))?,
        TWICE,
    )
}

/// Returns the bus that Figure 2 implies: with it a stride of 128 B is closest to seven times one
/// of 8 B.
fn fit_figure_2(records: &Records) -> Fitted {
    nearest(
        strides(records)?.map(|(short, long)| long / short),
        SEVEN_TIMES,
    )
}

/// Returns the bus whose `ratio` is closest to a published one.
fn nearest(ratios: ByBus<f64>, published: f64) -> Fitted {
    let far = |ratio: f64| {
        if ratio > 0.0 {
            (ratio / published).ln().abs()
        } else {
            f64::INFINITY
        }
    };
    let (bus, ratio) = ratios
        .into_iter()
        .enumerate()
        .min_by(|(_, one), (_, other)| far(*one).total_cmp(&far(*other)))
        .expect("there are buses");
    if far(ratio) <= NEAR.ln() {
        Ok(bus)
    } else {
        Err(format!("no bus: {} at best", number(ratio)))
    }
}

/// Returns the shapes that depend on the bus, for each bus.
pub(super) fn exhibit(records: &Records) -> Exhibit {
    let mut exhibit = Exhibit::new(
        "Figures 1 and 2, by bus",
        "What the shapes depend on: the bandwidth of the memory",
    );
    let mut table = Table::new(&[
        "bus",
        "cycles a line",
        "write over read",
        "rmw over read",
        "rmw us, 512 KB",
        "stride 128 over 8",
        "led to by",
    ]);
    let [write, rmw] = [Access::Write, Access::Rmw].map(|access| over_reading(records, access));
    let highest = collect_by_bus(|bus| {
        Ok(most(&within(
            &points(records, bus, Access::Rmw, 8, &SIZES_KIB)?,
            256,
            512,
        )?))
    });
    let strides = strides(records);
    let led = [fit_figure_1(records), fit_figure_2(records)];
    for (bus, cycles) in BUS_CYCLES.into_iter().enumerate() {
        let cell =
            |of: &Result<ByBus<f64>, String>, scale: f64| Cell::new(of, 2, |all| all[bus] / scale);
        let times = strides
            .clone()
            .map(|all| all.map(|(short, long)| long / short));
        let by: Vec<&str> = ["figure 1", "figure 2"]
            .into_iter()
            .zip(&led)
            .filter_map(|(figure, led)| (*led == Ok(bus)).then_some(figure))
            .collect();
        table.row(vec![
            name(bus).as_str().into(),
            Cell::number(f64::from(cycles), 0),
            cell(&write, 1.0),
            cell(&rmw, 1.0),
            cell(&highest, 1e3),
            cell(&times, 1.0),
            by.join(", ").as_str().into(),
        ]);
    }
    exhibit.table = table;
    exhibit.notes.push(
        "The sustained bandwidth of the memory is not published: at most 3.2 GB/s, the peak of the bus, and at least \
         1.68 GB/s, by the paper's own times. The bus of the design lies between the fits to the two figures: Figure \
         1, where writing costs about twice as much as reading, and Figure 2, where a stride of 128 B costs about 7 \
         times as much as one of 8 B."
            .into(),
    );
    exhibit
}
