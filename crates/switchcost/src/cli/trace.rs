//! Arguments of `trace`: what to run, in which order, and actions on an existing trace.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use strum::{Display, EnumIter, EnumString};
use switchcost_record::Mechanism;
use switchcost_trace::ImportFormat;
use switchcost_units::{Bytes, CpuId};
use switchcost_workload::{Access, Pattern};

use super::system::{GuestArguments, SystemArguments, allow_once};
use super::{HELP_TEMPLATE, Named, OutputArguments, Redaction, exclude_page, first_paragraph};

/// Default quantum in instructions: the quantum of Mogul and Borg 1990.
pub(crate) const QUANTUM_INSTRUCTIONS: u64 = 400_000;

/// Default seed of the random lengths of scheduled time slices.
pub(crate) const TURN_SEED: u64 = 1;

/// Order in which traced tasks run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Display, EnumString, EnumIter)]
#[strum(serialize_all = "kebab-case")]
pub(crate) enum OrderFlag {
    /// Round-robin, with one task at a time. The same inputs give the same order.
    #[default]
    Scheduled,
    /// The order in which the kernel runs the tasks.
    AsRun,
}

/// Processes that the traced programs can see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Display, EnumString, EnumIter)]
#[strum(serialize_all = "kebab-case")]
pub(crate) enum ProcessesFlag {
    /// Only the traced programs, with PIDs that are the same in each run.
    #[default]
    Own,
    /// All processes of the machine.
    All,
}

/// What runs, and in which order.
#[derive(Clone, Debug, Args)]
pub(crate) struct CaptureArguments {
    /// Another command, whose time slices alternate with those of the first; may be repeated
    #[arg(long = "with", value_name = "'CMD'", help_heading = "What to trace")]
    pub(crate) with: Vec<String>,

    /// Who chooses the order of time slices: scheduled (the tracer, the same in every run) or as-run
    /// (the kernel, on one CPU)
    #[arg(long, value_name = "ORDER", default_value_t = OrderFlag::Scheduled, value_parser = Named::<OrderFlag>::new(),
          help_heading = "What to trace")]
    pub(crate) order: OrderFlag,

    /// Processes that the programs can see: their own, numbered from 2, or all
    ///
    /// With own, the numbers are the same in each run, if the system allows it.
    #[arg(hide_short_help = true, long, value_name = "WHICH", default_value_t = ProcessesFlag::Own, value_parser = Named::<ProcessesFlag>::new(),
          help_heading = "What to trace")]
    pub(crate) processes: ProcessesFlag,

    /// Stop after this many switches
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "What to trace")]
    pub(crate) switches: Option<u64>,

    /// CPU to run on [default: the last one]
    #[arg(
        hide_short_help = true,
        long,
        value_name = "CPU",
        help_heading = "What to trace"
    )]
    pub(crate) cpu: Option<CpuId>,

    /// Command to trace; it reads standard input if it is the only one
    ///
    /// Write -- before a command that has the name of an action, such as head.
    #[arg(
        trailing_var_arg = true,
        value_name = "COMMAND",
        help_heading = "What to trace"
    )]
    pub(crate) command: Vec<OsString>,
}

impl CaptureArguments {
    /// Returns the name of the first argument that differs from its default; `None` if all have
    /// their defaults.
    pub(crate) fn first_given(&self) -> Option<&'static str> {
        let CaptureArguments {
            with,
            order,
            processes,
            switches,
            cpu,
            command,
        } = self;
        let given = [
            (!with.is_empty(), "--with"),
            (*order != OrderFlag::default(), "--order"),
            (*processes != ProcessesFlag::default(), "--processes"),
            (switches.is_some(), "--switches"),
            (cpu.is_some(), "--cpu"),
            (!command.is_empty(), "a command"),
        ];
        let found = given.into_iter().find(|(is_given, _)| *is_given);
        found.map(|(_, name)| name)
    }
}

