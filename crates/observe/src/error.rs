use std::ffi::OsString;
use std::io;

use switchcost_remedies::start_remedy;

use crate::kernel::NoBpf;
use crate::subject::SubjectError;

/// Why an observation failed.
#[derive(Debug, thiserror::Error)]
pub enum ObserveError {
    /// Switches cannot be counted.
    #[error("{0}")]
    Count(#[from] NoBpf),
    /// The target cannot be observed.
    #[error("{0}")]
    Subject(#[from] SubjectError),
    /// The command has no words.
    #[error("no command is given; put it after --, such as switchcost observe -- ls")]
    NoCommand,
    /// The command cannot be run.
    #[error(
        "cannot run {program:?}: {source}; {}",
        start_remedy(.source, "give its path, or check PATH")
    )]
    Start {
        /// First word of the command.
        program: OsString,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The command that counts requests does not print just a number. The command and its output
    /// are untrusted: escape them before display.
    #[error("'{command}' does not print a whole number ({found}); try the command in a shell")]
    Requests {
        /// The shell command.
        command: String,
        /// Output of the command, or its failure, in words.
        found: String,
    },
    /// The number of requests at the end is smaller than at the start.
    #[error(
        "'{command}' printed {after} after {before}, but the number must grow; check whether a restart has reset it"
    )]
    FewerRequests {
        /// The shell command.
        command: String,
        /// Number that the command printed at the start.
        before: u64,
        /// Number that the command printed at the end.
        after: u64,
    },
}
