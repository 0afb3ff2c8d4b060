//! Arguments of `inject`: the program, the kind of preemption, and the time.

use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use switchcost_units::{Bytes, CpuId, Nanos};

use super::{HELP_TEMPLATE, OutputArguments, Redaction, Verbosity, first_paragraph};

const USAGE: &str = "\
switchcost inject [OPTIONS] <COMMAND>...
       switchcost inject [OPTIONS] -p <PID> --work <WHAT>";

const EXAMPLES: &str = "\
Examples:
  switchcost inject -- gzip -c big.tar                     the cost of one preemption, for several
                                                           footprints of the other task
  switchcost inject --budget 3min -- xz -c big.tar         a program that runs longer
  switchcost inject --footprint 64KiB,L2,L3 -- ./solver    other footprints
  switchcost inject -p 1234 --work syscall:write           a service under load

  switchcost inject --period 250us,1ms,4ms -- ./solver     also rarer preemptions: does each cost
                                                           more?
  switchcost inject --cpu 1 --move-to 0 -- ./solver        also the cost of a migration
  switchcost inject --apart -- cc -O2 -c main.c            a program that writes files: --apart
                                                           keeps the copies apart
  switchcost inject -p 1234 --work uprobe:libssl.so.3:SSL_write
                                                           a service whose work is counted by calls
                                                           of a function
  switchcost inject --no-preemption -- gzip -c big.tar     a control without preemption: expect no
                                                           difference
  switchcost inject -o cost.json -- gzip -c big.tar        for programs
  switchcost report FILE                                   the same report again, from its record

Two copies of the command alternate on one CPU. A real-time task preempts one of them once per period, touches memory (--footprint) and \
sleeps again. The cost is the CPU time that this copy uses in addition to the other's. The command runs many times: it must do the same \
work each time, exit by itself, and use at least 20 ms of CPU time. It has no terminal. Needs real-time priority: root, or RLIMIT_RTPRIO.

With -p, the busiest thread of a running service is preempted in phases. In some phases the preempting task touches memory, in others it only \
spins for as long. The cost of cold caches is the difference in CPU time per unit of work. The thread is pinned to one CPU during the \
run, and never stopped. Its affinity is restored at the end, even if switchcost is killed.";

/// Memory that the preemptor touches, as given on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Footprint {
    /// A number of bytes.
    Size(Bytes),
    /// The size of the cache with this level.
    Level(u32),
}

impl FromStr for Footprint {
    type Err = String;

    fn from_str(text: &str) -> Result<Footprint, String> {
        let level = text
            .trim()
            .strip_prefix(['L', 'l'])
            .and_then(|level| level.parse().ok());
        let size = || text.parse::<Bytes>().ok().map(Footprint::Size);
        level.map(Footprint::Level).or_else(size).ok_or_else(|| {
            format!("'{text}' is neither a size nor a cache level; write 256KiB, or L2")
        })
    }
}

/// Least and greatest period of preemptions. With a longer period, a time slice would outlast the
/// core's constant speed. With a shorter one, the program would hardly run.
const PERIODS: [Nanos; 2] = [Nanos::micros(50), Nanos::millis(100)];

fn parse_period(text: &str) -> Result<Nanos, String> {
    let period = text
        .parse::<Nanos>()
        .ok()
        .filter(|period| (PERIODS[0]..=PERIODS[1]).contains(period));
    period.ok_or_else(|| {
        format!(
            "'{text}' is not a time from {:#} to {:#}; write a time such as 250us",
            PERIODS[0], PERIODS[1]
        )
    })
}

/// Measures what one preemption costs an unmodified program: the switch and its timer, and the cache contents that the other task
/// evicts, with confidence intervals. Every run is kept in a record.
#[derive(Debug, Args)]
#[command(help_template = HELP_TEMPLATE, override_usage = USAGE, after_help = first_paragraph(EXAMPLES), after_long_help = EXAMPLES)]
#[group(id = "target", required = true, multiple = false, args = ["command", "pid"])]
pub(crate) struct InjectArguments {
    /// Command to run repeatedly; its output is discarded
    #[arg(trailing_var_arg = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,

