//! Judges the claims on Figures 1 and 2 of Li et al. over the unpublished parameters of the
//! machine that the paper's own numbers allow, with one step for each point.
//!
//! A claim that holds only for some of these parameters is not reported as reproduced.

use switchcost_workload::Access;

use super::super::steps::{BUS_CYCLES, LATENCIES, LOOPS, sensitivity_step};
use super::walks::cost_ns;
use crate::claims::{Found, Quantities, Setting, Term, exact};
use crate::exhibit::Cell;
use crate::{Exhibit, Outcome, Records};

/// Values of the free parameters: instructions of the loop, and indices of the memory latency and
/// of the bus.
#[derive(Clone, Copy)]
struct Parameters {
    instructions: u32,
    latency: usize,
    bus: usize,
}

/// The loop and the latency of the committed design, with the slowest bus: with the design's own
/// bus, a cost contradicts the paper ([`ALLOWED_US`]).
const USUAL: Parameters = Parameters {
    instructions: LOOPS[0],
    latency: 1,
    bus: BUS_CYCLES.len() - 1,
};

/// Costs of reading and writing arrays of 512 KB that the paper allows, in microseconds. Region 2
/// ends at 203.2 us, the most expensive access at 512 KB (section 3.1). Reading and writing is one
/// of the two accesses that cost twice as much as reading, so it costs at least half of that.
const ALLOWED_US: [f64; 2] = [101.6, 203.2];

/// The paper's direct cost of a switch, which simulated costs lack, in microseconds.
const DIRECT_US: f64 = 3.8;

fn parameter_sets() -> impl Iterator<Item = Parameters> {
    LOOPS.into_iter().flat_map(|instructions| {
        let places = (0..LATENCIES.len())
            .flat_map(|latency| (0..BUS_CYCLES.len()).map(move |bus| (latency, bus)));
        places.map(move |(latency, bus)| Parameters {
            instructions,
            latency,
            bus,
        })
    })
}

impl Parameters {
    fn words(self) -> String {
        format!(
            "{} instructions, latency {}, bus {}:",
            self.instructions, LATENCIES[self.latency], BUS_CYCLES[self.bus]
        )
    }
}

/// Returns true if the paper allows the cost of reading and writing 512 KB.
fn is_allowed(records: &Records, parameters: Parameters) -> Outcome<bool> {
    let [low, high] = ALLOWED_US.map(|us| us - DIRECT_US);
    Ok((low..=high).contains(&rmw(records, parameters, 512)?))
}

/// Returns the cost of a switch in microseconds, for some parameters, access, stride in bytes and array
/// size in KiB.
fn cost(
    records: &Records,
    parameters: Parameters,
    access: Access,
    stride: u64,
    kib: u64,
) -> Outcome<f64> {
    let step = sensitivity_step(parameters.instructions, access, stride, kib);
    let place = parameters.latency * BUS_CYCLES.len() + parameters.bus;
    let why = "the record has no design with this latency and bus";
    Ok(cost_ns(records.design(&step, place, why)?)? / 1e3)
}

fn rmw(records: &Records, parameters: Parameters, kib: u64) -> Outcome<f64> {
    cost(records, parameters, Access::Rmw, 8, kib)
}

/// Returns the ratio of the cost with `access` to the cost with reads, at an array size of 512 KiB.
fn over_reading(records: &Records, parameters: Parameters, access: Access) -> Outcome<f64> {
    Ok(cost(records, parameters, access, 8, 512)?
        / cost(records, parameters, Access::Read, 8, 512)?)
}

fn stride_ratio(records: &Records, parameters: Parameters) -> Outcome<f64> {
    Ok(cost(records, parameters, Access::Rmw, 128, 512)? / rmw(records, parameters, 512)?)
}

/// Returns the higher one of two costs in region 1, at 32 KiB and at 192 KiB, in microseconds.
fn region_1(records: &Records, parameters: Parameters) -> Outcome<f64> {
    Ok(rmw(records, parameters, 32)?.max(rmw(records, parameters, 192)?))
}

/// Returns numbers at each setting that the paper's costs allow, the usual setting first.
fn allowed_settings(records: &Records, of: impl Fn(Parameters) -> Outcome<Vec<Term>>) -> Outcome {
    let mut settings = Vec::new();
    for parameters in std::iter::once(USUAL).chain(parameter_sets()) {
        let name = parameters.words();
        let is_known = settings.iter().any(|known: &Setting| known.name == name);
        if !is_known && is_allowed(records, parameters)? {
            let terms = of(parameters)?;
            settings.push(Setting { name, terms });
        }
    }
    if settings.is_empty() {
        return Err("the paper's costs allow no simulated setting".to_owned());
    }
    let note = format!(
        "over {} settings that the paper's costs allow",
        settings.len()
    );
    Ok(Found::over(settings, note))
}

pub(super) fn quantities() -> Quantities {
    vec![
        ("simulated-region-1", |r| {
            allowed_settings(r, |parameters| {
                Ok(vec![exact("us", region_1(r, parameters)?)])
            })
        }),
        ("simulated-writes-twice", |r| {
            allowed_settings(r, |parameters| {
                let over = |access: Access| {
                    let ratio = over_reading(r, parameters, access)?;
                    Ok::<_, String>(exact(format!("{access} over read"), ratio))
                };
                Ok(vec![over(Access::Write)?, over(Access::Rmw)?])
            })
        }),
        ("simulated-large-strides", |r| {
            allowed_settings(r, |parameters| {
                let ratio = stride_ratio(r, parameters)?;
                Ok(vec![exact("128 B over 8 B", ratio)])
            })
        }),
    ]
}

pub(super) fn exhibit(records: &Records) -> Exhibit {
    let mut exhibit = Exhibit::new(
        "Figures 1 and 2, sensitivity",
        "Shapes of the figures over the machine's unpublished parameters",
        [
            "instructions",
            "latency",
            "bus cycles",
            "rmw us, 192 KB",
            "512 KB",
            "write over read",
            "rmw over read",
            "stride 128 over 8",
        ],
    );
    for parameters in parameter_sets() {
        let cell = |found: Outcome<f64>| Cell::new(&found, 2, |number| *number);
        let mut row = vec![
            Cell::number(f64::from(parameters.instructions), 0),
            Cell::number(f64::from(LATENCIES[parameters.latency]), 0),
            Cell::number(f64::from(BUS_CYCLES[parameters.bus]), 0),
        ];
        row.extend([192, 512].map(|kib| cell(rmw(records, parameters, kib))));
        row.extend(
            [Access::Write, Access::Rmw]
                .map(|access| cell(over_reading(records, parameters, access))),
        );
        row.push(cell(stride_ratio(records, parameters)));
        exhibit.row(row);
    }
    exhibit.add_note("Latency: 199 cycles is the middle of the range in Intel's manual, 300 is the design's. Claims are judged only over rows \
         whose rmw cost at 512 KB is that of the paper, 101.6 to 203.2 us with the direct cost. Bus: from its peak to the lowest bandwidth that the paper's times allow. \
         Instructions per element: 13 or 15, as gcc -O0 generates. Page frames are consecutive.");
    exhibit
}
