//! The process of the supervisor. The supervisor is forked from a process that may have several
//! threads, so it makes only system calls. Everything that takes memory is prepared before the
//! fork.

use std::io;
use std::os::fd::{OwnedFd, RawFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitOptions, getpid, kill_process, set_child_subreaper, setsid, wait,
};

use super::child;
use super::fork::fork;
use super::pid_namespace::{PidNamespace, Step};
use super::reports::{self, ENDED, LAUNCHED, SETTLED};
use super::state::State;
use crate::cleanup_steps;
use crate::signal_set::SignalSet;

/// Forks the supervisor. Returns only in the parent. The supervisor's first report says whether a
/// step was refused.
pub(super) fn start(mut state: State<'_>) -> io::Result<Pid> {
    let flags = state.pid_namespace.as_ref().map_or(0, PidNamespace::flags);
    let refused = |error: Errno| {
        if flags == 0 {
            error.into()
        } else {
            Step::Clone.refused(error)
        }
    };
    // SAFETY: the child makes system calls only, and never returns: it takes no lock and no memory.
    match unsafe { fork(flags) }.map_err(refused)? {
        Some(supervisor) => Ok(supervisor),
        None => {
            let code = if supervise(&mut state).is_ok() { 0 } else { 1 };
            // SAFETY: ends the child without running the parent's exit handlers a second time.
            unsafe { libc::_exit(code) }
        }
    }
}

fn supervise(state: &mut State<'_>) -> rustix::io::Result<()> {
    let settled = settle(state);
    let (step, error) = settled
        .as_ref()
        .err()
        .map_or((0, 0), |&(step, error)| (step as u32, error.raw_os_error()));
    reports::send(&state.report_to, SETTLED, step, error)?;
    let signals = settled.map_err(|(_, error)| error)?;
    let outcome = serve(state, &signals);
    end_children(state);
    outcome
}

fn settle(state: &State<'_>) -> Result<OwnedFd, (Step, Errno)> {
    // A process that waits for the end of a pipe must not wait for the supervisor.
    close_others(&state.kept);
    if let Some(pid_namespace) = &state.pid_namespace {
        pid_namespace.enter()?;
    }
    leave_parent().map_err(|error| (Step::Leave, error))
}

/// Leaves the terminal and the signals of the parent. Returns a file from which the supervisor
/// reads SIGCHLD.
fn leave_parent() -> rustix::io::Result<OwnedFd> {
    // Any nonzero number means true.
    set_child_subreaper(Some(getpid()))?;
    setsid()?;
    child::ignore_keyboard()?;
    // A blocked signal also reaches the first process of a namespace.
    let ends = SignalSet::new(&[libc::SIGCHLD]);
    ends.block_only()?;
    ends.file()
}

/// Closes every file except `kept`. A pipe of another thread of the parent must not stay open
/// because of the supervisor.
fn close_others(kept: &[RawFd]) {
    let mut first = 0;
    for &fd in kept {
        if first < fd {
            close_range(first, fd - 1);
        }
        first = fd + 1;
    }
    close_range(first, RawFd::MAX);
}

fn close_range(first: RawFd, last: RawFd) {
    // SAFETY: closes files that this process no longer uses.
    unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
}

/// Serves requests until the parent closes the pipe or has ended.
fn serve(state: &mut State<'_>, signals: &OwnedFd) -> rustix::io::Result<()> {
    loop {
        let mut ready = [
            PollFd::new(&state.orders, PollFlags::IN),
            PollFd::new(signals, PollFlags::IN),
        ];
        poll(&mut ready, None)?;
        let [is_ordered, has_ended] = ready.map(|file| !file.revents().is_empty());
        if is_ordered && !take_order(state)? {
            return Ok(());
        }
        if has_ended {
            // All children that have ended are reaped, so the signal's information is not needed.
            while rustix::io::read(signals, &mut [0; size_of::<libc::signalfd_siginfo>()]).is_ok() {
            }
            while let Ok(Some((pid, status))) = reap() {
                report_end(state, pid, status)?;
            }
        }
    }
}

