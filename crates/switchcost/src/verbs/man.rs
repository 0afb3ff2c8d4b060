//! `switchcost man`: the manual page, made from the definition of the flags.

use std::io;

use clap::CommandFactory;
use clap_mangen::Man;

use crate::cli::{Cli, ManArguments};
use crate::exit::{Exit, Failure};
use crate::output::Output;

pub(crate) fn run(arguments: &ManArguments) -> Result<Exit, Failure> {
    let page = page(arguments.verb.as_deref()).map_err(Failure::Print)?;
    Output::Stdout.write(&page)?;
    Ok(Exit::Success)
}

fn page(verb: Option<&str>) -> io::Result<String> {
    let mut command = Cli::command();
    command.build();
    let command = match verb {
        None => command,
        Some(verb) => command.find_subcommand(verb).cloned().ok_or_else(|| {
            io::Error::other(format!("found no verb '{verb}', need one that switchcost --help lists"))
        })?,
    };
    let mut page = Vec::new();
    Man::new(command).render(&mut page)?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}
