//! Arguments of `trace`: what to run, in which order, and actions on an existing trace.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use strum::{Display, EnumIter, EnumString};
use switchcost_record::Mechanism;
use switchcost_units::{Bytes, CpuId};
use switchcost_workload::{Access, Pattern};

use super::system::{GuestArguments, SystemArguments, allow_once};
use super::{HELP_TEMPLATE, Named, OutputArguments, Redaction, first_paragraph};

/// Length of a scheduled time slice: that of Mogul and Borg 1990.
pub(crate) const QUANTUM_INSTRUCTIONS: u64 = 400_000;

/// Seed of the lengths of scheduled time slices.
pub(crate) const TURN_SEED: u64 = 1;

/// In which order the traced tasks run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Display, EnumString, EnumIter)]
#[strum(serialize_all = "kebab-case")]
pub(crate) enum OrderFlag {
    /// One after another, round-robin: the same inputs give the same order
    #[default]
    Scheduled,
    /// As the kernel runs them
    AsRun,
}

/// Which processes the traced programs see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Display, EnumString, EnumIter)]
#[strum(serialize_all = "kebab-case")]
pub(crate) enum ProcessesFlag {
    /// Themselves, by numbers that are the same each time
    #[default]
    Own,
    /// All of the machine
    All,
}

/// What runs, and how it takes turns.
#[derive(Clone, Debug, Args)]
pub(crate) struct CaptureArguments {
    /// Another command to run beside the first; may be given several times
    #[arg(long = "with", value_name = "'CMD'", help_heading = "What to trace")]
    pub(crate) with: Vec<String>,

    /// Order of turns: scheduled (repeatable) or as-run (as the kernel switches on one CPU)
    #[arg(long, value_name = "ORDER", default_value_t = OrderFlag::Scheduled, value_parser = Named::<OrderFlag>::new(),
          help_heading = "What to trace")]
    pub(crate) order: OrderFlag,

    /// Which processes the programs see: their own, numbered from 2 on, or all
    ///
    /// Own numbers are the same each time, where the system allows it.
    #[arg(hide_short_help = true, long, value_name = "WHICH", default_value_t = ProcessesFlag::Own, value_parser = Named::<ProcessesFlag>::new(),
          help_heading = "What to trace")]
    pub(crate) processes: ProcessesFlag,

    /// Stop after this many switches
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(1..), help_heading = "What to trace")]
    pub(crate) switches: Option<u64>,

    /// Run the traced programs on this CPU [default: the last one]
    #[arg(
        hide_short_help = true,
        long,
        value_name = "CPU",
        help_heading = "What to trace"
    )]
    pub(crate) cpu: Option<CpuId>,

    /// The command; it reads standard input if it is the only one
    ///
    /// Before a command that is named as a subcommand, such as head, write --.
    #[arg(
        trailing_var_arg = true,
        value_name = "COMMAND",
        help_heading = "What to trace"
    )]
    pub(crate) command: Vec<OsString>,
}

impl CaptureArguments {
    /// Whether any argument differs from its default.
    pub(crate) fn is_given(&self) -> bool {
        let CaptureArguments {
            with,
            order,
            processes,
            switches,
            cpu,
            command,
        } = self;
        !(with.is_empty() && command.is_empty())
            || *order != OrderFlag::default()
            || *processes != ProcessesFlag::default()
            || switches.is_some()
            || cpu.is_some()
    }
}

const TRACE_EXAMPLES: &str = "\
Examples:
  switchcost trace -o gzip.sct gzip -k file                 one program
  switchcost trace -o two.sct --with 'sort big' -- grep -c x big    two that take turns
  switchcost trace --system -o all.sct -- gzip -k file      the kernel's own references, too
  switchcost trace info two.sct                             what is in a trace

  switchcost trace --system --append pti=on --append pti=off -o all.sct -- gzip -k file
                                                            all.pti=on.sct and all.pti=off.sct
  switchcost trace --profile gzip.json -- gzip -k file      what the model of a switch needs to know
                                                            of it, and no trace
  switchcost trace check two.sct                            is it whole and sound?
  switchcost trace head two.sct -n 20                       the first events
  switchcost trace walks --size 384KiB -o walks.sct         what the tasks of measure touch
  switchcost trace import --from lackey lackey.txt -o l.sct
  switchcost trace export --to din --pieces 32B two.sct > two.din";

