//! Writes the record of a simulation with many intervals, to measure the time and memory of reading
//! and reporting it.
//!
//! Usage: `cargo run --release -p switchcost-simulation-record --example large_simulation --
//! SAMPLE.parquet LARGE.parquet [INTERVALS]`
//!
//! The head is that of the sample; the rest is synthetic: segments of 100 intervals whose excess
//! fades.

use std::error::Error;
use std::path::Path;

use switchcost_design::result::{ByView, Interval, OfOthers};
use switchcost_simulation_record::{SimulationRecord, SimulationWriter};

const INTERVALS: u32 = 100;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (sample, large, intervals) = match arguments.as_slice() {
        [sample, large] => (sample, large, 10_000_000),
        [sample, large, intervals] => (sample, large, intervals.parse::<u64>()?),
        _ => {
            return Err("wrong arguments; give SAMPLE.parquet LARGE.parquet [INTERVALS]".into());
        }
    };
    let mut head = SimulationRecord::read(Path::new(sample))?.head;
    head.intervals = INTERVALS;
    let designs = head.designs.len() as u64;
    let segments = intervals / (designs * u64::from(INTERVALS));
    let mut writer = SimulationWriter::create(Path::new(large))?;
    for segment in 0..segments as u32 {
        for design in 0..designs as u16 {
            let one = |number| interval(&head, design, segment, number);
            writer.write(&(0..INTERVALS).map(one).collect::<Vec<_>>())?;
        }
    }
    writer.finish(&head)?;
    eprintln!(
        "{large}: {} intervals",
        segments * designs * u64::from(INTERVALS)
    );
    Ok(())
}

fn interval(
    head: &switchcost_design::result::Simulation,
    design: u16,
    segment: u32,
    number: u32,
) -> Interval {
    let process = segment % head.processes.len() as u32;
    let cause = segment % head.causes.len() as u32;
    let instructions = head.interval_instructions;
    let noise = u64::from(segment.wrapping_mul(2_654_435_761) >> 20);
    let private = instructions + instructions / 5 + noise % 97;
    let excess = 4_000 / u64::from(number + 1) + noise % 31;
    Interval {
        design,
        segment,
        segments: 1,
        task: process,
        process,
        cause,
        end: cause,
        number,
        instructions,
        cycles: ByView {
            shared: private + excess,
            private,
            flushed: private + 2 * excess,
        },
        of_others: Some(OfOthers {
            lost: excess,
            ..OfOthers::default()
        }),
    }
}