const USAGE: &str = "\
switchcost trace [OPTIONS] <COMMAND>...
       switchcost trace <ACTION>";

const TRACE_EXAMPLES: &str = "\
Examples:
  switchcost trace -o gzip.sct gzip -k file                 one program
  switchcost trace -o two.sct --with 'sort big' -- grep -c x big    two programs, alternating
  switchcost trace --system -o all.sct -- gzip -k file      with the kernel's references
  switchcost trace info two.sct                             what is in a trace

  switchcost trace --system --append pti=on --append pti=off -o all.sct -- gzip -k file
                                                            all.pti=on.sct and all.pti=off.sct
  switchcost trace check two.sct                            is the trace complete and valid?
  switchcost trace head two.sct -n 20                       the first events
  switchcost trace walks --size 384KiB -o walks.sct         the array walks of measure
  switchcost trace import --from lackey lackey.txt -o l.sct
  switchcost trace export --to din --pieces 32B two.sct > two.din";

/// Traces every address that programs touch, with every switch between them marked. Needs valgrind.
#[derive(Clone, Debug, Args)]
#[command(help_template = HELP_TEMPLATE, override_usage = USAGE, after_help = first_paragraph(TRACE_EXAMPLES), after_long_help = TRACE_EXAMPLES, args_conflicts_with_subcommands = true,
          subcommand_value_name = "ACTION", subcommand_help_heading = "Actions on traces")]
pub(crate) struct TraceArguments {
    #[command(subcommand)]
    pub(crate) action: Option<TraceAction>,

    /// Write the trace to FILE, which must not exist [default: a new file in ~/.local/state/switchcost/runs]
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) redaction: Redaction,

    /// Length of a scheduled time slice in instructions
    ///
    /// The length varies by up to a sixteenth. Mogul and Borg 1990 had about 400000.
    #[arg(hide_short_help = true, long, value_name = "INSTRUCTIONS", default_value_t = QUANTUM_INSTRUCTIONS, value_parser = clap::value_parser!(u64).range(1000..),
          help_heading = "What to trace")]
    pub(crate) quantum: u64,

    /// Seed of the lengths of time slices: another seed gives another order
    #[arg(hide_short_help = true, long, value_name = "N", default_value_t = TURN_SEED, conflicts_with = "system", help_heading = "What to trace")]
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
    /// Generate the trace of the array traversals ("walks") of "switchcost measure", or with --system record them
    Walks(WalksArguments),
    /// Convert a trace from another tool's format
    Import(ImportArguments),
    /// Convert a trace to another tool's format
    Export(ExportArguments),
}

#[derive(Clone, Debug, Args)]
#[command(mut_arg("format", exclude_page), mut_arg("open", |open| open.hide(true)))]
pub(crate) struct TraceFile {
    /// Trace to read
    pub(crate) file: PathBuf,

    #[command(flatten)]
    pub(crate) form: OutputArguments,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct HeadArguments {
    /// Trace to read
    pub(crate) file: PathBuf,

    /// Number of events to print
    #[arg(short, long, value_name = "N", default_value_t = 40)]
    pub(crate) number: u64,
}

const WALKS_EXAMPLES: &str = "\
Examples:
  switchcost trace walks --size 384KiB --access rmw -o walks.sct
                                                      two processes, alternating
  switchcost simulate walks.sct --design li2007-xeon  what they cost on another machine
  switchcost trace walks --system --size 0 -o hand-offs.sct
                                                      hand-offs through a pipe, with the kernel's
                                                      references";

/// Generates the trace that the tasks of switchcost measure would make: alternating processes, each of which walks its own array once
/// per time slice, without the kernel's references. With --system, runs these tasks in a guest, and traces them with the hand-off between
/// their walks.
#[derive(Clone, Debug, Args)]
#[command(help_template = HELP_TEMPLATE, after_help = first_paragraph(WALKS_EXAMPLES), after_long_help = WALKS_EXAMPLES, mut_arg("kernel", allow_once), mut_arg("append", allow_once))]
pub(crate) struct WalksArguments {
    /// Array size per process
    #[arg(long, value_name = "SIZE")]
    pub(crate) size: Bytes,

