//! `switchcost workload`: the programs of Mogul and Borg 1990, traced and simulated as they run.

use capture::Command;
use programs::{Program, Set};

use super::simulate;
use super::trace::capture::{Session, order};
use crate::cli::simulate::WorkloadArguments;
use crate::exit::{Exit, Failure};

pub(crate) fn run(arguments: &WorkloadArguments) -> Result<Exit, Failure> {
    let folder = tempfile::Builder::new().prefix("switchcost-").tempdir().map_err(Failure::Folder)?;
    let own_path = std::env::current_exe().map_err(Failure::Folder)?;
    let programs = arguments.set.prepare(folder.path(), arguments.seed, &own_path)?;
    let commands = programs.into_iter().map(command).collect();
    let session =
        Session::new(commands, order(arguments.order, arguments.quantum), None, Some(arguments.switches))?.silenced();
    // Segments of client and server are a few thousand instructions long.
    let interval = if arguments.set == Set::ClientServer { 1_000 } else { 10_000 };
    simulate::live(session, &arguments.designs, interval, arguments.output.as_deref())
}

fn command(program: Program) -> Command {
    let mut command = Command::new(program.arguments);
    command.directory = Some(program.folder);
    command
}
