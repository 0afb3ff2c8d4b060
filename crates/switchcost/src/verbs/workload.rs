//! `switchcost workload`: the programs of Mogul and Borg 1990, traced and simulated as they run.

use std::io::{self, ErrorKind};
use std::path::Path;

use capture::Command;
use programs::{Program, Set};
use tempfile::{Builder, TempDir};

use super::simulate;
use super::trace::capture::{Session, order};
use crate::cli::simulate::WorkloadArguments;
use crate::exit::{Exit, Failure};

pub(crate) fn run(arguments: &WorkloadArguments) -> Result<Exit, Failure> {
    let folder = folder(&std::env::temp_dir()).map_err(Failure::Folder)?;
    let own_path = std::env::current_exe().map_err(Failure::Folder)?;
    let programs = arguments.set.prepare(folder.path(), arguments.seed, &own_path)?;
    let commands = programs.into_iter().map(command).collect();
    let session =
        Session::new(commands, order(arguments.order, arguments.quantum), None, Some(arguments.switches))?.silenced();
    // Segments of client and server are a few thousand instructions long.
    let interval = if arguments.set == Set::ClientServer { 1_000 } else { 10_000 };
    simulate::live(session, &arguments.designs, interval, arguments.output.as_deref())
}

/// Nobody has so many trials at once.
const MOST_FOLDERS: u32 = 10_000;

/// A new folder. Programs may make addresses from the paths of their files, so it has no random name but the first that is free:
/// the same in each run.
fn folder(within: &Path) -> io::Result<TempDir> {
    let named = |number| Builder::new().prefix(&format!("switchcost-{number}")).rand_bytes(0).tempdir_in(within);
    let is_free =
        |made: &io::Result<TempDir>| !made.as_ref().is_err_and(|error| error.kind() == ErrorKind::AlreadyExists);
    (1..MOST_FOLDERS).map(named).find(is_free).unwrap_or_else(|| tempfile::tempdir_in(within))
}

fn command(program: Program) -> Command {
    let mut command = Command::new(program.arguments);
    command.directory = Some(program.folder);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_the_first_name_that_is_free() {
        let within = tempfile::tempdir().expect("room");
        let one = folder(within.path()).expect("room");
        let two = folder(within.path()).expect("room");
        let name = |folder: &TempDir| folder.path().strip_prefix(within.path()).map(Path::to_owned).expect("within");
        assert_eq!([name(&one), name(&two)], ["switchcost-1", "switchcost-2"].map(Path::new));
        drop(one);
        assert_eq!(name(&folder(within.path()).expect("room")), Path::new("switchcost-1"));
    }
}
