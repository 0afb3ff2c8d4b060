//! Arguments of `observe`: tasks, duration, detail.

use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use clap::Args;
use switchcost_units::Nanos;

use super::{HELP_TEMPLATE, OutputArguments, Redaction, Rows, Stacks, Verbosity, first_paragraph};

const EXAMPLES: &str = "\
Examples:
  switchcost observe make -j4                   a command, until it ends
  switchcost observe -p 1234 -d 30s             a process and what it starts, for half a minute
  switchcost observe -p 1234 -- wrk http://localhost/
                                                a process, while a command runs
  switchcost observe -a --live                  every task, refreshed each second

  switchcost observe --comm redis-server -d 30s the processes of a name
  switchcost observe --cgroup system.slice/nginx.service
                                                the processes of a control group
  switchcost observe -p 1234 -d 10s --rate-cmd 'cat /run/service/served'
                                                what switching costs for each request
  switchcost observe -a --wakers                every task, and which wakes which
  switchcost observe -a --every 1s >> log.jsonl a line each second, with the time of day
  switchcost observe -p 1234 -d 5s --events trace.pftrace
                                                each switch, for ui.perfetto.dev
  switchcost observe -p 1234 -o result.json     for programs
  switchcost report FILE                        the same again, from its record

Causes, and who ran instead, are counted by BPF programs, which need root (or cap_bpf and cap_perfmon) and a kernel with BTF. Without \
them, switches are counted and not explained.";

fn parse_address(text: &str) -> Result<SocketAddr, String> {
    let port = text
        .trim_start_matches(':')
        .parse()
        .ok()
        .map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    port.or_else(|| text.parse().ok())
        .ok_or_else(|| format!("'{text}' is not a port; write 9435, or an address and a port"))
}

/// Shortest interval: a shorter one would end between two reads of the sums.
const SHORTEST_INTERVAL: Nanos = Nanos::millis(100);

fn parse_duration(text: &str) -> Result<Nanos, String> {
    let time = text.parse::<Nanos>().map_err(|error| error.to_string())?;
    match time {
        Nanos(0) => Err("nothing can be observed in 0 s; write 10s or the like".to_owned()),
        time => Ok(time),
    }
}

fn parse_interval(text: &str) -> Result<Nanos, String> {
    let time = text.parse::<Nanos>().map_err(|error| error.to_string())?;
    if time < SHORTEST_INTERVAL {
        return Err(format!(
            "'{text}' is too short; write {SHORTEST_INTERVAL} or more, such as 1s"
        ));
    }
    Ok(time)
}

/// Numbers of processes.
#[derive(Clone, Debug)]
pub(crate) struct Processes(pub(crate) Vec<u32>);

fn parse_processes(text: &str) -> Result<Processes, String> {
    let words = text
        .split(|c: char| c == ',' || c.is_ascii_whitespace())
        .filter(|word| !word.is_empty());
    let number = |word: &str| {
        let number = word.parse::<u32>().ok().filter(|number| *number > 0);
        number.ok_or_else(|| {
            format!("'{word}' is not the number of a process; list processes with ps -e")
        })
    };
    let numbers = words.map(number).collect::<Result<Vec<u32>, String>>()?;
    let none = || Err("no number of a process is given; pgrep may have found none".to_owned());
    if numbers.is_empty() {
        none()
    } else {
        Ok(Processes(numbers))
    }
}

#[derive(Debug, Args)]
#[command(help_template = HELP_TEMPLATE, after_help = first_paragraph(EXAMPLES), after_long_help = EXAMPLES)]
#[group(id = "who", required = true, multiple = true, args = ["command", "pid", "comm", "cgroup", "all"])]
pub(crate) struct ObserveArguments {
    /// Command to run and observe, with all that it starts; another target is observed until the
    /// command ends
    ///
    /// The command keeps its standard output, and the report goes to standard error. With --format
    /// json, csv or jsonl and without --output it is the other way round.
    #[arg(trailing_var_arg = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,

    /// Observe these processes and what they start meanwhile
    ///
    /// Numbers with commas, blanks or new lines between them, as pgrep prints them.
    #[arg(short, long, value_name = "LIST", value_parser = parse_processes, help_heading = "Target", conflicts_with_all = ["comm", "cgroup", "all"])]
    pub(crate) pid: Vec<Processes>,

    /// Observe the processes of this name, running now or later, and what they start
    #[arg(long, value_name = "NAME", help_heading = "Target", conflicts_with_all = ["cgroup", "all"])]
    pub(crate) comm: Vec<String>,

