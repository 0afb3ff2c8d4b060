//! `switchcost man`: prints the manual page, or the definition of the flags as JSON for programs.

pub(crate) mod flags;

use clap::{Command, CommandFactory};
use clap_mangen::Man;

use crate::cli::Cli;
use crate::cli::man::{ManArguments, ManFormat};
use crate::exit::{Exit, Failure, Outcome};
use crate::output::Output;

pub(crate) fn run(arguments: &ManArguments) -> Outcome<Exit> {
    let command = described(arguments.verb.as_deref())?;
    let text = match arguments.format {
        ManFormat::Roff => page(command)?,
        ManFormat::Json => flags::json(&command),
    };
    Output::STDOUT.write(&text)?;
    Ok(Exit::Success)
}

/// Returns the description of a command, such as `measure` or `trace-check`.
fn described(verb: Option<&str>) -> Outcome<Command> {
    // A list of commands would name a page of `help`, which there is not.
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    let Some(verb) = verb else {
        return Ok(command);
    };
    let name = format!("{}-{verb}", command.get_name());
    found(&command, &name).cloned().ok_or_else(|| {
        Failure::usage(format!(
            "there is no command '{verb}'; switchcost --help lists them"
        ))
    })
}

/// Returns the command below `command` whose page has this name.
fn found<'a>(command: &'a Command, name: &str) -> Option<&'a Command> {
    command
        .get_subcommands()
        .find_map(|below| match below.get_display_name() == Some(name) {
            true => Some(below),
            false => found(below, name),
        })
}

fn page(command: Command) -> Outcome<String> {
    let mut page = Vec::new();
    Man::new(command)
        .render(&mut page)
        .map_err(Failure::print)?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}
