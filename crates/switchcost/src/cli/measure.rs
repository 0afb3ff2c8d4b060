//! Arguments of `measure`: cases, environment, precision.

use std::path::PathBuf;

use clap::{Args, Parser, ValueEnum};
use strum::IntoEnumIterator;
use switchcost_record::{Between, Mechanism, Policy, VectorState};
use switchcost_units::{Bytes, CpuId, Nanos};
use switchcost_workload::{Access, Pages, Pattern, Sharing, WorkingSet};

use super::compare::{percentage_error, unusable_confidence};
use super::{
    Cli, HELP_TEMPLATE, Named, OutputArguments, Redaction, Verb, Verbosity, first_paragraph,
};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, strum::Display)]
#[strum(serialize_all = "kebab-case")]
pub(crate) enum PlacementFlag {
    /// All tasks on one CPU: the quietest, unless --cpu is given
    #[default]
    One,
    /// One task per CPU: a hand-off wakes the task on the other CPU, without a switch between the tasks
    Pair,
    /// First one, then pair
    Both,
    /// Every CPU, and every pair of CPUs
    Matrix,
}

/// Names of further arguments that have no effect with `--prices`, which takes a CPU, a budget and a
/// seed.
const NOT_FOR_PRICES: [&str; 24] = [
    "full",
    "quick",
    "lmbench",
    "policy",
    "no_pin",
    "no_rt",
    "no_counters",
    "counters",
    "noise",
    "precision",
    "history",
    "round_trips",
    "flush",
    "pause",
    "confidence",
    "max_repetitions",
    "synthetic_switch",
    "synthetic_reload",
    "record",
    "redact",
    "details",
    "format",
    "output",
    "open",
];

/// Names of the arguments that select cases, and cannot be combined with `--full`, `--lmbench` or
/// `--prices`.
pub(crate) const SELECTORS: [&str; 16] = [
    "mechanism",
    "runtime",
    "runtime_command",
    "between",
    "tasks",
    "size",
    "stride",
    "access",
    "pattern",
    "sharing",
    "pages",
    "reload",
    "away",
    "vector_state",
    "concurrent",
    "placement",
];

const MEASURE_EXAMPLES: &str = "\
Examples:
  switchcost measure                                     the default mechanisms, and the pipe with
                                                         arrays of several sizes and strides (30 s)
  switchcost measure --quick                             the same, coarser (8 s on an idle machine)
  switchcost measure --mechanism pipe,futex              two mechanisms, direct cost only
  switchcost measure --size 64KiB,1MiB                   the indirect cost, with arrays
  switchcost measure -o page.html                        an HTML page with figures

  switchcost measure --mechanism pipe --between process,thread --size 0,64KiB,1MiB --access read,rmw
  switchcost measure --size 8MiB --pattern chase --pages huge
  switchcost measure --reload --size 64KiB,1MiB          how fast a working set is reloaded after a
                                                         switch
  switchcost measure --size 256KiB,1MiB --away 0,64KiB,1MiB,16MiB
                                                         the same, by the other task's working set
  switchcost measure --placement pair --concurrent       time-sharing a cache, or using it
                                                         concurrently
  switchcost measure --prices prices.json                the cost of a lost cache line, for
                                                         simulate --prices
  switchcost measure --lmbench                           lmbench's seven configurations
  switchcost measure --placement matrix                  every CPU, and every pair of CPUs
  switchcost measure -o result.json                      for programs
  switchcost measure --mechanism synthetic --synthetic-switch 2us
                                                         a known cost, to check the instrument

Once you choose a mechanism, size or the like, the rest defaults to the pipe, 2 tasks, size 0, stride 8B and rmw. \
--quick and --full alone keep the default mechanisms.";

fn mechanisms() -> String {
    let named = |mechanism: Mechanism| format!("{mechanism}{}", mechanism.traits().help);
    let usual: Vec<_> = Mechanism::real().map(named).collect();
    let others: Vec<_> = Mechanism::iter()
        .filter(|mechanism| !mechanism.traits().is_usual)
        .map(named)
        .collect();
    format!(
        "Mechanisms of the hand-off [default: the {} from {} to {}]: {}. Others: {}",
        usual.len(),
        usual[0],
        usual[usual.len() - 1],
        usual.join(", "),
        others.join(", ")
    )
}

