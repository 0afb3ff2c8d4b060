//! State of the supervisor. The state is allocated before the fork, because the supervisor
//! allocates no memory.

use std::ffi::c_char;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};

use rustix::thread::CpuSet;

use super::inherited::inherited;
use super::pid_namespace::PidNamespace;
use super::program::{Program, Setting};
use crate::control::cpu_set;
use crate::signal_set::SignalSet;

/// A program with its arguments and environment in the form that execve(2) takes.
pub(super) struct Ready<'a> {
    pub(super) program: &'a Program,
    pub(super) arguments: Vec<*const c_char>,
    pub(super) environment: Vec<*const c_char>,
}

impl<'a> Ready<'a> {
    fn new(program: &'a Program) -> Ready<'a> {
        let pointers = |texts: &[std::ffi::CString]| {
            texts
                .iter()
                .map(|text| text.as_ptr())
                .chain([std::ptr::null()])
                .collect()
        };
        Ready {
            program,
            arguments: pointers(&program.arguments),
            environment: pointers(&program.environment),
        }
    }
}

/// All data of the supervisor.
pub(super) struct State<'a> {
    pub(super) programs: Vec<Ready<'a>>,
    /// Process ID of each program; 0 before its start and after it has been reaped.
    pub(super) pids: Vec<i32>,
    pub(super) setting: &'a Setting<'a>,
    pub(super) pid_namespace: Option<PidNamespace>,
    pub(super) cpus: Option<CpuSet>,
    pub(super) mask: SignalSet,
    pub(super) orders: OwnedFd,
    pub(super) report_to: OwnedFd,
    /// Descriptors that the supervisor does not close, in ascending order.
    pub(super) kept: Vec<RawFd>,
}

impl<'a> State<'a> {
    pub(super) fn new(
        programs: &'a [Program],
        setting: &'a Setting<'a>,
        orders: OwnedFd,
        report_to: OwnedFd,
    ) -> io::Result<State<'a>> {
        let mut state = State {
            pids: vec![0; programs.len()],
            programs: programs.iter().map(Ready::new).collect(),
            setting,
            pid_namespace: setting.in_pid_namespace.then(PidNamespace::find),
            cpus: setting.cpu.map(|cpu| cpu_set(&[cpu])).transpose()?,
            mask: SignalSet::blocked()?,
            orders,
            report_to,
            kept: crate::temporary::locks(),
        };
        state.kept.extend(
            [
                &state.orders,
                &state.report_to,
                &setting.input,
                &setting.output,
                &setting.errors,
            ]
            .map(AsRawFd::as_raw_fd),
        );
        state
            .kept
            .extend(setting.shared.map(|file| file.as_fd().as_raw_fd()));
        if setting.has_callers_files {
            state.kept.extend(inherited()?);
        }
        state.kept.sort_unstable();
        Ok(state)
    }
}
