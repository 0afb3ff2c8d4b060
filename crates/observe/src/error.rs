use std::ffi::OsString;
use std::io;

use switchcost_remedies::start_remedy;

use crate::kernel::NoBpf;
use crate::subject::SubjectError;

/// Why there is no observation.
#[derive(Debug, thiserror::Error)]
pub enum ObserveError {
    /// The kernel does not count.
    #[error("failed to observe: {0}")]
    Count(#[from] NoBpf),
    /// No task is meant.
    #[error("failed to observe: {0}")]
    Subject(#[from] SubjectError),
    /// The command has no words.
    #[error(
        "failed to observe: found no command, need one after --, such as switchcost observe -- ls"
    )]
    NoCommand,
    /// The command cannot be run.
    #[error(
        "failed to start {program:?}: {source}, {}",
        start_remedy(.source, "need a program that can be run; give its path, or look at PATH")
    )]
    Start {
        /// Its first word.
        program: OsString,
        /// What the kernel says.
        source: io::Error,
    },
    /// The command that counts requests gives no number. Its words and what it printed are hostile until escaped.
    #[error(
        "failed to count requests: found {found} from '{command}', need a whole number; try the command in a shell"
    )]
    Requests {
        /// The command.
        command: String,
        /// What it gave.
        found: String,
    },
    /// What it counts has become less.
    #[error(
        "failed to count requests: found {after} from '{command}' after {before}, need a number that grows; it may have been reset, as by \
         a restart"
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
