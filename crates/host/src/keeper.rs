//! A process that starts programs for us, and ends all of them and whatever they started when we end.
//!
//! The keeper is the parent of the programs and inherits their orphans (PR_SET_CHILD_SUBREAPER), so nothing that they
//! start can get away from it. It reads a pipe that only we write: when we ask it to, or when we are gone, however we
//! went, it kills its children until it has none. The programs die with the keeper (PR_SET_PDEATHSIG).
//!
//! Programs may live *apart*: then the keeper is the first process of a namespace, whose numbers are the same each time
//! and whose /proc shows nobody else; the kernel ends all in it with the keeper.

mod apart;
mod child;
mod process;
mod task_files;

use std::ffi::CString;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::process::ExitStatus;
use std::time::Duration;

use nix::fcntl::OFlag;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::Pid;
use units::CpuId;

use crate::shared_file::SharedFile;
pub use task_files::TaskFiles;

/// The number of the keeper among programs that live apart: the kernel gives it to the first of a namespace.
pub const KEEPER_APART: u32 = 1;

/// A program to start.
#[derive(Debug)]
pub struct Program {
    /// The file to execute.
    pub path: CString,
    /// Its arguments, the zeroth included.
    pub arguments: Vec<CString>,
    /// Its environment, `NAME=value` each.
    pub environment: Vec<CString>,
    /// Where it starts; where we are without it.
    pub directory: Option<CString>,
}

/// How all programs are started.
#[derive(Debug)]
pub struct Setting<'a> {
    /// Whether they live apart.
    pub is_apart: bool,
    /// Memory that the keeper holds open, so that they find it at `shared.path_at(KEEPER_APART)` where they live apart.
    pub shared: Option<&'a SharedFile>,
    /// The only CPU that they may run on.
    pub cpu: Option<CpuId>,
    /// Whether addresses stay where they are from run to run (ADDR_NO_RANDOMIZE).
    pub has_fixed_addresses: bool,
    /// What they read as standard input.
    pub input: OwnedFd,
    /// What they write as standard output.
    pub output: OwnedFd,
    /// What they write as standard error.
    pub errors: OwnedFd,
}

/// What the keeper tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Report {
    /// A program has a process.
    Launched {
        /// Which program.
        program: u32,
        /// The number of its process, among those of the programs where they live apart.
        pid: i32,
    },
    /// The kernel refused to start it.
    Refused {
        /// Which program.
        program: u32,
        /// The kernel's error number.
        error: i32,
    },
    /// It ended.
    Ended {
        /// Which program.
        program: u32,
        /// How.
        status: ExitStatus,
    },
}

/// A keeper at work. When it is dropped, no process of the programs is left.
#[derive(Debug)]
pub struct Keeper {
    pid: Pid,
    control: Option<std::fs::File>,
    reports: std::fs::File,
    task_files: TaskFiles,
}

impl Keeper {
    /// Forks the keeper. It starts nothing yet.
    ///
    /// # Errors
    /// Where the kernel refuses something; that programs live apart is refused in many containers.
    pub fn start(programs: &[Program], setting: &Setting<'_>) -> io::Result<Keeper> {
        let (orders, control) = nix::unistd::pipe2(OFlag::O_CLOEXEC)?;
        let (reports, told) = nix::unistd::pipe2(OFlag::O_CLOEXEC)?;
        let task_files = TaskFiles::ours()?;
        let pid = process::start(process::Keeping::new(programs, setting, orders, told)?)?;
        let mut keeper = Keeper { pid, control: Some(control.into()), reports: reports.into(), task_files };
        process::settled(keeper.read()?)?;
        if setting.is_apart {
            keeper.task_files = TaskFiles::seen_by(pid).map_err(|error| apart::Step::Show.refused(error))?;
        }
        Ok(keeper)
    }

    /// The kernel's files about the programs' tasks, by the numbers that they have among themselves.
    pub fn task_files(&self) -> &TaskFiles {
        &self.task_files
    }

    /// The kernel's number of the keeper.
    pub fn pid(&self) -> i32 {
        self.pid.as_raw()
    }

    /// Has program number `program` started; [`Report::Launched`] follows.
    pub fn launch(&mut self, program: u32) -> io::Result<()> {
        let control = self.control.as_mut().ok_or_else(|| io::Error::other("the keeper has been dismissed"))?;
        control.write_all(&program.to_le_bytes())
    }

    /// The next report, if one comes within `patience`.
    ///
    /// # Errors
    /// Where the keeper was killed.
    pub fn report(&mut self, patience: Duration) -> io::Result<Option<Report>> {
        let timeout = PollTimeout::try_from(patience).unwrap_or(PollTimeout::MAX);
        match poll(&mut [PollFd::new(self.reports.as_fd(), PollFlags::POLLIN)], timeout) {
            Ok(0) | Err(nix::errno::Errno::EINTR) => return Ok(None),
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(Some(process::decode(self.read()?)))
    }

    fn read(&mut self) -> io::Result<[u8; process::REPORT_BYTES]> {
        let mut bytes = [0; process::REPORT_BYTES];
        self.reports.read_exact(&mut bytes).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => io::Error::other("the process that starts the programs was killed"),
            _ => error,
        })?;
        Ok(bytes)
    }

    /// Ends all programs and everything they started, and waits until they are gone.
    pub fn dismiss(&mut self) {
        if self.control.take().is_some() {
            let _ = nix::sys::wait::waitpid(self.pid, None);
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.dismiss();
    }
}

/// Waits until whoever is seen to be a zombie has also woken its parent: the kernel does both under one lock, which this
/// takes once.
pub fn await_notified_parents() {
    let _ = rustix::process::getpriority_pgrp(None);
}

#[cfg(test)]
mod tests;
