//! The `switchcost` program: flags, one file a verb, exit codes. The only crate that sees all others.

mod cli;
mod exit;
mod output;
mod progress;
mod records;
mod runs;
mod signals;
mod verbs;

use std::process::ExitCode;

use clap::Parser;

use cli::{Cli, Verb};
use exit::Failure;

fn main() -> ExitCode {
    // A repetition is served before anything else is set up: its process shall be as bare as possible.
    if std::env::args_os().nth(1).is_some_and(|argument| argument == measure::SERVANT_ARGUMENT) {
        return serve();
    }
    if let Some(words) = words_behind(programs::PINGPONG_ARGUMENT) {
        return play(&words);
    }
    match run(Cli::parse()) {
        Ok(exit) => exit.into(),
        Err(failure) => {
            eprintln!("switchcost: {failure}");
            failure.exit().into()
        }
    }
}

/// What follows the first argument, if that is the given one.
fn words_behind(first: &str) -> Option<Vec<String>> {
    let mut arguments = std::env::args_os().skip(1);
    let is_first = arguments.next().is_some_and(|argument| argument == first);
    is_first.then(|| arguments.map(|word| word.to_string_lossy().into_owned()).collect())
}

fn play(words: &[String]) -> ExitCode {
    match programs::pingpong(words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("switchcost: failed to play ping-pong: {error}");
            ExitCode::FAILURE
        }
    }
}

fn serve() -> ExitCode {
    match measure::serve(std::io::stdin().lock(), std::io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("switchcost: failed to serve a repetition: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(cli: Cli) -> Result<exit::Exit, Failure> {
    match cli.verb {
        Verb::Measure(arguments) => verbs::measure::run(&arguments),
        Verb::Report(arguments) => verbs::report::run(&arguments),
        Verb::Compare(arguments) => verbs::compare::run(&arguments),
        Verb::Doctor(arguments) => verbs::doctor::run(&arguments),
        Verb::Trace(arguments) => verbs::trace::run(&arguments),
        Verb::Simulate(arguments) => verbs::simulate::run(&arguments),
        Verb::Workload(arguments) => verbs::workload::run(&arguments),
        Verb::Reproduce(arguments) => verbs::reproduce::run(&arguments),
        Verb::Completions(arguments) => verbs::completions::run(&arguments),
        Verb::Man(arguments) => verbs::man::run(&arguments),
    }
}
