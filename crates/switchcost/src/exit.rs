//! Exit codes, and everything that can go wrong, in words.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use measure::PlanError;
use record::{ReadRecordError, WriteRecordError};

/// How the program ends. The numbers are part of the interface (see the man page).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// 0: all went well; for `doctor`: fit.
    Success,
    /// 1: something broke.
    Broken,
    /// 2: the command line asks for what does not exist here.
    Usage,
    /// 3: done, with reservations: a result that could not be measured; for `doctor`: usable with caveats.
    Reservations,
    /// 4: `doctor`: unfit.
    Unfit,
    /// 5: a record cannot be read.
    Record,
    /// 128 + the signal that ended it.
    Signal(u8),
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(match exit {
            Exit::Success => 0,
            Exit::Broken => 1,
            Exit::Usage => 2,
            Exit::Reservations => 3,
            Exit::Unfit => 4,
            Exit::Record => 5,
            Exit::Signal(number) => 128 + number,
        })
    }
}

/// Why the program ends without a result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("failed to plan the measurement: {0}")]
    Plan(#[from] PlanError),
    #[error("failed to plan the measurement: {0}")]
    Selection(String),
    #[error("failed to write the record: {0}")]
    Write(#[from] WriteRecordError),
    #[error("failed to read the record: {0}")]
    Read(#[from] ReadRecordError),
    #[error("failed to find a record: found none in {0}, need one; make one with switchcost measure, or name the file")]
    NoRecord(PathBuf),
    #[error(
        "failed to write the result to {path}: {source}, need a folder that exists and may be written; choose \
             another place with --out"
    )]
    Output { path: PathBuf, source: io::Error },
    #[error("failed to print the result: {0}")]
    Print(io::Error),
    #[error("failed to find a place for the record: {0}; choose one with --record")]
    NoPlace(String),
    #[error("failed to watch for signals: {0}")]
    Signals(io::Error),
}

impl Failure {
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Failure::Plan(_) | Failure::Selection(_) => Exit::Usage,
            Failure::Read(_) | Failure::NoRecord(_) => Exit::Record,
            Failure::Write(_)
            | Failure::Output { .. }
            | Failure::Print(_)
            | Failure::NoPlace(_)
            | Failure::Signals(_) => Exit::Broken,
        }
    }
}
