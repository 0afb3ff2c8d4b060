//! How many references a second are simulated. `throughput [TRACE.sct] [DESIGN...]`; without names, design 1a alone
//! and the four designs of Mogul and Borg together; without a trace, a made-up one. Decoding is not measured: a trace is
//! decoded on a thread of its own.

mod programs;

use std::error::Error;
use std::fs::File;
use std::io::BufReader;

use programs::{Dice, chunks};
use switchcost_cachesim::{Options, Outcome, Simulator};
use switchcost_design::Design;
use switchcost_design::shipped;
use switchcost_trace::{Chunk, TraceReader, read_ahead};

const CHUNKS: usize = 8;
const ROUNDS: usize = 7;

/// Where the references come from.
enum Source {
    Made(Vec<Chunk>),
    File(String),
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut names: Vec<String> = std::env::args().skip(1).collect();
    let source = match names.first().is_some_and(|name| name.ends_with(".sct")) {
        true => Source::File(names.remove(0)),
        false => Source::Made(chunks(CHUNKS, &mut Dice(1))),
    };
    let sets: Vec<Vec<&str>> = match names.is_empty() {
        true => vec![
            vec!["mogul-1a"],
            vec!["mogul-1a", "mogul-1b", "mogul-2a", "mogul-2b"],
        ],
        false => vec![names.iter().map(String::as_str).collect()],
    };
    for names in sets {
        measure(&names, &source)?;
    }
    Ok(())
}

fn measure(names: &[&str], source: &Source) -> Result<(), Box<dyn Error>> {
    let designs: Vec<Design> = names
        .iter()
        .map(|name| shipped::find(name).ok_or("no such design"))
        .collect::<Result<_, _>>()?;
    let mut rates = Vec::new();
    for round in 0..ROUNDS {
        let start = processor_seconds()?;
        let outcome = simulate(&designs, source)?;
        let seconds = processor_seconds()? - start;
        let references = outcome.instructions + outcome.loads + outcome.stores;
        rates.push(references as f64 / seconds / 1e6);
        if round == 0 {
            describe(&outcome);
        }
    }
    rates.sort_by(f64::total_cmp);
    let (worst, median, best) = (rates[0], rates[ROUNDS / 2], rates[ROUNDS - 1]);
    println!(
        "{}: {median:.0} M references/s (median of {ROUNDS}; {worst:.0} to {best:.0})",
        names.join(" ")
    );
    Ok(())
}

/// Time on the processor, which other programs on this machine disturb less than the time of day.
fn processor_seconds() -> Result<f64, Box<dyn Error>> {
    let text = std::fs::read_to_string("/proc/self/schedstat")?;
    let nanoseconds = text
        .split_whitespace()
        .next()
        .ok_or("no time in /proc/self/schedstat")?;
    Ok(nanoseconds.parse::<f64>()? / 1e9)
}

fn simulate(designs: &[Design], source: &Source) -> Result<Outcome, Box<dyn Error>> {
    let mut simulator = Simulator::new(designs.to_vec(), Options::default())?;
    let mut intervals = Vec::new();
    match source {
        Source::Made(chunks) => {
            for chunk in chunks {
                simulator.feed(&mut chunk.clone(), &mut intervals)?;
                intervals.clear();
            }
        }
        Source::File(path) => {
            let mut reader = read_ahead(TraceReader::new(BufReader::new(File::open(path)?))?)?;
            let mut chunk = Chunk::default();
            while reader.next_into(&mut chunk)? {
                simulator.feed(&mut chunk, &mut intervals)?;
                intervals.clear();
            }
        }
    }
    Ok(simulator.finish(&mut intervals, &mut |_, _| None))
}

fn describe(outcome: &Outcome) {
    let switches = outcome.voluntary_switches + outcome.involuntary_switches;
    println!(
        "{} instructions, {} loads, {} stores, {switches} switches",
        outcome.instructions, outcome.loads, outcome.stores
    );
    for result in &outcome.designs {
        for level in &result.hierarchies.shared.levels {
            let percent = |part: u64, whole: u64| 100.0 * part as f64 / whole.max(1) as f64;
            println!(
                "  {} {}: misses {:.2} % of fetches, {:.2} % of loads, {:.2} % of stores",
                result.design.name,
                level.name,
                percent(level.instruction_misses, level.instruction_accesses),
                percent(level.load_misses, level.load_accesses),
                percent(level.store_misses, level.store_accesses),
            );
        }
    }
}
