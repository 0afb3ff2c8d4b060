//! From the supervisor's fork to a program's first instruction. System calls only, as in the supervisor itself.

use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;

use nix::fcntl::{OFlag, open};
use nix::sched::CloneFlags;
use nix::sys::personality::{self, Persona};
use nix::sys::prctl;
use nix::sys::signal::{SigHandler, SigmaskHow, Signal, signal, sigprocmask};
use nix::sys::stat::Mode;
use nix::unistd::{ForkResult, Pid, dup2_stderr, dup2_stdin, dup2_stdout};

use super::fork::fork;
use super::reports;
use super::state::{Ready, State};

/// What the keyboard and a lost terminal send. The supervisor ends when its parent does, not before.
const KEYBOARD: [Signal; 4] = [Signal::SIGINT, Signal::SIGQUIT, Signal::SIGHUP, Signal::SIGTERM];

fn handle(signals: &[Signal], handler: SigHandler) -> nix::Result<()> {
    for &number in signals {
        // SAFETY: neither ignoring a signal nor its default action runs code of ours.
        unsafe { signal(number, handler) }?;
    }
    Ok(())
}

pub(super) fn ignore_keyboard() -> nix::Result<()> {
    handle(&KEYBOARD, SigHandler::SigIgn)
}

/// Starts a program as a child of the supervisor.
pub(super) fn start(state: &State<'_>, ready: &Ready<'_>, program: u32) -> nix::Result<Pid> {
    let supervisor = nix::unistd::getpid();
    // SAFETY: the supervisor has one thread, and the child makes system calls only.
    match unsafe { fork(CloneFlags::empty()) }? {
        ForkResult::Parent { child } => Ok(child),
        ForkResult::Child => {
            let error = become_program(state, ready, supervisor);
            let _ = reports::send_refusal(&state.report_to, program, error);
            // SAFETY: ends the child without running the parent's exit handlers.
            unsafe { libc::_exit(127) }
        }
    }
}

/// Returns only where something is refused.
fn become_program(state: &State<'_>, ready: &Ready<'_>, supervisor: Pid) -> nix::Error {
    if let Err(error) = prepare(state, ready, supervisor) {
        return error;
    }
    let (arguments, environment) = (ready.arguments.as_ptr(), ready.environment.as_ptr());
    // SAFETY: texts and lists end with zero, and belong to the supervisor's unchanged copy of the parent's memory.
    unsafe { libc::execve(ready.program.path.as_ptr(), arguments, environment) };
    nix::errno::Errno::last()
}

fn prepare(state: &State<'_>, ready: &Ready<'_>, supervisor: Pid) -> nix::Result<()> {
    prctl::set_pdeathsig(Signal::SIGKILL)?;
    if nix::unistd::getppid() != supervisor {
        return Err(nix::Error::ESRCH);
    }
    nix::unistd::setpgid(Pid::from_raw(0), Pid::from_raw(0))?;
    if state.setting.has_fixed_addresses {
        personality::set(personality::get()? | Persona::ADDR_NO_RANDOMIZE)?;
    }
    if let Some(cpus) = &state.cpus {
        nix::sched::sched_setaffinity(Pid::from_raw(0), cpus)?;
    }
    dup2_stdin(state.setting.input.as_fd())?;
    dup2_stdout(state.setting.output.as_fd())?;
    dup2_stderr(state.setting.errors.as_fd())?;
    if let Some(directory) = &ready.program.directory {
        nix::unistd::chdir(directory.as_c_str())?;
    }
    handle(&KEYBOARD, SigHandler::SigDfl)?;
    // Rust's start-up ignores it; programs expect that it ends them.
    handle(&[Signal::SIGPIPE], SigHandler::SigDfl)?;
    sigprocmask(SigmaskHow::SIG_SETMASK, Some(&state.mask), None)
}

/// The kernel's list of this process's children, as text.
pub(super) fn read_children(list: &mut [u8]) -> nix::Result<usize> {
    let file = open(
        std::ffi::OsStr::from_bytes(b"/proc/thread-self/children"),
        OFlag::O_RDONLY | OFlag::O_CLOEXEC,
        Mode::empty(),
    )?;
    nix::unistd::read(&file, list)
}