    /// Stride through the array; the walk wraps around, so it touches every element once
    #[arg(long, value_name = "SIZE", default_value = "8B")]
    pub(crate) stride: Bytes,

    /// How each element is accessed; rmw reads, modifies and writes it
    #[arg(long, value_name = "ACCESS", default_value_t = Access::Rmw, value_parser = Named::<Access>::new())]
    pub(crate) access: Access,

    /// Access order: strided, or a pointer chase, which defeats the prefetcher
    #[arg(long, value_name = "PATTERN", default_value_t = Pattern::Strided, value_parser = Named::<Pattern>::new())]
    pub(crate) pattern: Pattern,

    /// Instructions per element, including its loads and stores [default: two per load or store]
    ///
    /// gcc -O0 compiles array[j]++ to 15 instructions on 32-bit x86.
    #[arg(long, value_name = "N", conflicts_with = "system", value_parser = clap::value_parser!(u32).range(3..=250))]
    pub(crate) instructions: Option<u32>,

    /// Number of processes
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) tasks: u32,

    /// Number of time slices per process
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(crate) turns: u64,

    /// Seed of the pointer chase
    #[arg(hide_short_help = true, long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,

    /// Write the trace to FILE, which must not exist
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,

    #[command(flatten)]
    pub(crate) redaction: Redaction,

    /// Run the tasks of "measure" in a guest under QEMU, and trace them and its kernel
    ///
    /// The trace omits the start and the exit of the tasks.
    #[arg(long, help_heading = "A whole system")]
    pub(crate) system: bool,

    /// Mechanism of the hand-off, as in measure
    #[arg(long, value_name = "MECHANISM", requires = "system", default_value_t = Mechanism::Pipe,
          value_parser = Named::<Mechanism>::new(), hide_possible_values = true, help_heading = "A whole system")]
    pub(crate) mechanism: Mechanism,

    /// Let each task hand the token to itself, as in the baseline of "measure": no switches
    #[arg(long, requires = "system", help_heading = "A whole system")]
    pub(crate) alone: bool,

    #[command(flatten)]
    pub(crate) guest: GuestArguments,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct ImportArguments {
    /// The other tool's format
    #[arg(long, value_name = "FORMAT", value_parser = Named::<ImportFormat>::new())]
    pub(crate) from: ImportFormat,

    /// File to convert, or - for stdin; for drmemtrace also a folder with a file per thread
    pub(crate) file: PathBuf,

    /// Write the trace to FILE, which must not exist
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,

    /// For drmemtrace: convert only what ran on this CPU
    #[arg(hide_short_help = true, long, value_name = "CPU")]
    pub(crate) cpu: Option<CpuId>,

    /// For din, which records no sizes: size of a reference and of an instruction
    #[arg(long, value_name = "SIZE", default_value = "4B")]
    pub(crate) word: Bytes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Display, EnumString, EnumIter)]
#[strum(serialize_all = "kebab-case")]
pub(crate) enum ExportFormat {
    /// Text in the din format of Dinero.
    Din,
    /// Text in the format of `valgrind --tool=lackey --trace-mem=yes`.
    Lackey,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct ExportArguments {
    /// The other tool's format
    #[arg(long, value_name = "FORMAT", value_parser = Named::<ExportFormat>::new())]
    pub(crate) to: ExportFormat,

    /// Trace to read
    pub(crate) file: PathBuf,

    /// Write the result to FILE instead of stdout
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Convert only this process, by its number in trace info
    #[arg(long, value_name = "N")]
    pub(crate) process: Option<u32>,

    /// For din: split references at blocks of this size, such as a cache line [default: 4B]
    #[arg(long, value_name = "SIZE")]
    pub(crate) pieces: Option<Bytes>,
}
