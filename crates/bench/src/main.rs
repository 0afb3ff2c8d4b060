//! Measures the figures that switchcost promises, by its command line on this machine, and prints
//! each figure next to its bound. Figures are printed as measured, whether or not they meet the
//! bound. No measurement is repeated until it meets the bound.
//!
//! Most figures are rows of `tables`: a command, a quantity, and a bound. Experiments that need
//! more are functions. The program under test is in the folder of this program, built with the same
//! profile. Both must be built before measuring.

mod ab;
mod compare;
mod figure;
mod inject;
mod lines;
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
use std::process::ExitCode;

use clap::{Parser, ValueEnum};

use observe::waits;
use row::Row;
use shell::Shell;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Measure the pipe's precision, the agreement of ten runs, and the ratio to `perf bench sched
    /// pipe`
    Pipe,
    /// Measure the resolution of a fiber switch
    Fiber,
    /// Measure synthetic switches and reloads, and runs without any difference
    KnownAnswers,
    /// Measure the reproducibility of numbers, on a quiet machine and next to a neighbour (15
    /// minutes)
    Paired,
    /// Compare hand-offs under the ordinary scheduler with an independent ping-pong, alone and next
    /// to a neighbour (2 minutes)
    Ordinary,
    /// Measure the duration of the presets
    Durations,
    /// Compare `trace` of gzip with gzip alone, and with Valgrind's own tools
    Capture,
    /// Compare the program of `make build` with the shipped one, at capture and simulation (2
    /// minutes)
    Builds,
    /// Measure `trace --system` of gzip in a guest
    System,
    /// Measure `simulate` from a file with one design, four, and a hundred, and compare it with
    /// cachegrind
    Simulate,
    /// Compare the same machine with itself, and count how often a difference is reported (10
    /// minutes)
    Compare,
    /// Compare known effects in `ab` with an independent ping-pong (6 minutes)
    AbEffects,
    /// Run `ab` with equal sides, and count how often a difference is reported (8 minutes)
    AbNulls,
    /// Measure the changes that `ab` finds within a minute (10 minutes)
    AbMinute,
    /// Measure `workload timesharing` under four designs, and the memory of many short processes
    Live,
    /// Measure the time and intervals of the ladder of runtimes, and its hand-offs over ten runs (4
    /// minutes)
    Runtimes,
    /// Measure the time that `observe` and perf add to a switch, and the accuracy of the cost of
    /// cold caches (5 minutes)
    Observe,
    /// Compare the cost of preemptions with that of programs that know it (7 minutes)
    Inject,
    /// Measure pages of large records, and a comparison; makes a --full record first
    Report,
}

impl Part {
    fn measure(self, shell: &Shell) -> Vec<Row> {
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
            Part::Report => tables::report().measure(shell),
        }
    }
}

/// A function of this program that a command of the bench runs in a separate process.
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
    let shell = Shell::new(temporary.path())?;
    println!("{}\n", shell.describe());
    let parts = match arguments.only.is_empty() {
        true => Part::value_variants(),
        false => &arguments.only[..],
    };
    for part in parts {
        let rows = part.measure(&shell);
        println!("{}\n", row::table(&rows));
    }
    Ok(())
}