/// Traces every address that programs touch, with every switch between them marked. Needs valgrind.
#[derive(Clone, Debug, Args)]
#[command(help_template = HELP_TEMPLATE, after_help = first_paragraph(TRACE_EXAMPLES), after_long_help = TRACE_EXAMPLES, args_conflicts_with_subcommands = true)]
pub(crate) struct TraceArguments {
    #[command(subcommand)]
    pub(crate) action: Option<TraceAction>,

    /// Write the trace to FILE, which must not exist [default: a new file in ~/.local/state/switchcost/runs]
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,

    /// Write a reuse profile to FILE instead of a trace
    ///
    /// It has what the model of a switch needs to know of the program: how many lines are reused
    /// after a switch.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["output", "system"], help_heading = "Output")]
    pub(crate) profile: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) redaction: Redaction,

    /// Length of a scheduled turn in instructions
    ///
    /// It varies by up to a sixteenth. Mogul and Borg 1990 had about 400000.
    #[arg(hide_short_help = true, long, value_name = "INSTRUCTIONS", default_value_t = QUANTUM_INSTRUCTIONS, value_parser = clap::value_parser!(u64).range(1000..),
          help_heading = "What to trace")]
    pub(crate) quantum: u64,

    /// Seed of the lengths of scheduled turns: another seed is another order
    #[arg(hide_short_help = true, long, value_name = "NUMBER", default_value_t = TURN_SEED, conflicts_with = "system", help_heading = "What to trace")]
    pub(crate) seed: u64,

    #[command(flatten)]
    pub(crate) capture: CaptureArguments,

    #[command(flatten)]
    pub(crate) system: SystemArguments,
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum TraceAction {
    /// Summarize a trace
    Info(TraceFile),
    /// Check a trace: checksums, and every rule of the format
    Check(TraceFile),
    /// Print the first events of a trace
    Head(HeadArguments),
    /// Make a profile of a trace: what the model of a switch needs to know of the program
    Profile(ProfileArguments),
    /// Make a trace of the walks of measure, without a program; or with --system of its tasks in a guest
    Walks(WalksArguments),
    /// Make a trace from another tool's
    Import(ImportArguments),
    /// Write a trace in another tool's format
    Export(ExportArguments),
}

#[derive(Clone, Debug, Args)]
pub(crate) struct TraceFile {
    /// The trace
    pub(crate) file: PathBuf,

    #[command(flatten)]
    pub(crate) form: OutputArguments,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct HeadArguments {
    /// The trace
    pub(crate) file: PathBuf,

    /// How many events
    #[arg(short, long, value_name = "NUMBER", default_value_t = 40)]
    pub(crate) number: u64,
}

/// Makes a profile of a trace: how many lines are reused after a cut, by time, by kind of access and by their age.
#[derive(Clone, Debug, Args)]
pub(crate) struct ProfileArguments {
    /// The trace
    pub(crate) file: PathBuf,

    /// Write to FILE instead of stdout
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

const WALKS_EXAMPLES: &str = "\
Examples:
  switchcost trace walks --size 384KiB --access rmw -o walks.sct
                                                      two processes in turn
  switchcost simulate walks.sct --design li2007-xeon  what that costs on another machine
  switchcost trace walks --system --size 0 -o hand-offs.sct
                                                      a byte handed over a pipe, the kernel's part
                                                      included";

/// Makes a trace of processes that take turns, each walking an array of its own once a turn, as the tasks of measure do:
/// the same addresses in the same order, without the kernel's; or with --system the tasks of measure themselves in a guest,
/// with the hand-off between their walks.
#[derive(Clone, Debug, Args)]
#[command(help_template = HELP_TEMPLATE, after_help = first_paragraph(WALKS_EXAMPLES), after_long_help = WALKS_EXAMPLES, mut_arg("kernel", allow_once), mut_arg("append", allow_once))]
pub(crate) struct WalksArguments {
    /// Size of each process's array
    #[arg(long, value_name = "SIZE")]
    pub(crate) size: Bytes,

    /// Stride of the walk; every element is touched once at any stride
    #[arg(long, value_name = "SIZE", default_value = "8B")]
    pub(crate) stride: Bytes,

