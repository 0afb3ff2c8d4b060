//! Exit codes, and messages for failures.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{ExitCode, ExitStatus};

use switchcost_cachesim::SimulationError;
use switchcost_capture::{CaptureError, ToolError};
use switchcost_design::{DesignError, HostDesignError, VaryError};
use switchcost_inject::Fault;
use switchcost_inject::service::ServiceFault;
use switchcost_measure::PlanError;
use switchcost_observe::ObserveError;
use switchcost_programs::PrepareError;
use switchcost_record::{ReadRecordError, WriteRecordError};
use switchcost_remedies::{read_remedy, start_remedy, write_remedy};
use switchcost_simulation_record::{ReadSimulationError, WriteSimulationError};
use switchcost_trace::{ImportError, ReadTraceError, UnfitPiece};
use switchcost_workload::UnfitWorkingSet;

/// Exit codes of the program. The numbers are part of the interface, as described in the manual
/// page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Exit code 0: success; for `doctor`: the machine is fit.
    Success,
    /// Exit code 1: something failed.
    Broken,
    /// Exit code 2: the command line is wrong, names something that does not exist, or names a new
    /// file that already exists.
    Usage,
    /// Exit code 3: a result could not be measured. For `doctor`: the machine is usable with
    /// caveats.
    Partial,
    /// Exit code 4, of `doctor`: the machine is unfit.
    Unfit,
    /// Exit code 5: a record cannot be read.
    Record,
    /// Exit code 6, of `compare` and `ab`: a cost has grown by more than the limit of
    /// `--fail-above`.
    Grown,
    /// Exit code of a program that a signal ended: 128 plus the signal's number, which is the
    /// value.
    Signal(u8),
    /// Exit code of the failed command that was observed or traced, as a shell would return it.
    Command(u8),
}

impl Exit {
    /// Returns the exit code for a failed command, as a shell would; `None` if the command
    /// succeeded.
    pub(crate) fn command_failure(status: ExitStatus) -> Option<Exit> {
        let signalled = || status.signal().map(|number| 128 + number);
        let code = status.code().or_else(signalled).unwrap_or(1);
        // A command's exit code has one byte.
        (!status.success()).then(|| Exit::Command(u8::try_from(code).unwrap_or(1)))
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(match exit {
            Exit::Success => 0,
            Exit::Broken => 1,
            Exit::Usage => 2,
            Exit::Partial => 3,
            Exit::Unfit => 4,
            Exit::Record => 5,
            Exit::Grown => 6,
            Exit::Signal(number) => 128 + number,
            Exit::Command(code) => code,
        })
    }
}

/// The result of a command or of a part of it, or the failure that ended it.
pub(crate) type Outcome<T = ()> = Result<T, Failure>;

/// A failure without a result, with its message and exit code.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
pub(crate) struct Failure {
    text: String,
    exit: Exit,
}

impl Failure {
    fn new(exit: Exit, text: String) -> Failure {
        Failure { text, exit }
    }

    /// Creates a failure of usage (exit code 2): the command line is wrong, or names something that
    /// does not exist.
    pub(crate) fn usage(text: impl Into<String>) -> Failure {
        Failure::new(Exit::Usage, text.into())
    }

    /// Creates a failure for a record or trace that cannot be read (exit code 5).
    pub(crate) fn record(text: impl Into<String>) -> Failure {
        Failure::new(Exit::Record, text.into())
    }

    /// Creates a failure of any other kind (exit code 1).
    pub(crate) fn broken(text: impl Into<String>) -> Failure {
        Failure::new(Exit::Broken, text.into())
    }

    pub(crate) fn exit(&self) -> Exit {
        self.exit
    }

    /// Creates the failure for a process without an allowed CPU, if the list of allowed CPUs could
    /// not be read.
    pub(crate) fn cpu_refusal() -> Failure {
        Failure::usage(
            "no CPU is allowed to this process in /proc/self/status; mount /proc if it is not there (sudo mount -t proc proc \
             /proc)",
        )
    }

    pub(crate) fn missing_cpu() -> Failure {
        Failure::usage(
            "no CPU is allowed to this process in /proc/self/status; mount /proc, and let the process open more files (ulimit \
             -n)",
        )
    }

    pub(crate) fn taken(path: &Path) -> Failure {
        Failure::usage(format!(
            "{} already exists, and a trace is never overwritten; choose another name",
            path.display()
        ))
    }

    pub(crate) fn empty(path: &Path) -> Failure {
        Failure::record(format!(
            "{} contains no instructions; check that it is the right file",
            path.display()
        ))
    }

    pub(crate) fn output(path: &Path) -> impl Fn(io::Error) -> Failure + Copy {
        move |error| {
            Failure::broken(format!(
                "cannot write {}: {error}; {}",
                path.display(),
                write_remedy(&error, "another place")
            ))
        }
    }

