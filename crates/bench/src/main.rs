//! The figures that switchcost promises, measured through its own command line on this machine, each beside what it
//! must reach. A figure is printed as measured, met or not; nothing is retried until it fits.
//!
//! The program under test is the binary beside this one, of the same profile: build both first, then measure. One figure beside the
//! others is of an example of `crates/capture`: what the capture tool costs alone.

mod ab;
mod agreement;
mod builds;
mod capture;
mod compare;
mod duration;
mod hundred;
mod inject;
mod input;
mod known_answers;
mod live;
mod model;
mod neighbour;
mod observe;
mod observed;
mod order;
mod ordinary;
mod page;
mod paired;
mod patterns;
mod ping_pong;
mod program;
mod range;
mod report;
mod row;
mod run;
mod runtimes;
mod simulate;
mod spread;
mod system;

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use comfy_table::{ContentArrangement, Table, presets};

use program::Program;
use row::Row;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// The pipe's precision, its agreement over ten runs, and its ratio to `perf bench sched pipe`
    Pipe,
    /// The resolution of a fiber switch
    Fiber,
    /// Made-up switches and reloads, and runs without any difference
    KnownAnswers,
    /// Numbers that repeat, quiet and beside a neighbour (15 minutes)
    Paired,
    /// Hand-offs under the ordinary scheduler beside an independent ping-pong, alone and beside a neighbour (2 minutes)
    Ordinary,
    /// How long the presets take
    Durations,
    /// `trace` of gzip beside gzip alone, and beside Valgrind's own tools
    Capture,
    /// The program of `make build` beside the one that is shipped, at capture and simulation (2 minutes)
    Builds,
    /// `trace --system` of gzip in a guest
    System,
    /// `simulate` from a file: one design, four, a hundred; beside cachegrind
    Simulate,
    /// The same machine compared with itself: how often a difference is called (10 minutes)
    Compare,
    /// `ab`: known effects beside an independent ping-pong (6 minutes)
    AbEffects,
    /// `ab` of the same on both sides: how often a difference is called (8 minutes)
    AbNulls,
    /// `ab`: what it finds within its minute (10 minutes)
    AbMinute,
    /// `workload timesharing` under four designs; memory of many short processes
    Live,
    /// The ladder of runtimes: its time and its intervals; hand-offs of it over ten runs (4 minutes)
    Runtimes,
    /// What `observe` adds to a switch, beside perf; whether the cost that it reports is true (4 minutes)
    Observe,
    /// Whether the range that `observe` reports holds what switches of known pairs are seen to cost (2 minutes)
    Range,
    /// The same of redis, nginx and PostgreSQL under load (2 minutes)
    RangeOfServices,
    /// What a preemption costs programs that know it (7 minutes)
    Inject,
    /// What the model of a switch says of ten programs, beside what preemptions cost them; the simulator beside time (15 minutes)
    Model,
    /// Pages of large records, and a comparison; makes a --full record first
    Report,
}

/// Columns of the table: it is meant to be pasted.
const WIDTH: u16 = 160;

type Measure<'a> = &'a dyn Fn(&Program) -> Vec<Row>;

/// Work of this program's own that a part has it start.
type Play = fn(&[String]) -> io::Result<()>;

/// Measures the figures that switchcost promises.
#[derive(Debug, Parser)]
struct Arguments {
    /// Parts to run [default: all]
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Part>,

    /// Of the ten programs of `model` these alone; `simulator` is the simulator beside time [default: all]
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    programs: Vec<String>,

    /// Keep prices, profiles and injections of `model` in this folder, and do not make again what is there
    #[arg(long, value_name = "FOLDER")]
    keep: Option<PathBuf>,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let plays: [(&str, Play); 3] = [
        (ping_pong::ARGUMENT, ping_pong::play),
        (inject::ARGUMENT, inject::play),
        (range::turns::ARGUMENT, range::turns::play),
    ];
    if let Some((first, words)) = words.split_first()
        && let Some((_, play)) = plays.into_iter().find(|(argument, _)| argument == first)
    {
        return played(play(words));
    }
    let arguments = Arguments::parse();
    let program = match Program::beside_this_one(arguments.keep.as_deref()) {
        Ok(program) => program,
        Err(why) => {
            eprintln!("switchcost-bench: {why}");
            return ExitCode::FAILURE;
        }
    };
    println!("program: {}\n{}\n", program.built(), program.machine());
    let wants = |part| arguments.only.is_empty() || arguments.only.contains(&part);
    let parts: [(Part, Measure<'_>); 22] = [
        (Part::Pipe, &agreement::pipe),
        (Part::Fiber, &agreement::fiber),
        (Part::KnownAnswers, &known_answers::all),
        (Part::Paired, &paired::all),
        (Part::Ordinary, &ordinary::all),
        (Part::Durations, &duration::all),
        (Part::Capture, &capture::all),
        (Part::Builds, &builds::all),
        (Part::System, &system::all),
        (Part::Simulate, &simulate::all),
        (Part::Compare, &compare::against_itself),
        (Part::AbEffects, &ab::effects),
        (Part::AbNulls, &ab::nulls),
        (Part::AbMinute, &ab::minute),
        (Part::Live, &live::all),
        (Part::Runtimes, &runtimes::all),
        (Part::Observe, &observe::all),
        (Part::Range, &range::of_pairs),
        (Part::RangeOfServices, &range::of_services),
        (Part::Inject, &inject::all),
        (Part::Model, &|program| {
            model::all(program, &arguments.programs)
        }),
        (Part::Report, &report::all),
    ];
    let rows: Vec<Row> = parts
        .into_iter()
        .filter(|(part, _)| wants(*part))
        .flat_map(|(_, measure)| measure(&program))
        .collect();
    println!("{}", table(&rows));
    ExitCode::SUCCESS
}

fn played(outcome: io::Result<()>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("switchcost-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn table(rows: &[Row]) -> Table {
    let mut table = Table::new();
    table
        .load_preset(presets::UTF8_HORIZONTAL_ONLY)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(WIDTH);
    table.set_header(["what", "must reach", "measured", "met", "command"]);
    for row in rows {
        let is_met = match row.is_met {
            Some(true) => "yes",
            Some(false) => "NO",
            None => "-",
        };
        table.add_row([
            &row.what,
            &row.must_reach,
            &row.measured,
            is_met,
            &row.command,
        ]);
    }
    table
}
