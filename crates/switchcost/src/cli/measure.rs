//! `measure`: which cases, in which environment, how precisely.

use std::path::PathBuf;

use clap::{Args, Parser, ValueEnum};
use strum::IntoEnumIterator;
use switchcost_record::{Between, Mechanism, Policy, VectorState};
use switchcost_units::{Bytes, CpuId, Nanos};
use switchcost_workload::{Access, Pages, Pattern, Sharing};

use super::{Cli, OutputArguments, Redaction, Verb, Verbosity, parse_named};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, strum::Display)]
#[strum(serialize_all = "kebab-case")]
pub(crate) enum PlacementFlag {
    /// All tasks on one CPU, the quietest unless --cpu names it
    #[default]
    One,
    /// Tasks alternate between two CPUs: a hand-off across CPUs, which is not a switch
    Pair,
    /// The one, and the other
    Both,
    /// Every CPU alone and every pair of CPUs
    Matrix,
}

/// What a ready-made list already settles.
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
  switchcost measure                                     all mechanisms, sizes and strides of the
                                                         pipe (30 s)
  switchcost measure --quick                             the same, coarser (8 s)
  switchcost measure --mechanism pipe,futex              two mechanisms, direct cost only
  switchcost measure --mechanism pipe --between process,thread --size 0,64KiB,1MiB --access read,rmw
  switchcost measure --size 8MiB --pattern chase --pages huge
  switchcost measure --reload --size 64KiB,1MiB          how fast a working set is reloaded after a
                                                         switch
  switchcost measure --size 256KiB,1MiB --away 0,64KiB,1MiB,16MiB
                                                         the same by what the neighbour touches
  switchcost measure --placement pair --concurrent       a cache shared in turn, and at once
  switchcost measure --prices prices.json                what a lost line costs: for the model of a
                                                         switch
  switchcost measure --lmbench                           lmbench's seven columns
  switchcost measure --placement matrix                  every pair of CPUs
  switchcost measure --format json --out result.json     for programs
  switchcost measure --mechanism synthetic --synthetic-switch 2us
                                                         a known answer, to check the instrument

As soon as a flag under \"What to measure\" is given, the defaults of the others are the pipe, 2 tasks, \
size 0, stride 8B, rmw.";

fn mechanisms() -> String {
    let names =
        Mechanism::iter().map(|mechanism| format!("{mechanism}{}", mechanism.traits().help));
    format!("Mechanisms: {}", names.collect::<Vec<_>>().join(", "))
}

