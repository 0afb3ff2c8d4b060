//! Requests to a supervisor, and its reports.

use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use switchcost_record::trust::search_path;
use switchcost_units::CpuId;

use crate::shared_file::SharedFile;

/// A program that a supervisor can start.
#[derive(Debug)]
pub struct Program {
    /// Path of the file to execute.
    pub path: CString,
    /// Arguments of the program, beginning with argument 0.
    pub arguments: Vec<CString>,
    /// Environment variables, `NAME=value` each.
    pub environment: Vec<CString>,
    /// Folder in which the program starts; `None` for the current folder.
    pub directory: Option<CString>,
}

/// Environment variables, each a name and a value.
pub type Variables = Vec<(OsString, OsString)>;

impl Program {
    /// Creates a program from its words, of which the first is a path or a name in PATH.
    ///
    /// # Errors
    ///
    /// If there is no such program, or a word contains a zero byte.
    pub fn new(
        words: impl IntoIterator<Item = impl Into<OsString>>,
        environment: Variables,
        directory: Option<&Path>,
    ) -> io::Result<Program> {
        let words: Vec<OsString> = words.into_iter().map(Into::into).collect();
        let path = locate(
            words.first().map_or(OsStr::new(""), OsString::as_os_str),
            &environment,
        )?;
        let variable = |(name, value): (OsString, OsString)| {
            let mut text = name;
            text.push("=");
            text.push(value);
            zero_terminated(text)
        };
        Ok(Program {
            path: zero_terminated(path.into())?,
            arguments: words
                .into_iter()
                .map(zero_terminated)
                .collect::<io::Result<_>>()?,
            environment: environment
                .into_iter()
                .map(variable)
                .collect::<io::Result<_>>()?,
            directory: directory
                .map(|folder| zero_terminated(folder.into()))
                .transpose()?,
        })
    }

    /// Creates a program that runs a shell command in this process's environment. `arguments` are
    /// the command's `$1`, `$2` and so on.
    ///
    /// # Errors
    ///
    /// If the command contains a zero byte.
    pub fn shell(command: &OsStr, arguments: &[OsString]) -> io::Result<Program> {
        let first: [OsString; 4] = ["/bin/sh".into(), "-c".into(), command.into(), "sh".into()];
        Program::new(
            first.iter().chain(arguments),
            std::env::vars_os().collect(),
            None,
        )
    }
}

fn zero_terminated(text: OsString) -> io::Result<CString> {
    Ok(CString::new(text.into_vec())?)
}

/// Returns the file of a program: the path itself, or the first match in PATH for a name.
fn locate(program: &OsStr, environment: &Variables) -> io::Result<PathBuf> {
    if program.as_encoded_bytes().contains(&b'/') {
        return Ok(program.into());
    }
    let path = environment.iter().find(|(name, _)| name == "PATH");
    path.and_then(|(_, path)| search_path(path, program))
        .ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// Settings that apply to all programs of a supervisor.
#[derive(Debug)]
pub struct Setting<'a> {
    /// Whether the programs run in a separate PID namespace.
    pub in_pid_namespace: bool,
    /// Memory that the supervisor holds open, so that programs in a PID namespace can open it at
    /// `shared.path_at(PID_IN_NAMESPACE)`; `None` if the programs need none.
    pub shared: Option<&'a SharedFile>,
    /// The only CPU on which the programs may run; `None` for all.
    pub cpu: Option<CpuId>,
    /// Whether the programs run without address space randomization (ADDR_NO_RANDOMIZE).
    pub has_fixed_addresses: bool,
    /// Whether the programs inherit files that the caller of this program has opened for child
    /// programs.
    pub has_callers_files: bool,
    /// Time between asking the programs to end and killing them. If 0, all are killed immediately.
    pub grace: Duration,
    /// Standard input of the programs.
    pub input: OwnedFd,
    /// Standard output of the programs.
    pub output: OwnedFd,
    /// Standard error of the programs.
    pub errors: OwnedFd,
}

impl Setting<'_> {
    /// Creates settings without a PID namespace, and without time between asking and killing.
    pub fn new(input: OwnedFd, output: OwnedFd, errors: OwnedFd) -> Self {
        Setting {
            in_pid_namespace: false,
            shared: None,
            cpu: None,
            has_fixed_addresses: false,
            has_callers_files: false,
            grace: Duration::ZERO,
            input,
            output,
            errors,
        }
    }
}

/// A report of the supervisor about one program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Report {
    /// The program was started.
    Launched {
        /// Index of the program.
        program: u32,
        /// Process ID of the program, in the programs' PID namespace if they have one.
        pid: i32,
    },
    /// The kernel refused to start a program.
    Refused {
        /// Index of the program.
        program: u32,
        /// The kernel's error number.
        error: i32,
    },
    /// The program has ended.
    Ended {
        /// Index of the program.
        program: u32,
        /// Exit status of the program.
        status: ExitStatus,
    },
}
