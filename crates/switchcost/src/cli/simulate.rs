//! Arguments of `simulate` and `workload`: references, designs, detail.

use std::path::PathBuf;

use clap::Args;

use std::str::FromStr;

use switchcost_design::result::{LIVE, PrivateBy};
use switchcost_trace::reorder::Schedule;
use switchcost_units::Nanos;

use super::parts::{IntervalFlag, PartArguments};
use super::system::{GuestArguments, allow_once};
use super::trace::{CaptureArguments, OrderFlag, QUANTUM_INSTRUCTIONS};
use super::{HELP_TEMPLATE, Named, OutputArguments, Redaction, Verbosity, first_paragraph};

/// Simulated memory systems, and the resolution of their cycles.
#[derive(Clone, Debug, Args)]
pub(crate) struct DesignArguments {
    /// Memory systems: a built-in name (--design list shows them), a TOML file, or host [default:
    /// the four of Mogul and Borg 1990]
    ///
    /// host is this machine's own caches.
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        help_heading = "What to simulate"
    )]
    pub(crate) design: Vec<String>,

    /// Simulate variants of every design: L1D.size=8KiB,16KiB or L1I+L1D.ways=1,2,4
    ///
    /// Given several times, all combinations are simulated.
    #[arg(
        long,
        value_name = "LEVEL.FIELD=LIST",
        help_heading = "What to simulate"
    )]
    pub(crate) vary: Vec<String>,

    /// Simulate up to this many designs separately
    ///
    /// Of more designs, those that differ in the size, ways and cycles of their last levels are
    /// simulated in one pass, and all except the first of them have counters and costs only.
    #[arg(
        hide_short_help = true,
        long,
        value_name = "NUMBER",
        default_value_t = 16,
        help_heading = "What to simulate"
    )]
    pub(crate) in_full: usize,

    /// Report costs in time, too, at the prices in FILE, from measure --prices
    ///
    /// [default, for the design host: those of this machine, if they were measured]
    #[arg(
        hide_short_help = true,
        long,
        value_name = "FILE",
        help_heading = "What to simulate"
    )]
    pub(crate) prices: Option<PathBuf>,

    /// Intervals after a switch: their instructions, and how many are recorded [default: 10000x100; 1000x100 for client-server]
    #[arg(
        long,
        value_name = "INSTRUCTIONS[xNUMBER]",
        hide_short_help = true,
        help_heading = "What to simulate"
    )]
    pub(crate) interval: Option<IntervalFlag>,

    /// Also simulate the kernel's accesses to user memory during system calls
    #[arg(hide_short_help = true, long, help_heading = "What to simulate")]
    pub(crate) kernel_touches: bool,

    /// Who has private caches in the simulation without interference: each process, or each task
    ///
    /// The threads of a process share its caches; a task is one thread.
    #[arg(hide_short_help = true, long, value_name = "WHO", default_value_t = PrivateBy::Process, value_parser = Named::<PrivateBy>::new(),
          help_heading = "What to simulate")]
    pub(crate) private_by: PrivateBy,

    /// Leave the kernel's instructions and references out of a trace of a whole system
    #[arg(hide_short_help = true, long, help_heading = "What to simulate")]
    pub(crate) user_only: bool,

    /// Simulate up to this many designs at the same time [default: the number of CPUs]
    #[arg(hide_short_help = true, long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..), help_heading = "What to simulate")]
    pub(crate) threads: Option<u16>,

    /// Print how each level of each design is simulated, and simulate nothing
    ///
    /// It also says what rules out a faster method.
    #[arg(hide_short_help = true, long, help_heading = "What to simulate")]
    pub(crate) explain: bool,

    /// Number of places in code and data to list, by excess cycles
    #[arg(
        hide_short_help = true,
        long,
        value_name = "NUMBER",
        default_value_t = 20,
        help_heading = "Output"
    )]
    pub(crate) places: usize,

    /// Keep the record (Parquet) in FILE, which must not exist [default: a new file in
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
    pub(crate) verbosity: Verbosity,

    #[command(flatten)]
    pub(crate) form: OutputArguments,
}