/// Measures what a context switch costs on this machine: its direct part (two tasks hand a token back and forth, less
/// one task that hands it to itself) and its indirect part (what the working set adds), with intervals. Every sample is
/// kept in a record.
#[derive(Clone, Debug, Args)]
#[command(after_help = MEASURE_EXAMPLES)]
pub(crate) struct MeasureArguments {
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse_named::<Mechanism>,
          help = mechanisms(), help_heading = "What to measure")]
    pub(crate) mechanism: Vec<Mechanism>,

    /// Runtimes of languages, beside the kernel's threads and processes: go, java, ..., or all; go/channel for one hand-off,
    /// go=/opt/go/bin/go for another program, or a file runtime.toml of your own
    #[arg(long, value_name = "LIST", value_delimiter = ',', conflicts_with_all = ["policy", "reload", "away", "concurrent"],
          help_heading = "What to measure")]
    pub(crate) runtime: Vec<String>,

    /// A program of your own that speaks the protocol of runtimes, with its arguments
    #[arg(long, value_name = "COMMAND", conflicts_with_all = ["policy", "reload", "away", "concurrent"],
          help_heading = "What to measure")]
    pub(crate) runtime_command: Option<String>,

    /// Between processes, threads, or both: process,thread
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse_named::<Between>,
          help_heading = "What to measure")]
    pub(crate) between: Vec<Between>,

    /// Tasks in the ring, 2 to 64
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        help_heading = "What to measure"
    )]
    pub(crate) tasks: Vec<u32>,

    /// Size of each task's array, such as 0,64KiB,1MiB; 0 is the direct cost alone
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        help_heading = "What to measure"
    )]
    pub(crate) size: Vec<Bytes>,

    /// Stride of the walk, such as 8B,128B,4KiB; every element is touched once at any stride
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        help_heading = "What to measure"
    )]
    pub(crate) stride: Vec<Bytes>,

    /// What the walk does with each element: read, write, rmw
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse_named::<Access>,
          help_heading = "What to measure")]
    pub(crate) access: Vec<Access>,

    /// Order of the walk: strided, or a pointer chase that defeats the prefetcher
    #[arg(long, value_name = "PATTERN", default_value_t = Pattern::Strided, value_parser = parse_named::<Pattern>,
          help_heading = "What to measure")]
    pub(crate) pattern: Pattern,

    /// One array for each task, or one for all: private, shared
    #[arg(long, value_name = "SHARING", default_value_t = Sharing::Private, value_parser = parse_named::<Sharing>,
          help_heading = "What to measure")]
    pub(crate) sharing: Sharing,

    /// Pages under the arrays: base, huge
    #[arg(long, value_name = "PAGES", default_value_t = Pages::Base, value_parser = parse_named::<Pages>,
          help_heading = "What to measure")]
    pub(crate) pages: Pages,

    /// Measure how a working set is reloaded: the 1st, 2nd, 3rd walk after a switch against settled ones, and their sum as the
    /// cost of having been away
    #[arg(long, help_heading = "What to measure")]
    pub(crate) reload: bool,

    /// What the other task touches meanwhile, such as 0,64KiB,1MiB [default: as much as --size]; implies --reload
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        help_heading = "What to measure"
    )]
    pub(crate) away: Vec<Bytes>,

    /// Vector registers that are in use at each hand-off, which the kernel then saves and loads: init (none), sse, avx, avx512, amx, or
    /// all that this machine has [default: what the program happens to use]
    #[arg(long, value_name = "LIST", value_delimiter = ',', conflicts_with_all = ["runtime", "runtime_command", "reload", "away"],
          help_heading = "What to measure")]
    pub(crate) vector_state: Vec<VectorStateFlag>,

    /// Compare two tasks that take turns on one CPU with the same on two CPUs at once that share a cache: by how much a walk is
    /// slower than alone, either way; implies --placement pair
    #[arg(long, conflicts_with_all = ["reload", "away", "tasks", "no_pin"], help_heading = "What to measure")]
    pub(crate) concurrent: bool,

    /// Where the tasks run
    #[arg(long, value_name = "PLACEMENT", value_enum, default_value_t = PlacementFlag::One,
          help_heading = "What to measure")]
    pub(crate) placement: PlacementFlag,

    /// Shorter repetitions and less precision; without a selection also fewer sizes: within 8 s
    #[arg(long, conflicts_with_all = ["full", "lmbench"], help_heading = "What to measure")]
    pub(crate) quick: bool,

    /// The whole grid of Li, Ding and Shen 2007: within 3 minutes
    #[arg(long, conflicts_with_all = SELECTORS, help_heading = "What to measure")]
    pub(crate) full: bool,

    /// lmbench's matrix: 2p/0K 2p/16K 2p/64K 8p/16K 8p/64K 16p/16K 16p/64K
    #[arg(long, conflicts_with_all = SELECTORS, conflicts_with = "full", help_heading = "What to measure")]
    pub(crate) lmbench: bool,

    /// Measure instead the prices of the model of a switch, and write them to FILE: what a lost line costs, by size, footprint and kind of
    /// access, and how much longer the kernel's switch path takes with cold caches
    #[arg(long, value_name = "FILE", conflicts_with_all = SELECTORS, conflicts_with_all = ["full", "quick", "lmbench"],
          help_heading = "What to measure")]
    pub(crate) prices: Option<PathBuf>,

    /// CPUs to run on, such as 1 or 0,1 [default: the quietest, by load and interrupts]
    #[arg(long, value_name = "LIST", help_heading = "Control of the environment")]
    pub(crate) cpu: Option<String>,

    /// Scheduling policy of the tasks: fifo, rr, other, batch
    #[arg(long, value_name = "POLICY", default_value_t = Policy::Fifo, value_parser = parse_named::<Policy>,
          help_heading = "Control of the environment")]
    pub(crate) policy: Policy,

    /// Let the scheduler choose the CPU
    #[arg(long, conflicts_with_all = ["cpu", "placement"], help_heading = "Control of the environment")]
    pub(crate) no_pin: bool,

    /// Do not use real-time priority: --policy other, unless batch is asked for
    #[arg(long, help_heading = "Control of the environment")]
    pub(crate) no_rt: bool,

    /// Run no extra batches with performance counters
    #[arg(long, help_heading = "Control of the environment")]
    pub(crate) no_counters: bool,

    /// Run them even if the CPU has no counters, as in most virtual machines, so that only the kernel's own (page faults,
    /// migrations) are counted
    #[arg(
        long,
        conflicts_with = "no_counters",
        help_heading = "Control of the environment"
    )]
    pub(crate) counters: bool,

    /// Make network noise on this CPU while measuring: bursts of messages over the loopback device with random pauses, as in
    /// Li, Ding and Shen 2007, section 3.3. To see what a disturbance does, not to measure well
    #[arg(long, value_name = "CPU", help_heading = "Control of the environment")]
    pub(crate) noise: Option<CpuId>,

    /// A case is done when the half-width of its interval is at most this share of the estimate, such as 1%: of the interval that is
    /// printed, where --history has enough runs and they differ by less; else of that within this run, and the one that is printed
    /// holds for other runs, too, and is wider [default: 1%]
    #[arg(long, value_name = "PERCENT", value_parser = parse_precision, help_heading = "Precision and time")]
    pub(crate) precision: Option<u32>,

    /// Learn the run-to-run variation of this machine from its earlier records in FOLDER: at least seven, an hour or more apart
    #[arg(
        long,
        value_name = "FOLDER",
        conflicts_with = "prices",
        help_heading = "Precision and time"
    )]
    pub(crate) history: Option<PathBuf>,

    /// Round trips of a timed batch, such as the 10000 of Li, Ding and Shen 2007 [default: as many as take 20 us]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000),
          conflicts_with_all = ["runtime", "runtime_command", "reload", "away"], help_heading = "Precision and time")]
    pub(crate) round_trips: Option<u64>,

    /// Flush the caches before each timed batch by writing this much, such as 4MiB, as their code does; no warm-up follows, so that the
    /// first round trips find them cold
    #[arg(long, value_name = "SIZE", conflicts_with_all = ["runtime", "runtime_command", "reload", "away"],
          help_heading = "Precision and time")]
    pub(crate) flush: Option<Bytes>,

    /// Sleep before each timed batch, such as 1s, as their code does
    #[arg(long, value_name = "TIME", conflicts_with_all = ["runtime", "runtime_command", "reload", "away"],
          help_heading = "Precision and time")]
    pub(crate) pause: Option<Nanos>,

    /// Confidence of the intervals: 90%, 95% or 99%
    #[arg(long, value_name = "PERCENT", default_value = "90%", value_parser = parse_confidence,
          help_heading = "Precision and time")]
    pub(crate) confidence: u32,

    /// Time for the whole run, such as 30s or 5min [default: as the preset says; 5s per case for a selection]
    #[arg(long, value_name = "TIME", help_heading = "Precision and time")]
    pub(crate) budget: Option<Nanos>,

    /// Maximum number of repetitions of a case; each has fresh processes and fresh pages [default: 150]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(5..=10_000),
          help_heading = "Precision and time")]
    pub(crate) max_repetitions: Option<u32>,

    /// Seed of the interleaving and of random patterns [default: random; it is recorded]
    #[arg(long, value_name = "N", help_heading = "Precision and time")]
    pub(crate) seed: Option<u64>,

    /// Length of the switch of the mechanism synthetic
    #[arg(
        long,
        value_name = "TIME",
        default_value = "2us",
        help_heading = "Known answers"
    )]
    pub(crate) synthetic_switch: Nanos,

    /// What synthetic adds to each walk of the switching arm
    #[arg(
        long,
        value_name = "TIME",
        default_value = "0ns",
        help_heading = "Known answers"
    )]
    pub(crate) synthetic_reload: Nanos,

    /// Keep the record in FILE, which must not exist [default: a new file in ~/.local/state/switchcost/runs]
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) record: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) redaction: Redaction,

    #[command(flatten)]
    pub(crate) verbosity: Verbosity,

    #[command(flatten)]
    pub(crate) form: OutputArguments,

    /// Whether this is the verb `runtimes`.
    #[arg(skip)]
    pub(crate) is_ladder: bool,
}

