//! The command line: one definition, from which help, completions and manual page are made.

pub(crate) mod ab;
pub(crate) mod compare;
pub(crate) mod inject;
pub(crate) mod man;
pub(crate) mod observe;
pub(crate) mod outputs;
pub(crate) mod parts;
pub(crate) mod reproduce;
pub(crate) mod runtimes;
pub(crate) mod schema;
pub(crate) mod simulate;
pub(crate) mod system;
pub(crate) mod trace;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use strum::IntoEnumIterator;
use switchcost_record::{Between, Mechanism, Policy, VectorState, printable};
use switchcost_report::Format;
use switchcost_report::observe::By;
use switchcost_units::{Bytes, CpuId, Nanos};
use switchcost_workload::{Access, Pages, Pattern, Sharing};

const EXIT_CODES: &str = "\
Exit codes:
  0    done; for doctor: fit
  1    an error; the message says what, and what to do
  2    the command line is wrong, asks for something that does not exist here, or names a record or
       trace to be made that is there already, or one file for two outputs; or a design cannot be
       built
  3    done, with reservations: a result could not be measured; for doctor: usable with caveats
  4    doctor: unfit
  5    a record or trace cannot be read, or is damaged
  6    compare, ab: a cost is shown to have grown by more than --fail-above allows
  N    observe, trace, simulate live: that of the command, where it failed (128 and the signal that
       killed it)
  130  stopped by Ctrl-C (129: by SIGHUP, 131: by SIGQUIT, 143: by SIGTERM, 152: by ulimit -t); what
       was measured is in the record";

/// What a context switch costs: direct and indirect, with error bars, and why
#[derive(Debug, Parser)]
#[command(name = "switchcost", version, max_term_width = 100, after_help = EXIT_CODES, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

impl Cli {
    /// Reads the command line. What stands in its place (help, a mistake) shows its words as a terminal may have them.
    pub(crate) fn read() -> Result<Cli, clap::Error> {
        Cli::of(std::env::args_os().collect())
    }

    fn of(words: Vec<OsString>) -> Result<Cli, clap::Error> {
        // The same mistake, made with words that can be shown.
        let of_shown = || Cli::try_parse_from(words.iter().map(|word| shown(word))).err();
        Cli::try_parse_from(&words).map_err(|mistake| of_shown().unwrap_or(mistake))
    }
}

/// A word of the command line without what commands a terminal. What is no text stays: it is for clap to refuse.
fn shown(word: &OsStr) -> OsString {
    let mut bytes = Vec::with_capacity(word.len());
    for chunk in word.as_bytes().utf8_chunks() {
        bytes.extend_from_slice(printable(chunk.valid()).as_bytes());
        bytes.extend_from_slice(chunk.invalid());
    }
    OsString::from_vec(bytes)
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Measure what a context switch costs on this machine
    Measure(Box<MeasureArguments>),
    /// Measure what a hand-off between goroutines, tasks, virtual threads and the like costs, beside the kernel's threads
    Runtimes(runtimes::RuntimesArguments),
    /// Observe live programs: what switching costs them, why they switch, and what takes the CPU from them
    Observe(Box<observe::ObserveArguments>),
    /// Measure what one preemption costs a program that is not changed
    Inject(Box<inject::InjectArguments>),
    /// Print the report of measure, observe, inject or simulate again, from its record
    Report(ReportArguments),
    /// Compare records: faster, slower, or no difference shown
    Compare(Box<compare::CompareArguments>),
    /// Measure two set-ups in turns, undo them, and compare: does a setting, a wrapper or a tracer make a switch dearer?
    Ab(Box<ab::AbArguments>),
    /// Check whether this machine is fit to measure, and how to make it so
    Doctor(DoctorArguments),
    /// Trace every address that programs touch, with every switch between them
    Trace(Box<trace::TraceArguments>),
    /// Simulate caches on a trace: what each switch costs in cycles, and why
    Simulate(Box<simulate::SimulateArguments>),
    /// Trace and simulate the programs of Mogul and Borg 1990
    Workload(Box<simulate::WorkloadArguments>),
    /// Repeat the papers' figures and tables here, beside the published values
    Reproduce(reproduce::ReproduceArguments),
    /// Print a completion script for a shell
    Completions(CompletionsArguments),
    /// Print the manual page
    Man(man::ManArguments),
    /// Print the JSON Schema of a JSON output or file
    Schema(schema::SchemaArguments),
}

/// How a result is written, the same for every verb.
#[derive(Clone, Debug, Args)]
pub(crate) struct OutputArguments {
    /// How to write the result
    #[arg(long, value_name = "FORMAT", default_value_t = Format::Table, value_parser = parse_named::<Format>,
          help_heading = "Output")]
    pub(crate) format: Format,

    /// Write the result to FILE instead of stdout, once it is complete; a device or FIFO is written to directly
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) out: Option<PathBuf>,
}

impl OutputArguments {
    /// Whether the result is not for a person at the terminal.
    pub(crate) fn is_elsewhere(&self) -> bool {
        self.format != Format::Table || self.out.is_some()
    }
}

