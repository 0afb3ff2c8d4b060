//! What is asked of a supervisor, and what it reports.

use std::ffi::CString;
use std::os::fd::OwnedFd;
use std::process::ExitStatus;

use switchcost_units::CpuId;

use crate::shared_file::SharedFile;

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
    /// Whether they live in a PID namespace of their own.
    pub in_pid_namespace: bool,
    /// Memory that the supervisor holds open, so that those in a PID namespace find it at `shared.path_at(PID_IN_NAMESPACE)`.
    pub shared: Option<&'a SharedFile>,
    /// The only CPU that they may run on.
    pub cpu: Option<CpuId>,
    /// Whether addresses stay where they are from run to run (ADDR_NO_RANDOMIZE).
    pub has_fixed_addresses: bool,
    /// Whether they also have the files that our caller has opened for what it starts.
    pub has_callers_files: bool,
    /// What they read as standard input.
    pub input: OwnedFd,
    /// What they write as standard output.
    pub output: OwnedFd,
    /// What they write as standard error.
    pub errors: OwnedFd,
}

/// What the supervisor reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Report {
    /// A program has a process.
    Launched {
        /// Which program.
        program: u32,
        /// The number of its process, in the PID namespace of the programs, where they have one.
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
