//! `switchcost completions`: prints completion scripts for shells, generated from the definition of
//! the flags.

use clap::CommandFactory;

use crate::cli::{Cli, CompletionsArguments};
use crate::exit::{Exit, Outcome};
use crate::output::Output;

pub(crate) fn run(arguments: &CompletionsArguments) -> Outcome<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(
        arguments.shell,
        &mut Cli::command(),
        "switchcost",
        &mut script,
    );
    Output::STDOUT.write(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Success)
}
