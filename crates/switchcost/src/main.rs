//! The `switchcost` program: flags, one file a verb, exit codes. The only crate that sees all others.

mod cli;
mod exit;
mod output;
mod progress;
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
    match run(Cli::parse()) {
        Ok(exit) => exit.into(),
        Err(failure) => {
            eprintln!("switchcost: {failure}");
            failure.exit().into()
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
        Verb::Doctor(arguments) => verbs::doctor::run(&arguments),
        Verb::Completions(arguments) => verbs::completions::run(&arguments),
        Verb::Man(arguments) => verbs::man::run(&arguments),
    }
}