impl MeasureArguments {
    /// Whether tasks of a runtime are measured.
    pub(crate) fn has_runtimes(&self) -> bool {
        !self.runtime.is_empty() || self.runtime_command.is_some()
    }

    /// What `measure` is given without flags.
    pub(crate) fn usual() -> MeasureArguments {
        match Cli::try_parse_from(["switchcost", "measure"]).map(|cli| cli.verb) {
            Ok(Verb::Measure(arguments)) => *arguments,
            other => unreachable!("the verb is measure: {other:?}"),
        }
    }
}

/// Vector registers by name, or all that there are.
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
            parse_named(text).map(VectorStateFlag::One)
        }
    }
}

fn per_mille(text: &str) -> Option<u32> {
    let number: f64 = text.trim().strip_suffix('%')?.trim().parse().ok()?;
    (number > 0.0 && number < 100.0).then(|| (number * 10.0).round() as u32)
}

fn parse_precision(text: &str) -> Result<u32, String> {
    let precision = per_mille(text).filter(|precision| *precision >= 1);
    precision.ok_or_else(|| "need a percentage from 0.1% to 99.9%, such as 1%".to_owned())
}

fn parse_confidence(text: &str) -> Result<u32, String> {
    let confidence = per_mille(text).filter(|confidence| (500..=999).contains(confidence));
    confidence.ok_or_else(|| "need a percentage from 50% to 99.9%, such as 90%".to_owned())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn percentages_are_kept_in_thousandths() {
        assert_eq!(parse_precision("1%"), Ok(10));
        assert_eq!(parse_precision("0.5 %"), Ok(5));
        for text in ["1", "0%", "-1%", "nan%", "inf%", "100%", ""] {
            assert!(parse_precision(text).is_err(), "{text}");
        }
        assert_eq!(parse_confidence("95%"), Ok(950));
        assert!(parse_confidence("40%").is_err());
    }

    /// A line of an example that is longer than the help is wide is wrapped wherever that ends, and a paragraph that is broken by hand
    /// is then broken twice.
    #[test]
    fn help_is_wrapped_once() {
        fn look(command: &clap::Command) {
            let text = command
                .get_after_help()
                .map(ToString::to_string)
                .unwrap_or_default();
            let lines: Vec<&str> = text.lines().collect();
            for line in lines.iter().filter(|line| line.starts_with(' ')) {
                assert!(
                    line.chars().count() <= 100,
                    "{}: {line}",
                    command.get_name()
                );
            }
            let is_of_paragraph =
                |line: &str| !line.is_empty() && !line.starts_with(' ') && !line.ends_with(':');
            for pair in lines.windows(2) {
                let is_broken = pair.iter().all(|line| is_of_paragraph(line));
                assert!(!is_broken, "{}: {pair:?}", command.get_name());
            }
            command.get_subcommands().for_each(look);
        }
        look(&Cli::command());
    }
}
