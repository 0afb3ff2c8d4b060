//! `switchcost workload`: traces and simulates the programs of Mogul and Borg 1990 as they run.

use std::io::ErrorKind;
use std::path::Path;

use switchcost_capture::{Command, PlacedFolder, ToolError};
use switchcost_host::temporary::TemporaryFolder;
use switchcost_programs::{Program, Set};
use switchcost_record::trust::find_program;

use super::simulate;
use super::trace::capture::{Session, order};
use super::trace::system::LiveGuest;
use crate::cli::simulate::WorkloadArguments;
use crate::cli::trace::TURN_SEED;
use crate::exit::{Exit, Failure, Outcome};

pub(crate) fn run(arguments: &WorkloadArguments) -> Outcome<Exit> {
    let folder = TemporaryFolder::create_in(&std::env::temp_dir()).map_err(Failure::folder)?;
    let programs = arguments.set.prepare(folder.path(), arguments.seed)?;
    programs.iter().try_for_each(check)?;
    // Segments of the client and the server have only a few thousand instructions.
    let interval = if arguments.set == Set::ClientServer {
        1_000
    } else {
        10_000
    };
    let stretch = simulate::Stretch {
        interval,
        skipped_switches: arguments.skip,
    };
    let switches = arguments.skip.saturating_add(arguments.switches);
    let output = arguments.trace.as_deref();
    if arguments.system {
        let guest = guest(programs, arguments, switches, folder.path())?;
        return simulate::live(guest, &arguments.designs, stretch, output).map(set_exit);
    }
    let temporary = folder.path().join("tmp");
    std::fs::create_dir(&temporary).map_err(Failure::folder)?;
    let commands = programs
        .into_iter()
        .map(|program| command(program, &temporary))
        .collect();
    let mut session = Session::new(
        commands,
        order(arguments.order, arguments.quantum, TURN_SEED)?,
        None,
        Some(switches),
    )?
    .discard_output();
    if let Some(every) = arguments.preempt_every {
        session = session.preempted(every, arguments.seed);
    }
    simulate::live(session, &arguments.designs, stretch, output).map(set_exit)
}

/// Returns an error for a program in PATH that root should not execute. A missing program is
/// reported later, when it is started.
fn check(program: &Program) -> Outcome {
    let name = program.arguments.first().map(|name| name.to_string_lossy());
    let name = name.as_deref().unwrap_or_default();
    match find_program(name) {
        Err(why) if why.kind() != ErrorKind::NotFound => {
            Err(ToolError::untrusted(Path::new(name), &why).into())
        }
        _ => Ok(()),
    }
}

/// Returns the exit code of the workload. The exit codes of its programs are not passed on, because
/// the user did not choose these programs.
fn set_exit(exit: Exit) -> Exit {
    if matches!(exit, Exit::Command(_)) {
        Exit::Partial
    } else {
        exit
    }
}

/// Path of the inputs in a guest, which is the same in each run.
const IN_GUEST: &str = "/programs";

fn guest(
    programs: Vec<Program>,
    arguments: &WorkloadArguments,
    switches: u64,
    folder: &Path,
) -> Outcome<LiveGuest> {
    let commands = programs.into_iter().map(|program| {
        let within = program
            .folder
            .strip_prefix(folder)
            .unwrap_or(&program.folder);
        Command {
            directory: Some(Path::new(IN_GUEST).join(within)),
            ..Command::new(program.arguments)
        }
    });
    let placed = PlacedFolder {
        here: folder.to_owned(),
        there: IN_GUEST.into(),
    };
    LiveGuest::new(
        commands.collect(),
        &arguments.guest,
        arguments.quantum,
        switches,
        arguments.set.uses()?,
        placed,
    )
}

/// Creates the command of a program. Its temporary files go to switchcost's temporary folder, and
/// are removed together with that folder.
fn command(program: Program, temporary: &Path) -> Command {
    let mut command = Command::new(program.arguments);
    command.directory = Some(program.folder);
    command.environment = vec![("TMPDIR".into(), temporary.into())];
    command
}
