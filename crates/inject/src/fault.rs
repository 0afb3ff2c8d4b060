use std::io;

use switchcost_units::Nanos;

/// A program that ends sooner is over within a few turns.
pub(crate) const LEAST_CPU: Nanos = Nanos::millis(20);

/// Why it may have had nothing to do.
const OF_PIPES: &str = ": its standard input is a pipe, which can be read but once, so both copies find it empty; put it in a file, and give that: < FILE";

const MORE_WORK: &str =
    "; give it more work, or repeat it: -- sh -c 'yes COMMAND | head -100 | sh'";

/// Why a command cannot be measured.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// No command was given.
    #[error("no command is given; put it after --, such as switchcost inject -- gzip -c file")]
    NoCommand,
    /// It cannot be run.
    #[error("{program} cannot be run: {source}; give its path, or check PATH")]
    NotRun {
        /// Its first word, escaped.
        program: String,
        /// What the kernel says.
        source: io::Error,
    },
    /// The command gains other rights, with which it escapes control.
    #[error(
        "{0} has the set-user-ID or set-group-ID bit, so it cannot be stopped; run it as the user that it becomes, from a copy \
         without that bit"
    )]
    GainsRights(String),
    /// It is over before it can be measured.
    #[error(
        "the command runs too briefly ({cpu} of CPU time, {LEAST_CPU} needed){}", if *.has_pipe { OF_PIPES } else { MORE_WORK }
    )]
    TooSoon {
        /// What it takes.
        cpu: Nanos,
        /// Whether our standard input is a pipe.
        has_pipe: bool,
    },
    /// It did not do its work.
    #[error(
        "the command failed ({how}){said}; if it has done its work nevertheless, run -- sh -c 'COMMAND || true' (it has no \
         terminal, and standard input only if that is a file)"
    )]
    Failed {
        /// How it ended.
        how: String,
        /// The last line that it has said, escaped.
        said: String,
    },
    /// Two runs of the command end differently.
    #[error(
        "two copies ended differently ({0} and {1}), but each run must do the same; try it twice, or use --apart if both write \
         the same files"
    )]
    OtherEnd(String, String),
    /// The same command does not write the same.
    #[error(
        "the outputs of two copies differ from byte {at} on ({first} and {second} bytes); leave time stamps and random numbers \
         out of them, or leave out --check-output"
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
        "the command mostly waits (on the CPU for {0:.0} % of its time slices), and only running code can be preempted; use \
         switchcost observe for programs that wait"
    )]
    Sleeps(f64),
    /// The command does not end in time.
    #[error(
        "the command had not ended after {0}, and the budget is for many runs of it; give it less to do, or more time with \
         --budget"
    )]
    TooLong(Nanos),
    /// Its budget is too small.
    #[error(
        "{budget} is not enough: the command takes {cpu} of CPU time, and each of {ways} cases needs at least {least} runs; \
         use --budget {needed}, a shorter command, or fewer --footprint and --period values"
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
        "the command ended before processes that it had started, as daemons do; run it in the foreground"
    )]
    LeftBehind,
    /// The command leaves its process group, so it cannot be stopped as a whole.
    #[error(
        "the command starts its own process groups (setsid, job-control shells, timeout), so it cannot be stopped as a whole; \
         remove them, or run it as root where cgroup v2 is writable"
    )]
    LeavesGroup,
    /// No run could be made.
    #[error("{0}")]
    Refused(String),
    /// A temporary file or folder could not be made.
    #[error("there is no folder for its temporary files ({0}); choose another with TMPDIR")]
    NoFolder(io::Error),
}
