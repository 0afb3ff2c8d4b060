//! Arguments of `observe`: tasks, duration, detail.

use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use clap::Args;
use switchcost_units::Nanos;

use super::{HELP_TEMPLATE, OutputArguments, Redaction, Rows, Stacks, Verbosity, first_paragraph};

const USAGE: &str = "\
switchcost observe [OPTIONS] <COMMAND>...
       switchcost observe [OPTIONS] <-p PID|--comm NAME|--cgroup PATH|-a> [COMMAND]...";

const EXAMPLES: &str = "\
Examples:
  switchcost observe make -j4                   a command, until it exits
  switchcost observe -p 1234 -d 30s             a process and the children it starts, for 30 s
  switchcost observe -p 1234 -- wrk http://localhost/
                                                a process, while a command runs
  switchcost observe -a --live                  all tasks, refreshed every second

  switchcost observe --comm redis-server -d 30s processes by name
  switchcost observe --cgroup system.slice/nginx.service
                                                the processes of a control group
  switchcost observe -p 1234 -d 10s --rate-cmd 'cat /run/service/served'
                                                the cost of switches per request
  switchcost observe -a --wakers                all tasks, and which wakes which
  switchcost observe -a --every 1s >> log.jsonl a JSON line per second, with the time
  switchcost observe -p 1234 -d 5s --events trace.pftrace
                                                every switch, for ui.perfetto.dev
  switchcost observe -p 1234 -o result.json     for programs
  switchcost report FILE                        the same report again, from its record

BPF programs count why tasks switch, and which tasks run instead. They need root (or cap_bpf and cap_perfmon) and a kernel with BTF. \
Without them, switches are counted but not explained.";

fn parse_address(text: &str) -> Result<SocketAddr, String> {
    let port = text
        .trim_start_matches(':')
        .parse()
        .ok()
        .map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    port.or_else(|| text.parse().ok())
        .ok_or_else(|| format!("'{text}' is not a port; write 9435, or 192.0.2.1:9435"))
}

/// Shortest reporting period. A shorter one would end between two reads of the counters.
const SHORTEST_PERIOD: Nanos = Nanos::millis(100);

fn parse_duration(text: &str) -> Result<Nanos, String> {
    let time = text.parse::<Nanos>().map_err(|error| error.to_string())?;
    match time {
        Nanos(0) => Err(format!(
            "'{text}' is not longer than 0s; write a time such as 10s"
        )),
        time => Ok(time),
    }
}

fn parse_period(text: &str) -> Result<Nanos, String> {
    let time = text.parse::<Nanos>().map_err(|error| error.to_string())?;
    if time < SHORTEST_PERIOD {
        return Err(format!(
            "'{text}' is too short; write {SHORTEST_PERIOD:#} or more, such as 1s"
        ));
    }
    Ok(time)
}

/// PIDs of processes, as given on the command line.
#[derive(Clone, Debug)]
pub(crate) struct Processes(pub(crate) Vec<u32>);

fn parse_processes(text: &str) -> Result<Processes, String> {
    let words = text
        .split(|c: char| c == ',' || c.is_ascii_whitespace())
        .filter(|word| !word.is_empty());
    let number = |word: &str| {
        let number = word.parse::<u32>().ok().filter(|number| *number > 0);
        number.ok_or_else(|| format!("'{word}' is not a PID; list processes with ps -e"))
    };
    let numbers = words.map(number).collect::<Result<Vec<u32>, String>>()?;
    let none = || {
        Err(
            "no PID is given (pgrep may have found no process); list processes with ps -e"
                .to_owned(),
        )
    };
    if numbers.is_empty() {
        none()
    } else {
        Ok(Processes(numbers))
    }
}

#[derive(Debug, Args)]
#[command(help_template = HELP_TEMPLATE, override_usage = USAGE, after_help = first_paragraph(EXAMPLES), after_long_help = EXAMPLES)]
#[group(id = "who", required = true, multiple = true, args = ["command", "pid", "comm", "cgroup", "all"])]
pub(crate) struct ObserveArguments {
    /// Command to run, and to observe with its children if there is no other target
    ///
    /// Another target (-p, --comm, --cgroup or -a) is observed until the command
    /// exits. The command keeps its standard output, and the report goes to standard error. With
    /// --format json, jsonl or csv and without --output, the report goes to standard output, and
    /// the command's output to standard error.
    #[arg(trailing_var_arg = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,

    /// Observe the processes with these PIDs, and the children they start
    ///
    /// Separate PIDs by commas, spaces or newlines.
    #[arg(short, long, value_name = "LIST", value_parser = parse_processes, help_heading = "Target", conflicts_with_all = ["comm", "cgroup", "all"])]
    pub(crate) pid: Vec<Processes>,

    /// Observe the processes with this name, and the children they start
    ///
    /// At least one must be running; processes that start later are observed, too. Without BPF they
    /// are found within a second, and shorter ones are missed.
    #[arg(long, value_name = "NAME", help_heading = "Target", conflicts_with_all = ["cgroup", "all"])]
    pub(crate) comm: Vec<String>,

