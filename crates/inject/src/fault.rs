use std::io;

use switchcost_record::injection::LEAST_CPU;
use switchcost_units::Nanos;

/// Hint for a message, if standard input is a pipe: the command may have had nothing to read.
const OF_PIPES: &str =
    ": its standard input is a pipe, which can be read only once; read from a file instead: < FILE";

const MORE_WORK: &str =
    "; give it more work, or repeat it: -- sh -c 'yes COMMAND | head -100 | sh'";

/// Why a command cannot be measured.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// No command was given.
    #[error("no command is given; put it after --, such as switchcost inject -- gzip -c file")]
    NoCommand,
    /// The command cannot be executed.
    #[error("{program} cannot be run: {source}; give its path, or check PATH")]
    NotRun {
        /// First word of the command, escaped.
        program: String,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The command gets other rights when it is executed, so it cannot be stopped.
    #[error(
        "{0} has the set-user-ID or set-group-ID bit, so it cannot be stopped; run it as the user that it becomes, from a copy \
         without that bit"
    )]
    GainsRights(String),
    /// The command ends too early for its cost to be measured.
    #[error(
        "the command runs too briefly ({cpu} of CPU time, {LEAST_CPU} needed){}", if *.has_pipe { OF_PIPES } else { MORE_WORK }
    )]
    TooSoon {
        /// CPU time of the command.
        cpu: Nanos,
        /// Whether the program's standard input is a pipe.
        has_pipe: bool,
    },
    /// The command failed in the first run.
    #[error(
        "the command failed ({how}){said}; if it has done its work nevertheless, run -- sh -c 'COMMAND || true' (it has no \
         terminal, and standard input only if that is a file)"
    )]
    Failed {
        /// Exit status of the command.
        how: String,
        /// Last line of the error output, escaped.
        said: String,
    },
    /// Two copies of the command ended with different exit statuses.
    #[error(
        "two copies ended differently ({0} and {1}), but every run must do the same; run the command twice by hand, \
         or use --apart if both copies write the same files"
    )]
    OtherEnd(String, String),
    /// Two copies of the command wrote different outputs.
    #[error(
        "the outputs of two copies differ from byte {at} on ({first} and {second} bytes); leave time stamps and random numbers \
         out of them, or leave out --check-output"
    )]
    OtherOutput {
        /// Offset of the first different byte.
        at: u64,
        /// Length of the first output in bytes.
        first: u64,
        /// Length of the second output in bytes.
        second: u64,
    },
    /// The command mostly waits, so it is rarely on the CPU when it should be preempted.
    #[error(
        "the command mostly waits (on the CPU for {0:.0} % of its time slices), and only running code can be preempted; use \
         switchcost observe for programs that wait"
    )]
    Sleeps(f64),
    /// The command runs longer than the budget allows.
    #[error(
        "the command was still running after {0}, too long for several runs within --budget; give it less work, or \
         raise --budget"
    )]
    TooLong(Nanos),
    /// The budget is too small for the least number of runs.
    #[error(
        "--budget {budget:#} is too short: {ways} cases need {least} runs of {run} each, {fewest} in all; use \
         --budget {needed_s}s (preempted runs take longer), a shorter command, or fewer --footprint or --period values"
    )]
    TooLittleTime {
        /// Time of one run without preemption.
        run: Nanos,
        /// Number of combinations of footprint, period and move.
        ways: usize,
        /// Budget that the user gave.
        budget: Nanos,
        /// Least number of runs in the plan.
        least: u64,
        /// Time that the least number of runs takes.
        fewest: Nanos,
        /// Budget that would be enough, in seconds.
        needed_s: u64,
    },
    /// The command ends while processes that it has started still run.
    #[error("the command exited before its children, as daemons do; run it in the foreground")]
    LeftBehind,
    /// A process of the command has left the process group, so the command cannot be stopped as a
    /// whole.
    #[error(
        "the command starts its own process groups (setsid, job-control shells, timeout), so it cannot be stopped as a whole; \
         remove them, or run it as root where cgroup v2 is writable"
    )]
    LeavesGroup,
    /// The operating system refused the run.
    #[error("{0}")]
    Refused(String),
    /// A temporary file or folder could not be made.
    #[error("cannot create a temporary folder ({0}); choose another place with TMPDIR")]
    NoFolder(io::Error),
}
