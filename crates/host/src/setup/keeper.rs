//! Main function of a keeper: see [`crate::setup`].

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::settings::Settings;
use crate::bounded::{Bounds, Unfinished, run};
use crate::supervisor::Program;

/// Time between asking a process to end and killing it.
const GRACE: Duration = Duration::from_secs(2);
/// Longest time for undoing a set-up.
const UNDONE_WITHIN: Duration = Duration::from_secs(60);

/// Last part of the script before the program: if the commands failed, the script exits with their
/// exit code.
const SCRIPT_END: &str = "\nstatus=$?; [ \"$status\" -eq 0 ] || exit \"$status\"\n";

/// Runs a program in its set-up, and undoes the set-up afterwards. `words` are the commands, the
/// wrapper, the undo commands and the program.
///
/// # Errors
///
/// If the program could not be started, or if no process reads the outcome.
pub fn keep(words: &[OsString]) -> io::Result<()> {
    let [commands, wrapper, undo, program @ ..] = words else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let before = Settings::now();
    let bounds = Bounds {
        longest: Duration::MAX,
        grace: GRACE,
        should_stop: &is_abandoned,
    };
    let status = match shell(&script(commands, wrapper), program, &bounds) {
        Err(Unfinished::Refused(error)) => return Err(error),
        outcome => outcome.ok(),
    };
    let mut complaints: Vec<String> = undone(undo).err().into_iter().collect();
    complaints.extend(before.put_back());
    let first = status.map_or_else(|| "stopped".to_owned(), |status| code(status).to_string());
    let report = std::iter::once(first)
        .chain(complaints)
        .map(|line| line.replace('\n', " ") + "\n");
    io::stdout().write_all(report.collect::<String>().as_bytes())
}

/// Returns the script of a set-up. The shell remains the program's parent, so that the program does
/// not inherit background processes as children.
fn script(commands: &OsStr, wrapper: &OsStr) -> OsString {
    let mut script = commands.to_owned();
    script.push(SCRIPT_END);
    script.push(wrapper);
    script.push(" \"$@\"\nexit $?");
    script
}

/// Runs commands in a shell. All output of the commands goes to standard error.
fn shell(
    script: &OsStr,
    arguments: &[OsString],
    bounds: &Bounds<'_>,
) -> Result<ExitStatus, Unfinished> {
    let log = || io::stderr().as_fd().try_clone_to_owned();
    run(Program::shell(script, arguments)?, log()?, log()?, bounds)
}

/// Whether the run has closed the connection or has ended. Nothing is ever written to the
/// connection.
fn is_abandoned() -> bool {
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    poll(&mut [PollFd::new(&io::stdin(), PollFlags::IN)], Some(&now)).is_ok_and(|ready| ready > 0)
}

fn code(status: ExitStatus) -> i32 {
    status
        .code()
        .or_else(|| status.signal().map(|number| 128 + number))
        .unwrap_or(1)
}

fn undone(undo: &OsStr) -> Result<(), String> {
    if undo.is_empty() {
        return Ok(());
    }
    let bounds = Bounds {
        longest: UNDONE_WITHIN,
        grace: Duration::ZERO,
        should_stop: &|| false,
    };
    let why = match shell(undo, &[], &bounds) {
        Ok(status) if status.success() => return Ok(()),
        Ok(status) => status.to_string(),
        Err(why) => why.to_string(),
    };
    Err(format!(
        "the undo command '{}' failed ({why})",
        undo.to_string_lossy()
    ))
}