const SIMULATE_EXAMPLES: &str = "\
Examples:
  switchcost simulate two.sct                              the four designs of Mogul and Borg 1990
  switchcost simulate --design list                        the built-in designs
  switchcost simulate two.sct --design host                this machine's own caches
  switchcost simulate two.sct --design mogul-1a,my.toml --format json
  switchcost simulate two.sct --design my.toml --vary L1D.size=8KiB,32KiB --vary L1D.ways=1,2,4,8
  switchcost simulate two.sct --quantum 100000,400000,1600000     what would another quantum cost?

  switchcost simulate two.sct --schedule round-robin,affinity:8,batch:2      and another scheduler?
  switchcost simulate two.sct --design mogul-2a --at-once 100
                                                         a last level that two CPUs share at once
  switchcost simulate long.sct --sample 5% --design mogul-2a,host,my.toml
                                                         all of it from a twentieth, with intervals
  switchcost simulate all.pti=on.sct all.pti=off.sct --design zen4-epyc-9004
                                                         several traces, each with a record
  switchcost simulate live --design zen4-epyc-9004 --with 'sort big' -- grep -c x big
  switchcost simulate two.sct --range 100000000..200000000        a part of it";

/// Length of a time slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quantum {
    /// This many instructions.
    Instructions(u64),
    /// As many instructions as the designs have cycles in this time.
    Time(Nanos),
}

/// Least quantum in instructions: the kernel needs longer for a switch.
const FEWEST_INSTRUCTIONS: u64 = 1000;

impl FromStr for Quantum {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || {
            format!(
                "'{text}' is neither {FEWEST_INSTRUCTIONS} instructions or more, nor a time; write 400000, or 4ms"
            )
        };
        match text.parse() {
            Ok(instructions) if instructions >= FEWEST_INSTRUCTIONS => {
                Ok(Quantum::Instructions(instructions))
            }
            Ok(_) => Err(error()),
            Err(_) => text.parse().map(Quantum::Time).map_err(|_| error()),
        }
    }
}

/// Simulates caches on a trace, or on programs as they run: what each switch costs in cycles, and why.
#[derive(Clone, Debug, Args)]
#[command(help_template = HELP_TEMPLATE, after_help = first_paragraph(SIMULATE_EXAMPLES), after_long_help = SIMULATE_EXAMPLES)]
pub(crate) struct SimulateArguments {
    /// The trace, or live and a command; several traces count as trials, each with its own record
    #[arg(value_name = "TRACE", value_terminator = LIVE)]
    pub(crate) traces: Vec<PathBuf>,

    /// Replay a trace in these orders: round-robin, affinity:N, longest-quantum or batch:K
    ///
    /// One after the other. [default: the order of the trace; with --quantum, round-robin]
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        help_heading = "What to simulate"
    )]
    pub(crate) schedule: Vec<Schedule>,

    /// Replay a trace with these time slices, in instructions (400000) or time (4ms)
    ///
    /// One after the other; time is converted at one instruction a cycle. Of live programs: the
    /// length of a turn in instructions. [default: that of the trace, or 400000]
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        help_heading = "What to simulate"
    )]
    pub(crate) quantum: Vec<Quantum>,

    /// Also end turns at random, this many instructions apart on average, as wake-ups of other
    /// tasks do
    ///
    /// A model: the moments are those of a Poisson process, whatever the tasks do.
    #[arg(hide_short_help = true, long, value_name = "INSTRUCTIONS", value_parser = clap::value_parser!(u64).range(1..), conflicts_with_all = ["at_once", "range", "sample", "user_only"],
          help_heading = "What to simulate")]
    pub(crate) preempt_every: Option<u64>,

    /// Replay a trace with page faults: each task waits this long at its first use of each page of
    /// a file
    ///
    /// In instructions of other tasks, or in time at one instruction a cycle (20ms). Tasks then
    /// switch by page faults, as when memory held no files yet.
    #[arg(
        hide_short_help = true,
        long,
        value_name = "TIME",
        conflicts_with = "at_once",
        help_heading = "What to simulate"
    )]
    pub(crate) page_faults: Option<Quantum>,

    /// Run each process on a CPU of its own, this many instructions at a time, with a shared last
    /// level
    ///
    /// Reports the misses of the last level beside those of time-sharing it by --quantum.
    #[arg(hide_short_help = true, long, value_name = "INSTRUCTIONS", value_parser = clap::value_parser!(u64).range(1..), conflicts_with = "schedule",
          help_heading = "What to simulate")]
    pub(crate) at_once: Option<u64>,

    #[command(flatten)]
    pub(crate) part: PartArguments,

    #[command(flatten)]
    pub(crate) designs: DesignArguments,

    #[command(flatten)]
    pub(crate) capture: CaptureArguments,
}

