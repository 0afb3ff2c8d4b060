//! The buses that the machine can have had, and which of them each figure leads to.

use switchcost_workload::Access;

use super::super::steps::{BUS_CYCLES, SIZES_KIB, STRIDE_SIZES_KIB};
use super::walks::{ByBus, collect_by_bus, mean, most, points, within};
use crate::exhibit::Cell;
use crate::text::number;
use crate::{Exhibit, Records, Table};

/// The bus that a figure leads to; why there is none.
type Fitted = Result<usize, String>;

/// Drawn beside the slowest and the fastest: the design's own.
pub(super) const DRAWN: usize = 4;
/// How many times as much writing costs as reading, and a stride of 128 B as one of 8 B: the paper, sections 3.1 and 3.2.
const TWICE: f64 = 2.0;
const SEVEN_TIMES: f64 = 825.3 / 116.5;
/// A ratio leads to a bus where it comes at least so near to the published one with it.
const NEAR: f64 = 1.25;

/// What memory sustains with a bus: 128 bytes in so many cycles of 0.5 ns.
pub(super) fn name(bus: usize) -> String {
    format!("{:.2} GB/s", 128.0 / (f64::from(BUS_CYCLES[bus]) * 0.5))
}

/// How many times as much as reading it costs to write or to read and write, mean costs from 384 to 512 KB.
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

/// Mean costs of arrays that do not fit beside each other: at a stride of 8 B, and of 128 B.
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

/// The bus that Figure 1 leads to: writing, and reading and writing, come nearest to twice reading.
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

/// The bus that Figure 2 leads to: a stride of 128 B comes nearest to seven times one of 8 B.
fn fit_figure_2(records: &Records) -> Fitted {
    nearest(
        strides(records)?.map(|(short, long)| long / short),
        SEVEN_TIMES,
    )
}

/// The bus with which `ratio` comes nearest to a published one.
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

/// What each bus makes of the shapes that depend on it.
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
        "What the machine's memory sustained is not published: at most 3.2 GB/s, the peak of its bus, and at least 1.68 GB/s, \
         by the paper's own times. The design's bus was chosen between those that the two figures lead to: figure 1, where writing \
         comes nearest to twice reading, and figure 2, where a stride of 128 B comes nearest to 7 times one of 8 B."
            .into(),
    );
    exhibit
}