    /// Observe the control group PATH (with or without /sys/fs/cgroup) and the groups below it
    #[arg(
        long,
        value_name = "PATH",
        help_heading = "Target",
        conflicts_with = "all"
    )]
    pub(crate) cgroup: Option<String>,

    /// Observe all tasks except the observer's own
    #[arg(short, long, help_heading = "Target")]
    pub(crate) all: bool,

    /// How long to observe, such as 30s or 5min [default: until the target exits; 10s with --all or
    /// --cgroup]
    ///
    /// A command that is still running then gets SIGTERM.
    #[arg(short, long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) duration: Option<Nanos>,

    /// Number of requests served during the observation, for the cost per request
    #[arg(
        hide_short_help = true,
        long,
        value_name = "N",
        conflicts_with = "rate_cmd"
    )]
    pub(crate) requests: Option<u64>,

    /// Shell command that prints the number of requests served so far, for the cost per request
    ///
    /// It runs before and after the observation.
    #[arg(hide_short_help = true, long, value_name = "COMMAND")]
    pub(crate) rate_cmd: Option<String>,

    /// Also count wake-ups by the task that wakes
    ///
    /// This adds a third to the overhead per switch.
    #[arg(hide_short_help = true, long)]
    pub(crate) wakers: bool,

    /// Measure the time in the kernel's scheduler at each switch
    ///
    /// Needs tracepoints at the scheduler's entry and exit. This nearly doubles the overhead per
    /// switch.
    #[arg(hide_short_help = true, long, conflicts_with = "no_bpf")]
    pub(crate) scheduler_time: bool,

    /// Write every switch and wake-up to FILE, a trace for ui.perfetto.dev
    ///
    /// With this, observing a switch takes about three times as long.
    #[arg(long, value_name = "FILE", conflicts_with = "no_bpf")]
    pub(crate) events: Option<PathBuf>,

    /// Count only switches and causes, at half the overhead
    ///
    /// Reports no off-CPU time, no other tasks and no cost of reloading caches.
    #[arg(hide_short_help = true, long, conflicts_with_all = ["no_bpf", "wakers", "events", "scheduler_time", "folded", "pprof"])]
    pub(crate) counts_only: bool,

    /// Use no BPF programs: needs no root, but reports no causes
    ///
    /// Uses perf's context-switch records, or else the counters in /proc.
    #[arg(hide_short_help = true, long, conflicts_with_all = ["folded", "pprof"])]
    pub(crate) no_bpf: bool,

    /// Sample user stacks at N switches per second (100 by default), for --folded and --pprof
    ///
    /// Stacks are unwound by frame pointers.
    #[arg(hide_short_help = true, long = "stacks", value_name = "N", num_args = 0..=1, default_missing_value = "100",
          value_parser = clap::value_parser!(u32).range(1..=100_000), conflicts_with = "no_bpf")]
    pub(crate) stacks_per_second: Option<u32>,

    /// Trace system calls once, for this long, to find the cost of cold caches
    ///
    /// Compares how long the code after a system call takes with and without a switch in the call.
    /// A traced call takes some 0.4 us longer. [default: 1 s in every 10 s, of at most 8 processes,
    /// for at most 2 % of their CPU time]
    #[arg(hide_short_help = true, long, value_name = "TIME", conflicts_with_all = ["no_bpf", "counts_only", "all"])]
    pub(crate) calls: Option<Nanos>,

    /// Do not trace system calls
    #[arg(hide_short_help = true, long, conflicts_with = "calls")]
    pub(crate) no_calls: bool,

    /// Serve OpenMetrics at /metrics for Prometheus on this port, such as 9435
    ///
    /// The default address is 127.0.0.1. Ends when the command exits, with Ctrl-C, or after
    /// --duration.
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = parse_address)]
    pub(crate) listen: Option<SocketAddr>,

    /// Show a table like top's, refreshed every second
    ///
    /// Keys: c, s, i and w sort by cost, switches, involuntary switches and wait; p pauses; q quits.
    /// A command's output is not shown.
    #[arg(long, conflicts_with_all = ["format", "output", "details", "by"])]
    pub(crate) live: bool,

    /// Print a line of JSON once per TIME, such as 1s, instead of a report
    ///
    /// Each line has the time of day. Ends when the target exits, with Ctrl-C, or after --duration.
    #[arg(long, value_name = "TIME", value_parser = parse_period, conflicts_with_all = ["live", "output", "details", "by"])]
    pub(crate) every: Option<Nanos>,

    /// Skip the calibration (8 to 15 s) that runs first if no recent measurement fits this machine
    #[arg(hide_short_help = true, long)]
    pub(crate) no_calibration: bool,

    /// Save the record as FILE, which must not exist [default: a new file in
    /// ~/.local/state/switchcost/runs]
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
    pub(crate) stacks: Stacks,

    #[command(flatten)]
    pub(crate) rows: Rows,

    #[command(flatten)]
    pub(crate) form: OutputArguments,

    #[command(flatten)]
    pub(crate) verbosity: Verbosity,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_are_numbers_as_pgrep_prints_them() {
        let parsed = |text| parse_processes(text).map(|processes| processes.0);
        for text in ["7,8,9", "7 8 9", "7\n8\n9\n", " 7, 8,\t9 "] {
            assert_eq!(parsed(text), Ok(vec![7, 8, 9]), "{text:?}");
        }
    }
}
