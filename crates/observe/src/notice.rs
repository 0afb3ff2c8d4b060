use std::fmt;
use std::process::ExitStatus;

use switchcost_facts::limits::ending;
use switchcost_units::Nanos;

/// A message during an observation, to be printed on its own line. Names and words in the message
/// are untrusted: escape them before display.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The command has failed.
    CommandFailed {
        /// Words of the command.
        words: Vec<String>,
        /// Exit status of the command.
        status: ExitStatus,
    },
    /// The command has ended, but processes that it has started are still alive.
    GoesOn {
        /// Words of the command.
        words: Vec<String>,
        /// Process ID and name of each process that the message is about.
        processes: Vec<(u32, String)>,
        /// Whether the processes are still observed.
        is_observed: bool,
    },
    /// The target has ended before the end of the requested time, and so has the observation.
    Ended {
        /// Name of the target.
        what: String,
        /// Time since the start.
        after: Nanos,
    },
    /// The target has ended or was removed. The observation waits until another one has its name.
    Gone {
        /// Name of the target.
        what: String,
        /// Time since the start.
        after: Nanos,
    },
    /// Another target with the same name has appeared.
    Back {
        /// Name of the target.
        what: String,
        /// Time since the start.
        after: Nanos,
    },
    /// The command that counts the served requests (`--rate-cmd`) failed at the end of the
    /// observation; contains the reason.
    NoRequests(String),
    /// The time inside the scheduler was requested, but cannot be measured on this kernel.
    NoSchedulerTime,
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Notice::CommandFailed { words, status } => write!(f, "'{}' ended with {}", words.join(" "), ending(*status)),
            Notice::GoesOn { words, processes, is_observed } => goes_on(f, words, processes, *is_observed),
            Notice::Ended { what, after } => write!(f, "{what} ended after {after}, before the time was over"),
            Notice::Gone { what, after } => write!(f, "{what} is gone after {after}; a new one with its name is observed, too"),
            Notice::Back { what, after } => write!(f, "{what} started after {after}, and is observed"),
            Notice::NoRequests(why) => write!(f, "{why}; the cost per request is unknown"),
            Notice::NoSchedulerTime => f.write_str(
                "this kernel has no BPF tracepoints sched_entry_tp and sched_exit_tp (from Linux 6.15 on), so the \
                 time in the scheduler is unknown",
            ),
        }
    }
}

/// Maximum number of processes that a message names.
const NAMED: usize = 3;

fn goes_on(
    f: &mut fmt::Formatter<'_>,
    words: &[String],
    processes: &[(u32, String)],
    is_observed: bool,
) -> fmt::Result {
    let named: Vec<String> = processes
        .iter()
        .take(NAMED)
        .map(|(number, name)| format!("{name} {number}"))
        .collect();
    let more = processes.len().saturating_sub(NAMED);
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    write!(
        f,
        "'{}' exited, but its children are still running ({}{more})",
        words.join(" "),
        named.join(", ")
    )?;
    if is_observed {
        return f.write_str(", and are observed further");
    }
    let numbers: Vec<String> = processes
        .iter()
        .map(|(number, _)| number.to_string())
        .collect();
    write!(
        f,
        "; to observe them: switchcost observe -p {} -d 10s, or use -d with the command",
        numbers.join(",")
    )
}
