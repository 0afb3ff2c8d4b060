//! A process that starts programs for this one, and ends all of them with their descendants when
//! this process ends.
//!
//! The supervisor is the parent of the programs and inherits their orphans
//! (PR_SET_CHILD_SUBREAPER), so none of their descendants can escape it. The supervisor reads a
//! pipe that only this process writes. On request, or when this process has ended for whatever
//! reason, the supervisor ends its children until none is left. The programs die with the
//! supervisor (PR_SET_PDEATHSIG).
//!
//! Programs may have their own PID namespace, whose first process is then the supervisor. In such a
//! namespace process numbers are the same each time, and /proc shows no other processes; the kernel
//! ends all its processes with the supervisor.

mod child;
mod fork;
mod inherited;
mod pid_namespace;
mod process;
mod program;
mod reports;
mod state;
mod task_files;

use std::io::{self, Read, Write};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, WaitOptions, waitpid};

pub(crate) use pid_namespace::PidNamespace;
pub use program::{Program, Report, Setting, Variables};
pub use task_files::TaskFiles;

/// Process ID of the supervisor in its own PID namespace, in which it is the first process.
pub const PID_IN_NAMESPACE: u32 = 1;

/// A running supervisor. Dropping this value ends all processes of the programs.
#[derive(Debug)]
pub struct Supervisor {
    pid: Pid,
    control: Option<std::fs::File>,
    reports: std::fs::File,
    task_files: TaskFiles,
}

impl Supervisor {
    /// Forks the supervisor. The programs are not started yet.
    ///
    /// # Errors
    ///
    /// If the kernel refuses a process or, as in many containers, a PID namespace. Also if /proc is
    /// that of another PID namespace.
    pub fn start(programs: &[Program], setting: &Setting<'_>) -> io::Result<Supervisor> {
        crate::own_proc::check()?;
        let (orders, control) = pipe_with(PipeFlags::CLOEXEC)?;
        let (reports, report_to) = pipe_with(PipeFlags::CLOEXEC)?;
        let task_files = TaskFiles::ours()?;
        let pid = process::start(state::State::new(programs, setting, orders, report_to)?)?;
        let mut supervisor = Supervisor {
            pid,
            control: Some(control.into()),
            reports: reports.into(),
            task_files,
        };
        reports::settled(supervisor.read()?)?;
        if setting.in_pid_namespace {
            supervisor.task_files = TaskFiles::seen_by(pid)
                .map_err(|error| pid_namespace::Step::Show.refused(error))?;
        }
        Ok(supervisor)
    }

    /// Returns access to the kernel's files about the programs' tasks, by the IDs in the programs'
    /// PID namespace.
    pub fn task_files(&self) -> &TaskFiles {
        &self.task_files
    }

    /// Returns the process ID of the supervisor.
    pub fn pid(&self) -> i32 {
        self.pid.as_raw_nonzero().get()
    }

    /// Starts the program with index `program`. [`Report::Launched`] follows.
    pub fn launch(&mut self, program: u32) -> io::Result<()> {
        let control = self
            .control
            .as_mut()
            .ok_or_else(|| io::Error::other("the supervisor has been dismissed"))?;
        control.write_all(&program.to_le_bytes())
    }

    /// Returns the next report; `None` if none comes within `timeout`.
    ///
    /// # Errors
    ///
    /// If the supervisor was killed.
    pub fn report(&mut self, timeout: Duration) -> io::Result<Option<Report>> {
        let timeout = Timespec {
            tv_sec: timeout.as_secs().min(i32::MAX as u64) as i64,
            tv_nsec: timeout.subsec_nanos().into(),
        };
        match poll(
            &mut [PollFd::new(&self.reports, PollFlags::IN)],
            Some(&timeout),
        ) {
            Ok(0) | Err(Errno::INTR) => return Ok(None),
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(Some(reports::decode(self.read()?)))
    }

    fn read(&mut self) -> io::Result<[u8; reports::BYTES]> {
        let mut bytes = [0; reports::BYTES];
        self.reports
            .read_exact(&mut bytes)
            .map_err(|error| match error.kind() {
                io::ErrorKind::UnexpectedEof => {
                    io::Error::other("the process that starts the programs was killed")
                }
                _ => error,
            })?;
        Ok(bytes)
    }

    /// Ends all programs and everything that they have started, and waits until no process is left.
    /// Unread reports remain readable.
    pub fn dismiss(&mut self) {
        if self.control.take().is_some() {
            let _ = waitpid(Some(self.pid), WaitOptions::empty());
        }
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        self.dismiss();
    }
}

/// Waits until a task that is seen as a zombie has woken its parent. The kernel does both under one
/// lock, which this function takes once.
pub fn await_notified_parents() {
    let _ = rustix::process::getpriority_pgrp(None);
}

#[cfg(test)]
mod tests;