    pub(crate) fn open(path: &Path) -> impl Fn(io::Error) -> Failure + Copy {
        move |error| {
            Failure::record(format!(
                "cannot open {}: {error}; {}",
                path.display(),
                read_remedy(&error, "a file that exists and can be read")
            ))
        }
    }

    pub(crate) fn open_folder(path: &Path) -> impl Fn(io::Error) -> Failure + Copy {
        move |error| {
            Failure::record(format!(
                "cannot open the folder {}: {error}; {}",
                path.display(),
                read_remedy(&error, "a folder of records that can be read")
            ))
        }
    }

    pub(crate) fn read_trace(path: &Path) -> impl Fn(ReadTraceError) -> Failure + Copy {
        move |error| Failure::record(format!("{}: {error}", path.display()))
    }

    pub(crate) fn import(path: &Path) -> impl Fn(ImportError) -> Failure + Copy {
        move |error| Failure::record(format!("{}: {error}", path.display()))
    }

    pub(crate) fn print(error: io::Error) -> Failure {
        let remedy = write_remedy(&error, "another place for it");
        Failure::broken(format!("cannot print the result: {error}; {remedy}"))
    }

    pub(crate) fn signals(error: io::Error) -> Failure {
        let remedy = start_remedy(&error, "check for a seccomp filter");
        Failure::broken(format!("cannot watch for signals: {error}; {remedy}"))
    }

    pub(crate) fn foreign_proc(error: io::Error) -> Failure {
        Failure::broken(format!("cannot look at processes: {error}"))
    }

    pub(crate) fn folder(error: io::Error) -> Failure {
        let remedy = write_remedy(&error, "another place with TMPDIR");
        Failure::broken(format!(
            "no temporary folder for the programs: {error}; {remedy}"
        ))
    }

    pub(crate) fn own_file(error: io::Error) -> Failure {
        let remedy = read_remedy(&error, "/proc and this program's own file in it");
        Failure::broken(format!("cannot run this program again: {error}; {remedy}"))
    }
}

/// Implements the conversion from errors of other crates to failures, with the exit code for each
/// error.
macro_rules! failures {
    ($($error:ty: $exit:ident $(, usage if ($usage:pat))?;)*) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Failure {
                let exit = match &error {
                    $($usage => Exit::Usage,)?
                    _ => Exit::$exit,
                };
                Failure::new(exit, error.to_string())
            }
        }
    )*};
}

failures! {
    PlanError: Usage;
    WriteRecordError: Broken, usage if (WriteRecordError::Exists(_));
    ReadRecordError: Record;
    UnfitWorkingSet: Usage;
    CaptureError: Broken, usage if (CaptureError::Unfit { .. } | CaptureError::NoCommand);
    ToolError: Broken;
    ObserveError: Broken,
        usage if (ObserveError::Subject(_) | ObserveError::NoCommand | ObserveError::Start { .. } | ObserveError::Requests { .. });
    ServiceFault: Broken, usage if (ServiceFault::NoProcess(_) | ServiceFault::Kernel(_));
    DesignError: Usage;
    VaryError: Usage;
    HostDesignError: Usage;
    SimulationError: Broken;
    WriteSimulationError: Broken,
        usage if (WriteSimulationError::Record(WriteRecordError::Exists(_)));
    ReadSimulationError: Record;
    PrepareError: Broken;
    UnfitPiece: Usage;
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Failure {
        let exit = match fault {
            Fault::NoCommand
            | Fault::NotRun { .. }
            | Fault::GainsRights(_)
            | Fault::TooLittleTime { .. } => Exit::Usage,
            _ => Exit::Broken,
        };
        Failure::new(exit, fault.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_that_would_replace_another_is_a_mistake_of_usage() {
        let path = || "there".into();
        for failure in [
            Failure::from(WriteRecordError::Exists(path())),
            Failure::from(WriteSimulationError::from(WriteRecordError::Exists(path()))),
        ] {
            assert_eq!(failure.exit(), Exit::Usage, "{failure}");
        }
    }

    #[test]
    fn a_command_that_fails_ends_us_as_it_would_have_ended_for_a_shell() {
        // Status as in wait(2): the code in the second byte, or else the signal.
        for (status, exit) in [
            (0, None),
            (1 << 8, Some(Exit::Command(1))),
            (255 << 8, Some(Exit::Command(255))),
            (9, Some(Exit::Command(137))),
            (11 | 0x80, Some(Exit::Command(139))),
        ] {
            assert_eq!(
                Exit::command_failure(ExitStatus::from_raw(status)),
                exit,
                "{status:#x}"
            );
        }
    }
}
