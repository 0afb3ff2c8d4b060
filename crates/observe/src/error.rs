use std::ffi::OsString;
use std::io;

use switchcost_remedies::start_remedy;

use crate::kernel::NoBpf;
use crate::subject::SubjectError;

/// Why an observation is impossible.
#[derive(Debug, thiserror::Error)]
pub enum ObserveError {
    /// The kernel cannot count switches.
    #[error("{0}")]
    Count(#[from] NoBpf),
    /// No task matches the target.
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
        /// Error of the system.
        source: io::Error,
    },
    /// The command that counts requests prints no number. The command's words and output are
    /// hostile until escaped.
    #[error("'{command}' does not print a whole number ({found}); try the command in a shell")]
    Requests {
        /// The command that was given.
        command: String,
        /// Description of the command's actual behaviour.
        found: String,
    },
    /// The number of requests has decreased.
    #[error(
        "'{command}' printed {after} after {before}, but the number must grow; check whether a restart has reset it"
    )]
    FewerRequests {
        /// The command that was given.
        command: String,
        /// Number from the command at the start.
        before: u64,
        /// Number from the command at the end.
        after: u64,
    },
}
