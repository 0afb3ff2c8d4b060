//! The keeper's own main.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, getpid, kill_process, kill_process_group, pidfd_open,
    set_child_subreaper, wait,
};

use super::settings::Settings;
use crate::twin::other_children;

/// What is asked to end has so long for it.
const GRACE: Duration = Duration::from_secs(2);
/// What undoes a set-up is done by then.
const UNDONE_WITHIN: Duration = Duration::from_secs(60);
const STEP: Duration = Duration::from_millis(2);

/// Exit code of commands that failed before the program was started, unless they have one of their own.
const SCRIPT_END: &str = "\nstatus=$?; [ \"$status\" -eq 0 ] || exit \"$status\"\n";

/// Runs the program of these words behind commands and wrapper, and undoes what they did: commands, wrapper, undoing, program, arguments.
///
/// # Errors
/// Where it could not be started, or no one reads what came of it.
pub fn keep(words: &[OsString]) -> io::Result<()> {
    let [commands, wrapper, undo, program @ ..] = words else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    set_child_subreaper(Some(getpid()))?;
    let before = Settings::now();
    let mut shell = shell(&script(commands, wrapper), program)?;
    let status = await_end(&mut shell);
    end_all(&shell);
    let mut complaints: Vec<String> = undone(undo).err().into_iter().collect();
    complaints.extend(before.put_back());
    let first = status.map_or_else(|| "stopped".to_owned(), |status| code(status).to_string());
    let report = std::iter::once(first)
        .chain(complaints)
        .map(|line| line.replace('\n', " ") + "\n");
    io::stdout().write_all(report.collect::<String>().as_bytes())
}

/// The shell stays the parent, so that what was started in the background does not become the program's.
fn script(commands: &OsStr, wrapper: &OsStr) -> OsString {
    let mut script = commands.to_owned();
    script.push(SCRIPT_END);
    script.push(wrapper);
    script.push(" \"$@\"\nexit $?");
    script
}

/// In a process group of its own.
fn shell(script: &OsStr, arguments: &[OsString]) -> io::Result<Child> {
    let log = || io::stderr().as_fd().try_clone_to_owned().map(Stdio::from);
    let mut command = Command::new("sh");
    command.arg("-c").arg(script).arg("sh").args(arguments);
    command
        .stdin(Stdio::null())
        .stdout(log()?)
        .stderr(log()?)
        .process_group(0)
        .spawn()
}

/// None where the line was cut before it ended.
fn await_end(shell: &mut Child) -> Option<ExitStatus> {
    let process = pidfd_open(Pid::from_child(shell), PidfdFlags::empty()).ok()?;
    let stdin = io::stdin();
    loop {
        let mut files = [
            PollFd::new(&process, PollFlags::IN),
            PollFd::new(&stdin, PollFlags::IN),
        ];
        match poll(&mut files, None) {
            Err(rustix::io::Errno::INTR) => continue,
            Err(_) => return None,
            Ok(_) if !files[0].revents().is_empty() => return shell.wait().ok(),
            // Nothing is ever written to it.
            Ok(_) => return None,
        }
    }
}

fn code(status: ExitStatus) -> i32 {
    status
        .code()
        .or_else(|| status.signal().map(|number| 128 + number))
        .unwrap_or(1)
}

/// All that the shell has started and that still runs, generation by generation: first asked, then ended.
fn end_all(shell: &Child) {
    let start = Instant::now();
    let mut asked: Vec<i32> = Vec::new();
    loop {
        while matches!(wait(WaitOptions::NOHANG), Ok(Some(_))) {}
        let Ok(left) = other_children(&[]) else {
            return end_group(shell);
        };
        if left.is_empty() {
            return;
        }
        let is_over = start.elapsed() > GRACE;
        for pid in left {
            if is_over || !asked.contains(&pid) {
                let _ = Pid::from_raw(pid).map(|pid| {
                    kill_process(pid, if is_over { Signal::KILL } else { Signal::TERM })
                });
                asked.push(pid);
            }
        }
        std::thread::sleep(STEP);
    }
}

/// Where the kernel does not list children, as much as has stayed in the group.
fn end_group(shell: &Child) {
    let _ = kill_process_group(Pid::from_child(shell), Signal::KILL);
}

fn undone(undo: &OsStr) -> Result<(), String> {
    if undo.is_empty() {
        return Ok(());
    }
    let failed = |why: String| format!("failed to undo with '{}': {why}", undo.to_string_lossy());
    let mut child = shell(undo, &[]).map_err(|error| failed(error.to_string()))?;
    let start = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(failed(status.to_string())),
            Ok(None) if start.elapsed() < UNDONE_WITHIN => std::thread::sleep(STEP),
            Ok(None) => {
                let _ = child.kill();
                return Err(failed(format!(
                    "still under way after {} s",
                    UNDONE_WITHIN.as_secs()
                )));
            }
            Err(error) => return Err(failed(error.to_string())),
        }
    }
}