/// What is listed of an observation.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct Rows {
    /// Rows of the first table of an observation: program, or control-group
    #[arg(long, value_name = "WHAT", default_value_t = By::Program, value_parser = parse_named::<By>, help_heading = "Output")]
    pub(crate) by: By,
}

/// Files for tools that show stacks.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Stacks {
    /// Write what was observed to FILE as folded stacks for flame graphs: the task's name, why it left its CPU, where, and for how long, in
    /// nanoseconds; or with observe --stacks the sampled stacks of the program, and how many switches they represent
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) folded: Option<PathBuf>,

    /// Write the same to FILE as a profile for pprof: switches, time off the CPU, wait for a CPU, and direct cost
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) pprof: Option<PathBuf>,
}

/// What is recorded of commands and of the machine.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct Redaction {
    /// Leave arguments of commands, the host name and the kernel's command line out of the record and of everything made from it
    #[arg(long, help_heading = "Output")]
    pub(crate) redact: bool,
}

/// How much is printed.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct Verbosity {
    /// Print everything instead of one screen
    #[arg(long, help_heading = "Output")]
    pub(crate) details: bool,
}

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

/// Measures what a context switch costs on this machine: its direct part (two tasks hand a token back and forth, less
/// one task that hands it to itself) and its indirect part (what the working set adds), with intervals. Every sample is
/// kept in a record.
#[derive(Clone, Debug, Args)]
#[command(after_help = MEASURE_EXAMPLES)]
pub(crate) struct MeasureArguments {
    /// Mechanisms: pipe, eventfd, futex, mutex-condvar, mutex-condvar-unlocked, mutex-condvar-held, socketpair, tcp, posix-sem,
    /// posix-mq, signal, yield, fiber, ucontext, green, green-preempt, async, preempt, concurrent (no hand-off: --concurrent),
    /// runtime (tasks of a language: --runtime), synthetic
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse_named::<Mechanism>,
          help_heading = "What to measure")]
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
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = "What to measure")]
    pub(crate) tasks: Vec<u32>,

    /// Size of each task's array, such as 0,64KiB,1MiB; 0 is the direct cost alone
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = "What to measure")]
    pub(crate) size: Vec<Bytes>,

    /// Stride of the walk, such as 8B,128B,4KiB; every element is touched once at any stride
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = "What to measure")]
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
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = "What to measure")]
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

    /// Measure instead what a lost line costs, by size, footprint and kind of access, and what the kernel's way through a switch does:
    /// the prices of the model of a switch; write them to FILE
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
    #[arg(long, conflicts_with = "no_counters", help_heading = "Control of the environment")]
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

    /// Learn how much runs of this machine differ from its earlier records in FOLDER: from seven on that lie an hour or more apart
    #[arg(long, value_name = "FOLDER", conflicts_with = "prices", help_heading = "Precision and time")]
    pub(crate) history: Option<PathBuf>,

    /// Round trips of a timed batch, such as the 10000 of Li, Ding and Shen 2007 [default: as many as take 20 us]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000),
          conflicts_with_all = ["runtime", "runtime_command", "reload", "away"], help_heading = "Precision and time")]
    pub(crate) round_trips: Option<u64>,

    /// Empty the caches before each timed batch by writing this much, such as 4MiB, as their code does; nothing is run untimed
    /// behind it, so that the first round trips find nothing
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

    /// Seed of the interleaving and of random patterns [default: another each time; the record keeps it]
    #[arg(long, value_name = "N", help_heading = "Precision and time")]
    pub(crate) seed: Option<u64>,

    /// Length of the switch of the mechanism synthetic
    #[arg(long, value_name = "TIME", default_value = "2us", help_heading = "Known answers")]
    pub(crate) synthetic_switch: Nanos,

    /// What synthetic adds to each walk of the switching arm
    #[arg(long, value_name = "TIME", default_value = "0ns", help_heading = "Known answers")]
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

const REPORT_EXAMPLES: &str = "\
Examples:
  switchcost report                                   the newest record
  switchcost report run.jsonl --format csv            an older record in another format
  switchcost report run.jsonl -o report.html          one page with figures, for any browser,
                                                      without a network
  switchcost report a.parquet b.parquet -o both.html  several records on one page
  switchcost report run.jsonl --figures figures       each figure as PNG and SVG, each table as CSV";

/// Prints the report of measure or simulate again, from the record alone, on this machine or another; or writes it as one
/// page of HTML with figures, and a table beside each.
#[derive(Clone, Debug, Args)]
#[command(after_help = REPORT_EXAMPLES)]
pub(crate) struct ReportArguments {
    /// The records, of measurements or simulations [default: the newest in ~/.local/state/switchcost/runs]
    pub(crate) record: Vec<PathBuf>,

    /// Write one HTML page with figures to FILE, once it is complete
    #[arg(short, long, value_name = "FILE", help_heading = "Output", conflicts_with_all = ["out", "format"])]
    pub(crate) output: Option<PathBuf>,

