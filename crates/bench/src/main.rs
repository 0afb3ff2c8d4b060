//! The figures that switchcost promises, measured through its own command line on this machine, each beside what it
//! must reach. A figure is printed as measured, met or not; nothing is retried until it fits.
//!
//! Most figures are rows of `tables`: a command, a quantity, and a bound. An experiment that needs more is a function of its own. The
//! program under test is the binary beside this one, of the same profile: build both first, then measure.

mod ab;
mod compare;
mod figure;
mod inject;
mod lines;
mod model;
mod neighbour;
mod observe;
mod paired;
mod progress;
mod row;
mod shell;
mod spread;
mod system;
mod tables;
mod text;

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};

use observe::waits;
use row::Row;
use shell::Shell;

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
    /// What `observe` adds to a switch, beside perf; whether what it says of cold caches is true (5 minutes)
    Observe,
    /// What a preemption costs programs that know it (7 minutes)
    Inject,
    /// What the model of a switch says of ten programs, beside what preemptions cost them (15 minutes)
    Model,
    /// Pages of large records, and a comparison; makes a --full record first
    Report,
}

impl Part {
    fn measure(self, shell: &Shell, programs: &[String]) -> Vec<Row> {
        match self {
            Part::Pipe => tables::pipe().measure(shell),
            Part::Fiber => tables::fiber().measure(shell),
            Part::KnownAnswers => {
                let mut rows = tables::known_answers().measure(shell);
                rows.push(paired::equal_arms(shell));
                rows
            }
            Part::Paired => paired::measure(shell),
            Part::Ordinary => tables::ordinary().measure(shell),
            Part::Durations => tables::durations().measure(shell),
            Part::Capture => tables::capture().measure(shell),
            Part::Builds => tables::builds().measure(shell),
            Part::System => system::measure(shell),
            Part::Simulate => {
                let mut rows = tables::simulate().measure(shell);
                rows.extend(tables::cachegrind().measure(shell));
                rows
            }
            Part::Compare => compare::measure(shell),
            Part::AbEffects => ab::measure_effects(shell),
            Part::AbNulls => ab::measure_nulls(shell),
            Part::AbMinute => ab::measure_minute(shell),
            Part::Live => tables::live().measure(shell),
            Part::Runtimes => {
                let mut rows = tables::ladder().measure(shell);
                rows.extend(tables::runtimes().measure(shell));
                rows
            }
            Part::Observe => observe::measure(shell),
            Part::Inject => inject::measure(shell),
            Part::Model => model::measure(shell, programs),
            Part::Report => tables::report().measure(shell),
        }
    }
}

/// Work of this program's own that a part has it start.
type Play = fn(&[String]) -> io::Result<()>;

const PLAYS: [(&str, Play); 5] = [
    (inject::ARGUMENT, inject::play),
    (waits::ARGUMENT, waits::play),
    (waits::PARTNER, waits::send),
    (neighbour::ARGUMENT, neighbour::play),
    (text::ARGUMENT, text::play),
];

/// Measures the figures that switchcost promises.
#[derive(Debug, Parser)]
struct Arguments {
    /// Parts to run [default: all]
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Part>,

    /// Of the ten programs of `model` these alone [default: all]
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    programs: Vec<String>,

    /// Keep prices, profiles and injections of `model` in this folder, and do not make again what is there
    #[arg(long, value_name = "FOLDER")]
    keep: Option<PathBuf>,
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("switchcost-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let Some((first, words)) = words.split_first()
        && let Some((_, play)) = PLAYS.into_iter().find(|(argument, _)| argument == first)
    {
        return play(words);
    }
    let arguments = Arguments::parse();
    let temporary = tempfile::tempdir()?;
    let shell = Shell::new(arguments.keep.as_deref().unwrap_or(temporary.path()))?;
    println!("{}\n", shell.describe());
    let parts = match arguments.only.is_empty() {
        true => Part::value_variants(),
        false => &arguments.only[..],
    };
    for part in parts {
        let rows = part.measure(&shell, &arguments.programs);
        println!("{}\n", row::table(&rows));
    }
    Ok(())
}
