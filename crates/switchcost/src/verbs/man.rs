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

fn described(verb: Option<&str>) -> Outcome<Command> {
    let mut command = Cli::command();
    command.build();
    match verb {
        None => Ok(command),
        Some(verb) => command.find_subcommand(verb).cloned().ok_or_else(|| {
            Failure::usage(format!(
                "there is no command '{verb}'; switchcost --help lists them"
            ))
        }),
    }
}

fn page(command: Command) -> Outcome<String> {
    let mut page = Vec::new();
    Man::new(command)
        .render(&mut page)
        .map_err(Failure::print)?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}