    /// Write each table of the page as CSV, and each figure as PNG and SVG, into the folder DIR; pictures are drawn by
    /// Chromium, which must be installed
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub(crate) figures: Option<PathBuf>,

    /// Of a measurement: learn how much runs of its machine differ from its earlier records in FOLDER, as measure --history does
    #[arg(long, value_name = "FOLDER")]
    pub(crate) history: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) stacks: Stacks,

    #[command(flatten)]
    pub(crate) rows: Rows,

    #[command(flatten)]
    pub(crate) verbosity: Verbosity,

    #[command(flatten)]
    pub(crate) form: OutputArguments,
}

const DOCTOR_EXAMPLES: &str = "\
Examples:
  switchcost doctor                  one screen: found, wanted, fix, lasting fix
  switchcost doctor --format json    for programs

Exit codes: 0 fit, 3 usable with caveats, 4 unfit.";

/// Says in one screen whether this machine is fit to measure, and how to make it so. Changes nothing.
#[derive(Clone, Debug, Args)]
#[command(after_help = DOCTOR_EXAMPLES)]
pub(crate) struct DoctorArguments {
    #[command(flatten)]
    pub(crate) verbosity: Verbosity,

    #[command(flatten)]
    pub(crate) form: OutputArguments,
}

/// Prints a completion script for a shell.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Examples:\n  switchcost completions bash > ~/.local/share/bash-completion/completions/switchcost"
)]
pub(crate) struct CompletionsArguments {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
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

/// Parses a name of a closed list, and says the whole list where it is another.
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
        if text.trim() == "all" { Ok(VectorStateFlag::All) } else { parse_named(text).map(VectorStateFlag::One) }
    }
}

fn parse_named<T>(text: &str) -> Result<T, String>
where
    T: std::str::FromStr + IntoEnumIterator + std::fmt::Display,
{
    text.trim().parse().map_err(|_| {
        let names: Vec<String> = T::iter().map(|name| name.to_string()).collect();
        format!("need one of {}", names.join(", "))
    })
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
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_design_of_an_example_exists() {
        fn texts(command: &clap::Command) -> Vec<String> {
            let own = command.get_after_help().map(ToString::to_string);
            own.into_iter().chain(command.get_subcommands().flat_map(texts)).collect()
        }
        let texts = texts(&Cli::command()).join("\n");
        let named = || texts.split("--design ").skip(1).filter_map(|rest| rest.split_whitespace().next());
        assert!(named().count() > 5, "{texts}");
        for name in named().flat_map(|names| names.split(',')) {
            let is_known = ["host", "list"].contains(&name) || name.ends_with(".toml");
            assert!(is_known || switchcost_cachesim::shipped::find(name).is_some(), "{name}");
        }
    }

    #[test]
    fn a_mistake_is_reported_with_words_that_can_be_shown() {
        for (words, reported) in [
            (&["report", "--\u{1b}[2J"][..], "unexpected argument '--\\u{1b}[2J' found"),
            (&["\u{202e}nam"], "unrecognized subcommand '\\u{202e}nam'"),
            (&["report", "r", "--format", "a\nerror: b"], "invalid value 'a\\nerror: b' for '--format <FORMAT>'"),
            (&["measure", "--size", "\u{9b}2J"], "found '\\u{9b}2J', need a size"),
            (&["report", "a", "--format", "json", "-o", "\u{7}", "\u{7}"], "cannot be used with"),
        ] {
            let words = std::iter::once("switchcost").chain(words.iter().copied()).map(OsString::from).collect();
            let answer = Cli::of(words).expect_err("a mistake").to_string();
            assert!(answer.contains(reported), "{answer}");
            let lines = answer.lines().collect::<Vec<_>>();
            assert!(lines.len() > 2 && lines.iter().all(|line| printable(line) == *line), "{answer:?}");
        }
    }

    #[test]
    fn what_is_no_text_is_shown_without_commands_to_the_terminal() {
        let word = OsString::from_vec(b"\x1b[2J\xff\n".to_vec());
        assert_eq!(shown(&word).as_bytes(), b"\\u{1b}[2J\xff\\n");
    }

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
            let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let lines: Vec<&str> = text.lines().collect();
            for line in lines.iter().filter(|line| line.starts_with(' ')) {
                assert!(line.chars().count() <= 100, "{}: {line}", command.get_name());
            }
            let is_of_paragraph = |line: &str| !line.is_empty() && !line.starts_with(' ') && !line.ends_with(':');
            for pair in lines.windows(2) {
                let is_broken = pair.iter().all(|line| is_of_paragraph(line));
                assert!(!is_broken, "{}: {pair:?}", command.get_name());
            }
            command.get_subcommands().for_each(look);
        }
        look(&Cli::command());
    }

    #[test]
    fn every_mechanism_is_named_in_the_help() {
        let help = Cli::command().find_subcommand_mut("measure").expect("a verb").render_long_help().to_string();
        for mechanism in Mechanism::iter() {
            assert!(help.contains(&mechanism.to_string()), "{mechanism}");
        }
    }
}