    /// Preempt a running service: the busiest thread of process PID, or the thread with the ID PID
    ///
    /// Chosen from the threads of this process and of its children.
    #[arg(short, long, value_name = "PID", requires = "work", conflicts_with_all = ["check_output", "keep_output"],
          help_heading = "A service")]
    pub(crate) pid: Option<u32>,

    /// How to count the service's work: syscall:NAME, uprobe:LIBRARY:FUNCTION, or a shell command
    ///
    /// The shell command prints the amount of work done so far.
    #[arg(
        long,
        value_name = "WHAT",
        requires = "pid",
        help_heading = "A service"
    )]
    pub(crate) work: Option<String>,

    /// Memory that the preempting task touches: sizes or cache levels; 0 is always included
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "0,256KiB,L2,4MiB",
        help_heading = "How to preempt"
    )]
    pub(crate) footprint: Vec<Footprint>,

    /// CPU time between preemptions [default: 250us; 500us with -p]
    ///
    /// With several periods, the report shows the first, then how the others differ.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse_period, help_heading = "How to preempt")]
    pub(crate) period: Vec<Nanos>,

    /// Also measure the cost of a migration to this CPU
    #[arg(
        hide_short_help = true,
        long,
        value_name = "CPU",
        conflicts_with = "pid",
        help_heading = "How to preempt"
    )]
    pub(crate) move_to: Option<CpuId>,

    /// Do everything except preempt, to show the instrument's own error
    #[arg(long, help_heading = "How to preempt")]
    pub(crate) no_preemption: bool,

    /// CPU to run on [default: the quietest, by load and interrupts]
    #[arg(long, value_name = "CPU", help_heading = "Control of the environment")]
    pub(crate) cpu: Option<CpuId>,

    /// Run even if there is only one CPU; everything else then waits for it
    #[arg(
        hide_short_help = true,
        long,
        help_heading = "Control of the environment"
    )]
    pub(crate) only_cpu: bool,

    /// Time for the whole run, such as 30s or 5min
    #[arg(
        long,
        value_name = "TIME",
        default_value = "60s",
        help_heading = "Precision and time"
    )]
    pub(crate) budget: Nanos,

    /// Seed of the run order [default: random, and recorded]
    #[arg(
        hide_short_help = true,
        long,
        value_name = "N",
        help_heading = "Precision and time"
    )]
    pub(crate) seed: Option<u64>,

    /// Give each copy its own view of the working directory (overlayfs)
    ///
    /// A copy's changes are kept in memory, and discarded when it exits.
    #[arg(
        hide_short_help = true,
        long,
        conflicts_with = "pid",
        help_heading = "Control of the environment"
    )]
    pub(crate) apart: bool,

    /// Fail if the standard output of the two copies differs
    #[arg(hide_short_help = true, long, help_heading = "Output")]
    pub(crate) check_output: bool,

    /// Save standard output and error of both copies of the last run in DIR
    #[arg(
        hide_short_help = true,
        long,
        value_name = "DIR",
        help_heading = "Output"
    )]
    pub(crate) keep_output: Option<PathBuf>,

    /// Save the record as FILE, which must not exist [default: a new file in ~/.local/state/switchcost/runs]
    #[arg(
        hide_short_help = true,
        long,
        value_name = "FILE",
        help_heading = "Output"
    )]
    pub(crate) record: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) redaction: Redaction,

    #[command(flatten)]
    pub(crate) verbosity: Verbosity,

    #[command(flatten)]
    pub(crate) form: OutputArguments,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn footprints_are_sizes_and_levels() {
        assert_eq!("256KiB".parse(), Ok(Footprint::Size(Bytes::kib(256))));
        assert_eq!("0".parse(), Ok(Footprint::Size(Bytes(0))));
        assert_eq!("L2".parse(), Ok(Footprint::Level(2)));
        for text in ["", "L", "L2x", "many", "-1"] {
            assert!(text.parse::<Footprint>().is_err(), "{text}");
        }
    }
}
