use std::ffi::OsString;
use std::io;

use switchcost_remedies::start_remedy;

use crate::kernel::NoBpf;
use crate::subject::SubjectError;

/// Why there is no observation.
#[derive(Debug, thiserror::Error)]
pub enum ObserveError {
    /// The kernel does not count.
    #[error("{0}")]
    Count(#[from] NoBpf),
    /// No task is meant.
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
        /// Its first word.
        program: OsString,
        /// What the kernel says.
        source: io::Error,
    },
    /// The command that counts requests gives no number. Its words and what it printed are hostile until escaped.
    #[error("{found} is not a whole number, as '{command}' must print; try the command in a shell")]
    Requests {
        /// The command.
        command: String,
        /// What it gave.
        found: String,
    },
    /// What it counts has become less.
    #[error(
        "{after} came from '{command}' after {before}, but the number must grow; check whether it was reset, as by a restart"
    )]
    FewerRequests {
        /// The command.
        command: String,
        /// What it gave first.
        before: u64,
        /// What it gave in the end.
        after: u64,
    },
}
