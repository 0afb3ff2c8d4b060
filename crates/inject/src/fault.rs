use std::io;

use switchcost_units::Nanos;

/// A program that ends sooner is over within a few turns.
pub(crate) const LEAST_CPU: Nanos = Nanos::millis(20);

/// Why it may have had nothing to do.
const OF_PIPES: &str = ". Its standard input is a pipe, which can be read but once: both copies find it empty; put it in a file, and give that: < FILE";

/// Why a command cannot be measured. Follows "failed to inject: " in a message.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// No command was given.
    #[error("found no command, need one after --, such as switchcost inject -- gzip -c file")]
    NoCommand,
    /// It cannot be run.
    #[error(
        "found {program} that cannot be run ({source}), need a program; give its path, or look at PATH"
    )]
    NotRun {
        /// Its first word, escaped.
        program: String,
        /// What the kernel says.
        source: io::Error,
    },
    /// The command gains other rights, with which it escapes control.
    #[error(
        "found {0} with the set-user-ID or set-group-ID bit, need a program that keeps the rights of its caller, since others cannot \
         be stopped; run it as the user that it becomes, from a copy without that bit"
    )]
    GainsRights(String),
    /// It is over before it can be measured.
    #[error(
        "found a command that takes {cpu} of CPU time, need {LEAST_CPU} or more to preempt it often enough; give it more to do, or \
         repeat it: -- sh -c 'for i in $(seq 100); do COMMAND; done'{}", if *.has_pipe { OF_PIPES } else { "" }
    )]
    TooSoon {
        /// What it takes.
        cpu: Nanos,
        /// Whether our standard input is a pipe.
        has_pipe: bool,
    },
    /// It did not do its work.
    #[error(
        "found a command that failed ({how}){said}, need one that does its work; if it has, say so: -- sh -c 'COMMAND || true'. \
         It has no terminal, and its standard input is ours if that is a file, else nothing"
    )]
    Failed {
        /// How it ended.
        how: String,
        /// The last line that it has said, escaped.
        said: String,
    },
    /// Two runs of the command end differently.
    #[error(
        "found two copies that ended differently ({0} and {1}), need a command that does the same each time; try it twice, and where both write \
         the same files in the working directory, give each its own copy of that with --apart"
    )]
    OtherEnd(String, String),
    /// The same command does not write the same.
    #[error(
        "found two copies whose outputs differ from byte {at} on ({first} and {second} bytes), need a command that writes the same \
         each time; leave time stamps and random numbers out of it, or leave out --check-output"
    )]
    OtherOutput {
        /// The first byte, counted from 0.
        at: u64,
        /// Length of the first output.
        first: u64,
        /// Length of the second output.
        second: u64,
    },
    /// The command waits, so there is little to preempt.
    #[error(
        "found a command that has the CPU for {0:.0} % of its turns and waits for the rest, need one that computes: who waits is not \
         preempted; for a service there is switchcost observe"
    )]
    Sleeps(f64),
    /// The command does not end in time.
    #[error(
        "found a command that had not ended after {0}, need one that ends by itself, and soon: the budget is for many runs of it; \
         give it less to do, or more time with --budget"
    )]
    TooLong(Nanos),
    /// Its budget is too small.
    #[error(
        "found a command of {cpu} of CPU time to be preempted in {ways} ways, for which {budget} is time for fewer than {least} runs each; \
         give it less to do, fewer ways with --footprint and --period, or more time: --budget {needed}"
    )]
    TooLittleTime {
        /// Of the command.
        cpu: Nanos,
        /// Footprints, periods and whatever else is tried.
        ways: usize,
        /// What was given.
        budget: Nanos,
        /// Runs.
        least: u64,
        /// What is needed.
        needed: Nanos,
    },
    /// The command leaves processes behind.
    #[error(
        "found a command that ended before processes that it had started, as daemons are, need one that waits for all of them; \
         run it in the foreground"
    )]
    LeftBehind,
    /// The command leaves its process group, so it cannot be stopped as a whole.
    #[error(
        "found a command that starts processes in a process group of their own, as setsid and shells at a terminal do, need one that \
         stays in its own, so that all of it can be stopped; leave those out of it, or run it where control groups of version 2 may be made \
         (root may, where /sys/fs/cgroup is not read-only): these hold all"
    )]
    LeavesGroup,
    /// No run could be made.
    #[error("{0}")]
    Refused(String),
    /// A temporary file or folder could not be made.
    #[error("found no folder for its temporary files ({0}), need one; choose another with TMPDIR")]
    NoFolder(io::Error),
}