/// Measures what a context switch costs on this machine: the direct cost (two tasks hand a token back and forth, minus one
/// task that hands it to itself) and the indirect cost (what the working set adds), with confidence intervals. Every sample
/// is kept in a record.
#[derive(Clone, Debug, Args)]
#[command(help_template = HELP_TEMPLATE, after_help = first_paragraph(MEASURE_EXAMPLES), after_long_help = MEASURE_EXAMPLES)]
pub(crate) struct MeasureArguments {
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = Named::<Mechanism>::new(),
          help = mechanisms(), hide_possible_values = true, help_heading = "What to measure")]
    pub(crate) mechanism: Vec<Mechanism>,

    /// Language runtimes to compare with OS threads and processes: go, java, ..., or all
    ///
    /// go/channel selects one kind of hand-off only, go=/opt/go/bin/go selects another
    /// installation, and PATH/runtime.toml adds your own runtime.
    #[arg(long, value_name = "LIST", value_delimiter = ',', conflicts_with_all = ["policy", "reload", "away", "concurrent"],
          help_heading = "What to measure")]
    pub(crate) runtime: Vec<String>,

    /// Your own program, with its arguments, that implements the runtime protocol
    #[arg(hide_short_help = true, long, value_name = "COMMAND", conflicts_with_all = ["policy", "reload", "away", "concurrent"],
          help_heading = "What to measure")]
    pub(crate) runtime_command: Option<String>,

    /// Hand over between processes, threads, or contexts in one thread (user)
    #[arg(hide_short_help = true, long, value_name = "LIST", value_delimiter = ',', value_parser = Named::<Between>::new(),
          help_heading = "What to measure")]
    pub(crate) between: Vec<Between>,

    /// Number of tasks in the ring, 2 to 64
    #[arg(
        hide_short_help = true,
        long,
        value_name = "LIST",
        value_delimiter = ',',
        value_parser = clap::value_parser!(u32).range(2..=64),
        help_heading = "What to measure"
    )]
    pub(crate) tasks: Vec<u32>,

    /// Array sizes per task, such as 0,64KiB,1MiB; 0 measures only the direct cost
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        help_heading = "What to measure"
    )]
    pub(crate) size: Vec<Bytes>,

    /// Strides through the array, such as 8B,128B,4KiB; the walk wraps around, so it touches every
    /// element once
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        help_heading = "What to measure"
    )]
    pub(crate) stride: Vec<Bytes>,

    /// How each element is accessed; rmw reads, modifies and writes it
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = Named::<Access>::new(),
          help_heading = "What to measure")]
    pub(crate) access: Vec<Access>,

    /// Access order: strided, or a pointer chase, which defeats the prefetcher
    #[arg(long, value_name = "PATTERN", default_value_t = Pattern::Strided, value_parser = Named::<Pattern>::new(),
          help_heading = "What to measure")]
    pub(crate) pattern: Pattern,

    /// A private array for each task, or one array shared by all
    #[arg(hide_short_help = true, long, value_name = "SHARING", default_value_t = Sharing::Private, value_parser = Named::<Sharing>::new(),
          help_heading = "What to measure")]
    pub(crate) sharing: Sharing,

    /// Page size of the arrays
    #[arg(hide_short_help = true, long, value_name = "PAGES", default_value_t = Pages::Base, value_parser = Named::<Pages>::new(),
          help_heading = "What to measure")]
    pub(crate) pages: Pages,

    /// Measure how fast a working set is reloaded after a switch
    ///
    /// Compares the first five walks through the array after a switch with the last three. The sum of
    /// the differences is the cost of the reload.
    #[arg(long, help_heading = "What to measure")]
    pub(crate) reload: bool,

    /// Working set of the other task, such as 0,64KiB,1MiB; implies --reload [default: as --size]
    #[arg(
        hide_short_help = true,
        long,
        value_name = "LIST",
        value_delimiter = ',',
        help_heading = "What to measure"
    )]
    pub(crate) away: Vec<Bytes>,

    /// Vector registers in use at each switch: init (none), sse, avx, avx512, amx, or all
    ///
    /// The kernel saves and restores them. [default: those that the program happens to use]
    #[arg(hide_short_help = true, long, value_name = "LIST", value_delimiter = ',', conflicts_with_all = ["runtime", "runtime_command", "reload", "away"],
          help_heading = "What to measure")]
    pub(crate) vector_state: Vec<VectorStateFlag>,

    /// Compare time-sharing one CPU with running concurrently on two CPUs that share a cache
    ///
    /// Reports how much each slows down a walk through the array. Implies --placement pair.
    #[arg(hide_short_help = true, long, conflicts_with_all = ["reload", "away", "tasks", "no_pin"], help_heading = "What to measure")]
    pub(crate) concurrent: bool,

    /// Which CPUs the tasks run on
    #[arg(hide_short_help = true, long, value_name = "PLACEMENT", value_enum, default_value_t = PlacementFlag::One,
          help_heading = "What to measure")]
    pub(crate) placement: PlacementFlag,

    /// Take about 8 s on an idle machine: shorter repetitions, less precision and, by default, fewer sizes
    #[arg(long, conflicts_with_all = ["full", "lmbench"], help_heading = "What to measure")]
    pub(crate) quick: bool,

    /// Measure all sizes and strides of Li, Ding and Shen 2007 (3 minutes)
    #[arg(long, conflicts_with_all = SELECTORS, help_heading = "What to measure")]
    pub(crate) full: bool,

    /// Measure lmbench's configurations: 2p/0K 2p/16K 2p/64K 8p/16K 8p/64K 16p/16K 16p/64K
    #[arg(hide_short_help = true, long, conflicts_with_all = SELECTORS, conflicts_with = "full", help_heading = "What to measure")]
    pub(crate) lmbench: bool,

    /// Measure only the cost of a lost cache line, and write it to FILE for simulate --prices
    ///
    /// The cost is measured by size, footprint and kind of access.
    #[arg(hide_short_help = true, long, value_name = "FILE", conflicts_with_all = SELECTORS, conflicts_with_all = NOT_FOR_PRICES,
          help_heading = "What to measure")]
    pub(crate) prices: Option<PathBuf>,

    /// CPUs to run on, such as 1 or 0,1 [default: the quietest, by load and interrupts]
    #[arg(long, value_name = "LIST", help_heading = "Control of the environment")]
    pub(crate) cpu: Option<String>,

    /// Scheduling policy of the tasks
    #[arg(long, value_name = "POLICY", default_value_t = Policy::Fifo, value_parser = Named::<Policy>::new(),
          help_heading = "Control of the environment")]
    pub(crate) policy: Policy,

    /// Do not pin the tasks to a CPU
    #[arg(hide_short_help = true, long, conflicts_with_all = ["cpu", "placement"], help_heading = "Control of the environment")]
    pub(crate) no_pin: bool,

    /// Do not use real-time priority: the same as --policy other, unless you choose batch
    #[arg(
        hide_short_help = true,
        long,
        help_heading = "Control of the environment"
    )]
    pub(crate) no_rt: bool,

    /// Skip the extra batches with performance counters
    #[arg(
        hide_short_help = true,
        long,
        help_heading = "Control of the environment"
    )]
    pub(crate) no_counters: bool,

    /// Run the batches with counters even if the CPU has none, as in most virtual machines
    ///
    /// Only kernel events, such as page faults and migrations, are then counted.
    #[arg(
        hide_short_help = true,
        long,
        conflicts_with = "no_counters",
        help_heading = "Control of the environment"
    )]
    pub(crate) counters: bool,

    /// Make network noise on this CPU during the run, as in Li, Ding and Shen 2007, section 3.3
    ///
    /// Sends bursts of messages over the loopback device with random pauses, to show the effect of
    /// a disturbance.
    #[arg(
        hide_short_help = true,
        long,
        value_name = "CPU",
        help_heading = "Control of the environment"
    )]
    pub(crate) noise: Option<CpuId>,

    /// Measure each case until its interval is within this share of the cost [default: 1%]
    ///
    /// This is the half-width of the interval within this run. The printed interval is wider: it also
    /// covers run-to-run variation, which is assumed unless --history has enough runs to measure it.
    #[arg(long, value_name = "PERCENT", value_parser = parse_precision, help_heading = "Precision and time")]
    pub(crate) precision: Option<u32>,

    /// Learn run-to-run variation from earlier records of this machine in DIR
    ///
    /// Needs at least seven records that were made an hour or more apart.
    #[arg(
        hide_short_help = true,
        long,
        value_name = "DIR",
        help_heading = "Precision and time"
    )]
    pub(crate) history: Option<PathBuf>,

    /// Round trips per timed batch [default: as many as fit into 20 us]
    ///
    /// Li, Ding and Shen 2007 used 10000.
    #[arg(hide_short_help = true, long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000),
          conflicts_with_all = ["runtime", "runtime_command", "reload", "away"], help_heading = "Precision and time")]
    pub(crate) round_trips: Option<u64>,

    /// Flush the caches before each timed batch by writing this much memory, such as 4MiB
    ///
    /// As in the code of Li, Ding and Shen 2007. No warm-up follows, so the first round trips find
    /// cold caches.
    #[arg(hide_short_help = true, long, value_name = "SIZE", conflicts_with_all = ["runtime", "runtime_command", "reload", "away"],
          help_heading = "Precision and time")]
    pub(crate) flush: Option<Bytes>,

    /// Sleep before each timed batch, such as 1s
    ///
    /// As in the code of Li, Ding and Shen 2007.
    #[arg(hide_short_help = true, long, value_name = "TIME", conflicts_with_all = ["runtime", "runtime_command", "reload", "away"],
          help_heading = "Precision and time")]
    pub(crate) pause: Option<Nanos>,

    /// Confidence level of the intervals, such as 95%
    #[arg(hide_short_help = true, long, value_name = "PERCENT", default_value = "90%", value_parser = parse_confidence,
          help_heading = "Precision and time")]
    pub(crate) confidence: u32,

    /// Time for the repetitions, such as 30s or 5min; the whole run takes some seconds longer
    /// [default: 26s, 6s with --quick, 170s with --full; 5s per case if you choose cases]
    ///
    /// With --prices, the default is 60s.
    #[arg(long, value_name = "TIME", help_heading = "Precision and time")]
    pub(crate) budget: Option<Nanos>,

    /// Maximum number of repetitions per case [default: 150]
    ///
    /// Each repetition has fresh processes and fresh pages.
    #[arg(hide_short_help = true, long, value_name = "N", value_parser = clap::value_parser!(u32).range(5..=10_000),
          help_heading = "Precision and time")]
    pub(crate) max_repetitions: Option<u32>,

    /// Seed of the run order and of random patterns [default: random, and recorded]
    #[arg(
        hide_short_help = true,
        long,
        value_name = "N",
        help_heading = "Precision and time"
    )]
    pub(crate) seed: Option<u64>,

    /// Cost of a switch with --mechanism synthetic
    #[arg(
        hide_short_help = true,
        long,
        value_name = "TIME",
        default_value = "2us",
        help_heading = "Known costs"
    )]
    pub(crate) synthetic_switch: Nanos,

    /// Time that synthetic adds to each walk after a switch
    #[arg(
        hide_short_help = true,
        long,
        value_name = "TIME",
        default_value = "0ns",
        help_heading = "Known costs"
    )]
    pub(crate) synthetic_reload: Nanos,

    /// Save the record as FILE, which must not exist [default: a new file in
    /// ~/.local/state/switchcost/runs]
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) record: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) redaction: Redaction,

    #[command(flatten)]
    pub(crate) verbosity: Verbosity,

    #[command(flatten)]
    pub(crate) form: OutputArguments,

    /// Whether the verb is `runtimes`.
    #[arg(skip)]
    pub(crate) is_ladder: bool,
}

