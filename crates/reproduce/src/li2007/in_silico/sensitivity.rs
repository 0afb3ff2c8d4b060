//! Judges the claims on Figures 1 and 2 of Li et al. over all unpublished parameters of the
//! machine, with one step for each point.
//!
//! A claim that holds only for some of the parameters is not reported as reproduced.

use switchcost_workload::Access;

use super::super::steps::{BUS_CYCLES, LATENCIES, LOOPS, sensitivity_step};
use crate::claims::{Found, Quantities, Term, ranged};
use crate::exhibit::Cell;
use crate::{Exhibit, Records, Table};

/// A setting of the free parameters: instructions of the loop, and indices of the memory latency
/// and of the bus.
#[derive(Clone, Copy)]
struct Setting {
    instructions: u32,
    latency: usize,
    bus: usize,
}

/// The setting of the committed design.
const USUAL: Setting = Setting {
    instructions: LOOPS[0],
    latency: 1,
    bus: 1,
};

fn settings() -> impl Iterator<Item = Setting> {
    LOOPS.into_iter().flat_map(|instructions| {
        let places = (0..LATENCIES.len())
            .flat_map(|latency| (0..BUS_CYCLES.len()).map(move |bus| (latency, bus)));
        places.map(move |(latency, bus)| Setting {
            instructions,
            latency,
            bus,
        })
    })
}

/// Returns the cost of a switch in microseconds, for one setting, access, stride in bytes and array
/// size in KiB.
fn cost(
    records: &Records,
    setting: Setting,
    access: Access,
    stride: u64,
    kib: u64,
) -> Result<f64, String> {
    let (_, findings) =
        records.simulated(&sensitivity_step(setting.instructions, access, stride, kib))?;
    let design = findings
        .designs
        .get(setting.latency * BUS_CYCLES.len() + setting.bus);
    let design = design.ok_or("the record has no design with this latency and bus")?;
    let cycles = design
        .excess_cycles_per_switch
        .ok_or("the record has no switches")?;
    let [cycle_ns, _] = design
        .cycle_ns
        .ok_or("the design does not say how long a cycle is")?;
    Ok(cycles * cycle_ns / 1e3)
}

fn rmw(records: &Records, setting: Setting, kib: u64) -> Result<f64, String> {
    cost(records, setting, Access::Rmw, 8, kib)
}

/// Returns the ratio of the cost with `access` to the cost with reads, at an array size of 512 KiB.
fn over_reading(records: &Records, setting: Setting, access: Access) -> Result<f64, String> {
    Ok(cost(records, setting, access, 8, 512)? / cost(records, setting, Access::Read, 8, 512)?)
}

fn stride_ratio(records: &Records, setting: Setting) -> Result<f64, String> {
    Ok(cost(records, setting, Access::Rmw, 128, 512)? / rmw(records, setting, 512)?)
}

/// Returns the higher one of two costs in region 1, at 32 KiB and at 192 KiB, in microseconds.
fn region_1(records: &Records, setting: Setting) -> Result<f64, String> {
    Ok(rmw(records, setting, 32)?.max(rmw(records, setting, 192)?))
}

/// Returns a number for the committed design's setting, with its range over all simulated settings
/// as interval.
fn over_all(
    name: impl Into<String>,
    of: impl Fn(Setting) -> Result<f64, String>,
) -> Result<Term, String> {
    let usual = of(USUAL)?;
    Ok(ranged(
        name,
        usual,
        settings().filter_map(|setting| of(setting).ok()),
    ))
}

fn found(terms: Vec<Term>) -> Result<Found, String> {
    Ok(Found::new(terms, "over all open parameters"))
}

pub(super) fn quantities() -> Quantities {
    vec![
        ("simulated-region-1", |r| {
            found(vec![over_all("us", |setting| region_1(r, setting))?])
        }),
        ("simulated-writes-twice", writes),
        ("simulated-large-strides", |r| {
            let by_stride = |setting| stride_ratio(r, setting);
            found(vec![over_all("128 B over 8 B", by_stride)?])
        }),
    ]
}

fn writes(records: &Records) -> Result<Found, String> {
    let over = |access: Access| {
        over_all(format!("{access} over read"), |setting| {
            over_reading(records, setting, access)
        })
    };
    found(vec![over(Access::Write)?, over(Access::Rmw)?])
}

pub(super) fn exhibit(records: &Records) -> Exhibit {
    let mut exhibit = Exhibit::new(
        "Figures 1 and 2, sensitivity",
        "Shapes of the figures over the machine's unpublished parameters",
    );
    let mut table = Table::new(&[
        "instructions",
        "latency",
        "bus cycles",
        "rmw us, 192 KB",
        "256 KB",
        "512 KB",
        "1 MB",
        "write over read",
        "rmw over read",
        "stride 128 over 8",
    ]);
    for setting in settings() {
        let cell = |found: Result<f64, String>| Cell::new(&found, 2, |number| *number);
        let mut row = vec![
            Cell::number(f64::from(setting.instructions), 0),
            Cell::number(f64::from(LATENCIES[setting.latency]), 0),
            Cell::number(f64::from(BUS_CYCLES[setting.bus]), 0),
        ];
        row.extend([192, 256, 512, 1024].map(|kib| cell(rmw(records, setting, kib))));
        row.extend(
            [Access::Write, Access::Rmw].map(|access| cell(over_reading(records, setting, access))),
        );
        row.push(cell(stride_ratio(records, setting)));
        table.row(row);
    }
    exhibit.table = table;
    exhibit.notes.push(
        "Latency: 199 cycles is the middle of the range in Intel's manual, 300 is the design's, 343 is that of a \
         desktop with another clock. Bus: from its peak to the lowest bandwidth that the paper's times allow. \
         Instructions per element: 13 or 15, as gcc -O0 generates. Page frames are consecutive."
            .into(),
    );
    exhibit
}