const WORKLOAD_EXAMPLES: &str = "\
Examples:
  switchcost workload timesharing                          5000 switches under the four designs of
                                                           the paper
  switchcost workload compute-bound --seed 2 --design host
  switchcost workload client-server --trace pair.sct       keep the trace, too
  switchcost workload timesharing --system                 in a guest, with its kernel's references
  switchcost workload timesharing --system --user-only     the same without these: what the paper
                                                           could see

Timesharing needs the Debian packages magic, scm, make, gcc, vim-tiny and procps, compute-bound scm and opensta, \
client-server gcc.";

/// Runs, traces and simulates current counterparts of a set of programs of Mogul and Borg 1990 (Table 2).
#[derive(Clone, Debug, Args)]
#[command(help_template = HELP_TEMPLATE, after_help = first_paragraph(WORKLOAD_EXAMPLES), after_long_help = WORKLOAD_EXAMPLES, mut_arg("kernel", allow_once), mut_arg("append", allow_once))]
pub(crate) struct WorkloadArguments {
    /// The set of programs
    #[arg(value_parser = Named::<switchcost_programs::Set>::new())]
    pub(crate) set: switchcost_programs::Set,

    /// Switches in the trial
    #[arg(long, value_name = "NUMBER", default_value_t = 5000, value_parser = clap::value_parser!(u64).range(1..),
          help_heading = "What to trace")]
    pub(crate) switches: u64,

    /// Switches before the first that counts
    ///
    /// Caches see them, and the trial begins as far into the programs.
    #[arg(
        hide_short_help = true,
        long,
        value_name = "NUMBER",
        default_value_t = 0,
        help_heading = "What to trace"
    )]
    pub(crate) skip: u64,

    /// Seed of inputs, their sizes and the order of programs: another seed is another trial
    #[arg(
        long,
        value_name = "NUMBER",
        default_value_t = 1,
        help_heading = "What to trace"
    )]
    pub(crate) seed: u64,

    /// Order of turns: scheduled (repeatable) or as-run (as the kernel switches on one CPU)
    #[arg(long, value_name = "ORDER", default_value_t = OrderFlag::Scheduled, value_parser = Named::<OrderFlag>::new(),
          help_heading = "What to trace")]
    pub(crate) order: OrderFlag,

    /// Length of a scheduled turn in instructions
    ///
    /// With --system also of a slice of the guest's scheduler.
    #[arg(long, value_name = "INSTRUCTIONS", default_value_t = QUANTUM_INSTRUCTIONS, value_parser = clap::value_parser!(u64).range(1000..),
          help_heading = "What to trace")]
    pub(crate) quantum: u64,

    /// Also end turns at random, this many instructions apart on average, as wake-ups of other
    /// tasks do
    ///
    /// A model: the moments are those of a Poisson process, whatever the tasks do.
    #[arg(hide_short_help = true, long, value_name = "INSTRUCTIONS", value_parser = clap::value_parser!(u64).range(1..), conflicts_with_all = ["system", "order"],
          help_heading = "What to trace")]
    pub(crate) preempt_every: Option<u64>,

    /// Run the programs in a guest under QEMU, and simulate its kernel, too
    ///
    /// With --user-only, the programs alone at the same switches.
    #[arg(long, conflicts_with = "order", help_heading = "A whole system")]
    pub(crate) system: bool,

    #[command(flatten)]
    pub(crate) guest: GuestArguments,

    /// Keep the trace in FILE, which must not exist
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) trace: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) designs: DesignArguments,
}