    /// Observe a control group and those below it: a folder, or its path below /sys/fs/cgroup
    #[arg(
        long,
        value_name = "PATH",
        help_heading = "Target",
        conflicts_with = "all"
    )]
    pub(crate) cgroup: Option<String>,

    /// Observe every task except the observer's own
    #[arg(short, long, help_heading = "Target")]
    pub(crate) all: bool,

    /// How long to observe, such as 30s or 5min [default: until the target ends; with --all and
    /// --cgroup 10s]
    ///
    /// A command that still runs then is asked to end (SIGTERM).
    #[arg(short, long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) duration: Option<Nanos>,

    /// Number of requests served in that time, for the cost of one
    #[arg(
        hide_short_help = true,
        long,
        value_name = "N",
        conflicts_with = "rate_cmd"
    )]
    pub(crate) requests: Option<u64>,

    /// Shell command that prints how many requests were served so far
    ///
    /// It is run before and after the observation, for the cost of a request.
    #[arg(hide_short_help = true, long, value_name = "COMMAND")]
    pub(crate) rate_cmd: Option<String>,

    /// Count wake-ups by their waker, too
    ///
    /// Observing a switch then takes a third longer.
    #[arg(hide_short_help = true, long)]
    pub(crate) wakers: bool,

    /// Measure how long the kernel's scheduler takes at each switch
    ///
    /// If it has tracepoints at its entry and exit. Observing a switch then takes nearly twice as
    /// long.
    #[arg(hide_short_help = true, long, conflicts_with = "no_bpf")]
    pub(crate) scheduler_time: bool,

    /// Write each switch and wake-up to FILE, a trace for ui.perfetto.dev
    ///
    /// Observing a switch then takes about three times as long.
    #[arg(long, value_name = "FILE", conflicts_with = "no_bpf")]
    pub(crate) events: Option<PathBuf>,

    /// Count only switches and causes, at half the overhead
    ///
    /// Without times off the CPU, other tasks and the cost of reloading caches.
    #[arg(hide_short_help = true, long, conflicts_with_all = ["no_bpf", "wakers", "events", "scheduler_time", "folded", "pprof"])]
    pub(crate) counts_only: bool,

    /// Use no BPF programs: needs no root, and reports no causes
    ///
    /// Uses the kernel's records of switches (perf), or else its counters in /proc.
    #[arg(hide_short_help = true, long, conflicts_with_all = ["folded", "pprof"])]
    pub(crate) no_bpf: bool,

    /// Sample the program's stack at N switches a second, 100 by default, for --folded and --pprof
    ///
    /// Stacks are found by frame pointers.
    #[arg(hide_short_help = true, long = "stacks", value_name = "N", num_args = 0..=1, default_missing_value = "100",
          value_parser = clap::value_parser!(u32).range(1..=100_000), conflicts_with = "no_bpf")]
    pub(crate) stacks_per_second: Option<u32>,

    /// Trace system calls once, for this time, to find what cold caches cost [default: 1 s of each 10,
    /// of at most 8 processes, for at most 2 % of their CPU time]
    ///
    /// What follows the calls that switched is compared with what follows the same calls when they
    /// did not. A traced call takes some 0.4 us longer.
    #[arg(hide_short_help = true, long, value_name = "TIME", conflicts_with_all = ["no_bpf", "counts_only", "all"])]
    pub(crate) calls: Option<Nanos>,

    /// Trace no system calls
    #[arg(hide_short_help = true, long, conflicts_with = "calls")]
    pub(crate) no_calls: bool,

    /// Serve OpenMetrics for Prometheus at /metrics on this address, such as 9435
    ///
    /// The address is 127.0.0.1 unless it is given. It is served until the command ends, Ctrl-C or
    /// --duration.
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = parse_address)]
    pub(crate) listen: Option<SocketAddr>,

    /// Show the last second, refreshed like top
    ///
    /// c, s, i and w sort by cost, switches, involuntary switches and wait; p pauses, q quits. The
    /// output of a command is not shown.
    #[arg(long, conflicts_with_all = ["format", "output", "details", "by"])]
    pub(crate) live: bool,

    /// Print a line of JSON for each interval of this length, such as 1s, for logs
    ///
    /// With the time of day, and without a report; until the target ends, Ctrl-C or --duration.
    #[arg(long, value_name = "TIME", value_parser = parse_interval, conflicts_with_all = ["live", "output", "details", "by"])]
    pub(crate) every: Option<Nanos>,

    /// Do not measure switch cost first (8 s) if no recent measurement fits
    #[arg(hide_short_help = true, long)]
    pub(crate) no_calibration: bool,

    /// Keep the record in FILE, which must not exist [default: a new file in
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
        for text in ["", "\n", "7;8", "0", "-1", "nginx"] {
            assert!(parsed(text).is_err(), "{text:?}");
        }
    }
}
