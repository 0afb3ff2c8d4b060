//! `switchcost man`: the manual page, made from the definition of the flags.

use clap::CommandFactory;
use clap_mangen::Man;

use crate::cli::{Cli, ManArguments};
use crate::exit::{Exit, Failure};
use crate::output::Output;

pub(crate) fn run(arguments: &ManArguments) -> Result<Exit, Failure> {
    let page = page(arguments.verb.as_deref())?;
    Output::STDOUT.write(&page)?;
    Ok(Exit::Success)
}

fn page(verb: Option<&str>) -> Result<String, Failure> {
    let mut command = Cli::command();
    command.build();
    let command = match verb {
        None => command,
        Some(verb) => command.find_subcommand(verb).cloned().ok_or_else(|| Failure::NoVerb(verb.to_owned()))?,
    };
    let mut page = Vec::new();
    Man::new(command).render(&mut page).map_err(Failure::Print)?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}