    /// What the walk does with each element
    #[arg(long, value_name = "ACCESS", default_value_t = Access::Rmw, value_parser = Named::<Access>::new())]
    pub(crate) access: Access,

    /// Order of the walk: strided, or a pointer chase
    #[arg(long, value_name = "PATTERN", default_value_t = Pattern::Strided, value_parser = Named::<Pattern>::new())]
    pub(crate) pattern: Pattern,

    /// Instructions of the loop for each element [default: two for each load or store]
    ///
    /// Its loads and stores are among them; 15 is what gcc -O0 makes of array[j]++ on 32-bit x86.
    #[arg(long, value_name = "NUMBER", conflicts_with = "system", value_parser = clap::value_parser!(u32).range(3..=250))]
    pub(crate) instructions: Option<u32>,

    /// Processes that take turns
    #[arg(long, value_name = "NUMBER", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) tasks: u32,

    /// Turns of each process
    #[arg(long, value_name = "NUMBER", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(crate) turns: u64,

    /// Seed of the chase's cycle
    #[arg(
        hide_short_help = true,
        long,
        value_name = "NUMBER",
        default_value_t = 1
    )]
    pub(crate) seed: u64,

    /// Write the trace to FILE, which must not exist
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,

    #[command(flatten)]
    pub(crate) redaction: Redaction,

    /// Run the tasks of measure in a guest under QEMU and trace their hand-offs, kernel included, without their start and end
    #[arg(long, help_heading = "A whole system")]
    pub(crate) system: bool,

    /// How the token is handed over, by measure's names: between processes, or at user level between contexts of one
    #[arg(long, value_name = "MECHANISM", requires = "system", default_value_t = Mechanism::Pipe,
          value_parser = Named::<Mechanism>::new(), help_heading = "A whole system")]
    pub(crate) mechanism: Mechanism,

    /// Each task hands the token to itself, one task after the other: the baseline of measure, without switches
    #[arg(long, requires = "system", help_heading = "A whole system")]
    pub(crate) alone: bool,

    #[command(flatten)]
    pub(crate) guest: GuestArguments,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Display, EnumString, EnumIter)]
#[strum(serialize_all = "kebab-case")]
pub(crate) enum ForeignFormat {
    /// Text of `valgrind --tool=lackey --trace-mem=yes`
    Lackey,
    /// Text of Dinero
    Din,
    /// Records of ChampSim's tracer, also compressed by gzip
    #[strum(serialize = "champsim")]
    ChampSim,
    /// Packets of gem5's CommMonitor or MemTraceProbe, also compressed by gzip
    Gem5,
    /// Records of DynamoRIO's drmemtrace, also compressed; of a folder, the threads that have files of their own
    Drmemtrace,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct ImportArguments {
    /// The other tool's format
    #[arg(long, value_name = "FORMAT", value_parser = Named::<ForeignFormat>::new())]
    pub(crate) from: ForeignFormat,

    /// The file; - for stdin; of drmemtrace also the folder with a file for each thread
    pub(crate) file: PathBuf,

    /// Write the trace to FILE, which must not exist
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,

    /// Of drmemtrace: only what ran on this CPU of the traced machine
    #[arg(hide_short_help = true, long, value_name = "CPU")]
    pub(crate) cpu: Option<CpuId>,

    /// Size of a reference and of an instruction, for din, which names none
    #[arg(long, value_name = "SIZE", default_value = "4B")]
    pub(crate) word: Bytes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Display, EnumString, EnumIter)]
#[strum(serialize_all = "kebab-case")]
pub(crate) enum ExportFormat {
    /// Text of Dinero
    Din,
    /// Text as of `valgrind --tool=lackey --trace-mem=yes`
    Lackey,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct ExportArguments {
    /// The other tool's format
    #[arg(long, value_name = "FORMAT", value_parser = Named::<ExportFormat>::new())]
    pub(crate) to: ExportFormat,

    /// The trace
    pub(crate) file: PathBuf,

    /// Write to FILE instead of stdout
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Only this process of the trace, by its number in `trace info`
    #[arg(long, value_name = "NUMBER")]
    pub(crate) process: Option<u32>,

    /// Block size of din's lines: with that of a cache's lines, each reference is one line
    /// [default: 4B]
    #[arg(long, value_name = "SIZE")]
    pub(crate) pieces: Option<Bytes>,
}