/// Reads a request from the pipe and carries it out. Returns false if there is no request and no
/// more can come.
fn take_order(state: &mut State<'_>) -> rustix::io::Result<bool> {
    let mut bytes = [0; 4];
    if rustix::io::read(&state.orders, &mut bytes)? != bytes.len() {
        return Ok(false);
    }
    let program = u32::from_le_bytes(bytes);
    let Some(ready) = state.programs.get(program as usize) else {
        return Ok(true);
    };
    match child::start(state, ready, program) {
        Ok(pid) => {
            let pid = pid.as_raw_nonzero().get();
            state.pids[program as usize] = pid;
            reports::send(&state.report_to, LAUNCHED, program, pid)?;
        }
        Err(error) => reports::send_refusal(&state.report_to, program, error)?,
    }
    Ok(true)
}

fn report_end(state: &mut State<'_>, pid: i32, status: i32) -> rustix::io::Result<()> {
    let Some(program) = state.pids.iter().position(|&own| own == pid) else {
        return Ok(());
    };
    state.pids[program] = 0;
    reports::send(&state.report_to, ENDED, program as u32, status)
}

/// Returns the process ID and the raw status of a child that has ended; `None` if none has. An
/// error means that there are no children.
fn reap() -> rustix::io::Result<Option<(i32, i32)>> {
    match wait(WaitOptions::NOHANG) {
        Err(Errno::INTR) => Ok(None),
        ended => Ok(ended?.map(|(pid, status)| (pid.as_raw_nonzero().get(), status.as_raw()))),
    }
}

/// Ends and reaps children until none is left. Children of a process that ends become the
/// supervisor's own children, and follow. If there is a grace time, each child is first asked to
/// end. A cleanup helper of an ended program may first finish its step.
fn end_children(state: &mut State<'_>) {
    let end = Instant::now() + state.setting.grace;
    let helpers_end = end + cleanup_steps::LONGEST;
    let mut asked = Asked([0; MOST_ASKED]);
    loop {
        let now = Instant::now();
        visit_children(state, |pid| {
            if now < helpers_end && child::is_cleanup_helper(pid) {
                return;
            }
            if now >= end {
                send(pid, Signal::KILL);
            } else if asked.is_new(pid) {
                send(pid, Signal::TERM);
            }
        });
        loop {
            match reap() {
                Ok(Some((pid, status))) => drop(report_end(state, pid, status)),
                Ok(None) => break,
                Err(_) => return,
            }
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Maximum number of children that are asked to end. Others are only killed.
const MOST_ASKED: usize = 512;

/// IDs of the children that were asked to end, stored without allocation.
struct Asked([i32; MOST_ASKED]);

impl Asked {
    fn is_new(&mut self, pid: i32) -> bool {
        match self
            .0
            .iter_mut()
            .find(|known| **known == 0 || **known == pid)
        {
            Some(place) if *place == 0 => {
                *place = pid;
                true
            }
            _ => false,
        }
    }
}

/// Calls `end` with the IDs of the children, up to 4 KiB of text, and with the IDs of the programs.
/// Only the supervisor reaps its children, so their IDs are not reused.
fn visit_children(state: &State<'_>, mut end: impl FnMut(i32)) {
    let mut list = [0; 4096];
    let bytes = child::read_children(&mut list).unwrap_or(0);
    let mut pid = 0;
    for &byte in &list[..bytes] {
        if byte.is_ascii_digit() {
            pid = pid * 10 + i32::from(byte - b'0');
        } else if pid > 0 {
            end(pid);
            pid = 0;
        }
    }
    state
        .pids
        .iter()
        .copied()
        .filter(|&pid| pid > 0)
        .for_each(end);
}

fn send(pid: i32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(pid) {
        let _ = kill_process(pid, signal);
    }
}