impl MeasureArguments {
    /// Returns true if switches of a language runtime are to be measured.
    pub(crate) fn has_runtimes(&self) -> bool {
        !self.runtime.is_empty() || self.runtime_command.is_some()
    }

    /// Returns the conditions of all arrays and walks other than size, stride and access.
    pub(crate) fn walk(&self) -> WorkingSet {
        WorkingSet {
            pattern: self.pattern,
            sharing: self.sharing,
            pages: self.pages,
            ..WorkingSet::NONE
        }
    }

    /// Returns the arguments of `measure` as parsed from a command line without flags.
    pub(crate) fn usual() -> MeasureArguments {
        match Cli::try_parse_from(["switchcost", "measure"]).map(|cli| cli.verb) {
            Ok(Verb::Measure(arguments)) => *arguments,
            other => unreachable!("the verb is measure: {other:?}"),
        }
    }
}

/// Vector registers in use at a switch: one kind, or all kinds that the machine has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VectorStateFlag {
    All,
    One(VectorState),
}

impl std::fmt::Display for VectorStateFlag {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            VectorStateFlag::All => to.write_str("all"),
            VectorStateFlag::One(state) => state.fmt(to),
        }
    }
}

impl std::str::FromStr for VectorStateFlag {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim() == "all" {
            Ok(VectorStateFlag::All)
        } else {
            let state = text.trim().parse().map(VectorStateFlag::One);
            state.map_err(|_| {
                let names: Vec<String> =
                    VectorState::iter().map(|state| state.to_string()).collect();
                format!(
                    "'{text}' is not a vector state; use one of {}, all",
                    names.join(", ")
                )
            })
        }
    }
}

fn per_mille(text: &str) -> Option<u32> {
    let number: f64 = text.trim().strip_suffix('%')?.trim().parse().ok()?;
    (number > 0.0 && number < 100.0).then(|| (number * 10.0).round() as u32)
}

fn parse_precision(text: &str) -> Result<u32, String> {
    let precision = per_mille(text).filter(|precision| *precision >= 1);
    precision.ok_or_else(|| percentage_error(text, "from 0.1 to 99.9", "1%"))
}

fn parse_confidence(text: &str) -> Result<u32, String> {
    let confidence = per_mille(text).filter(|confidence| (500..=999).contains(confidence));
    confidence.ok_or_else(|| unusable_confidence(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_are_kept_in_thousandths() {
        assert_eq!(parse_precision("1%"), Ok(10));
        assert_eq!(parse_precision("0.5 %"), Ok(5));
        assert_eq!(parse_confidence("95%"), Ok(950));
    }
}
