//! Steps of a child from the supervisor's fork to the program's first instruction. Like the
//! supervisor, the child makes only system calls.

use std::ffi::CStr;
use std::io::Write;

use libc::c_int;
use rustix::fs::{Mode, OFlags, open};
use rustix::io::{self, Errno};
use rustix::process::{
    Pid, Signal, chdir, getpid, getppid, set_parent_process_death_signal, setpgid,
};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};
use rustix::thread::sched_setaffinity;

use super::fork::fork;
use super::reports;
use super::state::{Ready, State};
use crate::cleanup::CLEANUP_ARGUMENT;
use crate::errno;
use crate::fixed_addresses::fix_addresses;
use crate::signal_action::SignalAction;

/// Signals of the keyboard (SIGINT, SIGQUIT) and of a lost terminal (SIGHUP), and SIGTERM. The
/// supervisor ignores these signals, and ends when its parent ends.
const KEYBOARD: [c_int; 4] = [libc::SIGINT, libc::SIGQUIT, libc::SIGHUP, libc::SIGTERM];

fn set_all(signals: &[c_int], action: SignalAction) -> io::Result<()> {
    for &signal in signals {
        // SAFETY: neither ignoring a signal nor its default action runs code of ours.
        unsafe { action.set(signal) }?;
    }
    Ok(())
}

pub(super) fn ignore_keyboard() -> io::Result<()> {
    set_all(&KEYBOARD, SignalAction::ignored())
}

/// Starts a program as a child of the supervisor.
pub(super) fn start(state: &State<'_>, ready: &Ready<'_>, program: u32) -> io::Result<Pid> {
    let supervisor = getpid();
    // SAFETY: the supervisor has one thread, and the child makes system calls only.
    match unsafe { fork(0) }? {
        Some(child) => Ok(child),
        None => {
            let error = become_program(state, ready, supervisor);
            let _ = reports::send_refusal(&state.report_to, program, error);
            // SAFETY: ends the child without running the parent's exit handlers.
            unsafe { libc::_exit(127) }
        }
    }
}

/// Executes the program in the child. Returns only if the kernel refuses something.
fn become_program(state: &State<'_>, ready: &Ready<'_>, supervisor: Pid) -> Errno {
    if let Err(error) = prepare(state, ready, supervisor) {
        return error;
    }
    let (arguments, environment) = (ready.arguments.as_ptr(), ready.environment.as_ptr());
    // SAFETY: texts and lists end with zero, and belong to the supervisor's unchanged copy of the parent's memory.
    unsafe { libc::execve(ready.program.path.as_ptr(), arguments, environment) };
    errno::last()
}

fn prepare(state: &State<'_>, ready: &Ready<'_>, supervisor: Pid) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    if getppid() != Some(supervisor) {
        return Err(Errno::SRCH);
    }
    setpgid(None, None)?;
    if state.setting.has_fixed_addresses {
        fix_addresses()?;
    }
    if let Some(cpus) = &state.cpus {
        sched_setaffinity(None, cpus)?;
    }
    dup2_stdin(&state.setting.input)?;
    dup2_stdout(&state.setting.output)?;
    dup2_stderr(&state.setting.errors)?;
    if let Some(directory) = &ready.program.directory {
        chdir(directory.as_c_str())?;
    }
    set_all(&KEYBOARD, SignalAction::default())?;
    // Rust's start-up code ignores SIGPIPE. Programs expect that the signal ends them.
    set_all(&[libc::SIGPIPE], SignalAction::default())?;
    state.mask.block_only()
}

/// Reads the IDs of this process's children from /proc into `list`, as text. Returns the length of
/// the text.
pub(super) fn read_children(list: &mut [u8]) -> io::Result<usize> {
    read(c"/proc/thread-self/children", list)
}

/// Whether a child is a cleanup helper, as its arguments show.
pub(super) fn is_cleanup_helper(pid: i32) -> bool {
    let (mut path, mut words) = ([0; 32], [0; 64]);
    let count = write!(&mut path[..], "/proc/{pid}/cmdline\0")
        .ok()
        .and_then(|()| CStr::from_bytes_until_nul(&path).ok())
        .and_then(|path| read(path, &mut words).ok());
    words[..count.unwrap_or(0)]
        .split(|byte| *byte == 0)
        .nth(1)
        .is_some_and(|word| word == CLEANUP_ARGUMENT.as_bytes())
}

fn read(path: &CStr, text: &mut [u8]) -> io::Result<usize> {
    let file = open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    io::read(&file, text)
}
