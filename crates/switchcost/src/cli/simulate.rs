//! Arguments of `simulate` and `workload`: references, designs, detail.

use std::path::PathBuf;

use clap::{Arg, Args};

use std::str::FromStr;

use switchcost_design::result::{LIVE, PrivateBy};
use switchcost_trace::reorder::Schedule;
use switchcost_units::Nanos;

use super::parts::{IntervalFlag, PartArguments};
use super::system::{GuestArguments, allow_once, show_workload_default};
use super::trace::{CaptureArguments, OrderFlag, QUANTUM_INSTRUCTIONS};
use super::{HELP_TEMPLATE, Named, OutputArguments, Redaction, Verbosity, first_paragraph};

/// Simulated memory systems, and the resolution of their cycles.
#[derive(Clone, Debug, Args)]
pub(crate) struct DesignArguments {
    /// Cache designs: built-in names (see --design list), TOML files, or host for this machine's
    /// caches [default: the four of Mogul and Borg 1990]
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        help_heading = "What to simulate"
    )]
    pub(crate) design: Vec<String>,

    /// Simulate variants of every design, such as L1D.size=8KiB,16KiB or L1I+L1D.ways=1,2,4
    ///
    /// If repeated, all combinations are simulated.
    #[arg(
        long,
        value_name = "LEVEL.FIELD=LIST",
        help_heading = "What to simulate"
    )]
    pub(crate) vary: Vec<String>,

    /// Simulate up to this many designs separately
    ///
    /// With more designs than N, those that differ only in size, ways and cycles of their last levels
    /// share one pass. All but the first of each such group get only counters and costs.
    #[arg(
        hide_short_help = true,
        long,
        value_name = "N",
        default_value_t = 16,
        help_heading = "What to simulate"
    )]
    pub(crate) in_full: usize,

    /// Also report costs in time, by the miss costs in FILE (from measure --prices)
    ///
    /// [default for the design host: those measured on this machine, if any]
    #[arg(
        hide_short_help = true,
        long,
        value_name = "FILE",
        help_heading = "What to simulate"
    )]
    pub(crate) prices: Option<PathBuf>,

    /// Length and number of the intervals recorded after each switch [default: 10000x100; 1000x100 for client-server]
    #[arg(
        long,
        value_name = "INSTRUCTIONS[xN]",
        hide_short_help = true,
        help_heading = "What to simulate"
    )]
    pub(crate) interval: Option<IntervalFlag>,

    /// Also simulate the kernel's accesses to user memory during system calls
    #[arg(hide_short_help = true, long, help_heading = "What to simulate")]
    pub(crate) kernel_touches: bool,

    /// Owner of each set of private caches, in the simulation without interference
    ///
    /// A task is one thread; the threads of a process share its caches.
    #[arg(hide_short_help = true, long, value_name = "OWNER", default_value_t = PrivateBy::Process, value_parser = Named::<PrivateBy>::new(),
          help_heading = "What to simulate")]
    pub(crate) private_by: PrivateBy,

    /// Omit the kernel's instructions and references from a trace of a whole system
    #[arg(hide_short_help = true, long, help_heading = "What to simulate")]
    pub(crate) user_only: bool,

    /// Simulate up to this many designs concurrently [default: the number of CPUs]
    #[arg(hide_short_help = true, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..), help_heading = "What to simulate")]
    pub(crate) threads: Option<u16>,

    /// Print how each level of each design would be simulated, and simulate nothing
    ///
    /// Also prints what rules out a faster method.
    #[arg(
        hide_short_help = true,
        long,
        conflicts_with = "record",
        help_heading = "What to simulate"
    )]
    pub(crate) explain: bool,

    /// Number of code and data locations to list, by excess cycles
    #[arg(
        hide_short_help = true,
        long,
        value_name = "N",
        default_value_t = 20,
        help_heading = "Output"
    )]
    pub(crate) places: usize,

    /// Save the record (Parquet) as FILE, which must not exist [default: a new file in
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

const USAGE: &str = "\
switchcost simulate [OPTIONS] <TRACE>...
       switchcost simulate live [OPTIONS] <COMMAND>...
       switchcost simulate --design list";

const SIMULATE_EXAMPLES: &str = "\
Examples:
  switchcost simulate two.sct                              the four designs of Mogul and Borg 1990
  switchcost simulate --design list                        the built-in designs
  switchcost simulate two.sct --design host                this machine's own caches
  switchcost simulate two.sct --design mogul-1a,my.toml    two designs: a built-in one, and a file
  switchcost simulate two.sct --design my.toml --vary L1D.size=8KiB,32KiB --vary L1D.ways=1,2,4,8
                                                           eight variants of one design
  switchcost simulate two.sct --quantum 100000,400000,1600000     what would another quantum cost?

  switchcost simulate two.sct --schedule round-robin,affinity:8,batch:2   and another scheduler?
  switchcost simulate two.sct --design mogul-2a --at-once 100
                                                         a last level that two CPUs share
  switchcost simulate all.pti=on.sct all.pti=off.sct --design zen4-epyc-9004
                                                         several traces, with a record each
  switchcost simulate live --design zen4-epyc-9004 --with 'sort big' -- grep -c x big
  switchcost simulate two.sct --range 100000000..200000000        part of a trace";

/// Length of a time slice, or of the wait for a page, as given on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quantum {
    /// A number of instructions.
    Instructions(u64),
    /// A time, converted at one instruction per cycle of the designs.
    Time(Nanos),
}

/// Least quantum in instructions. The kernel alone executes more of them in a switch.
pub(crate) const FEWEST_INSTRUCTIONS: u64 = 1000;

impl FromStr for Quantum {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || {
            format!(
                "'{text}' is neither a time nor a number of at least {FEWEST_INSTRUCTIONS} instructions; write 400000, or 4ms"
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

/// Moves an argument of `trace` to the help section on simulations of live programs.
fn move_to_live(argument: Arg) -> Arg {
    argument.help_heading("What to trace (with live)")
}

/// Simulates caches on a trace, or on programs as they run: what each switch costs in cycles, and why.
#[derive(Clone, Debug, Args)]
#[command(help_template = HELP_TEMPLATE, override_usage = USAGE, after_help = first_paragraph(SIMULATE_EXAMPLES), after_long_help = SIMULATE_EXAMPLES,
          mut_arg("command", |command| move_to_live(command.long_help(None))), mut_arg("with", move_to_live), mut_arg("order", move_to_live),
          mut_arg("processes", move_to_live), mut_arg("switches", move_to_live), mut_arg("cpu", move_to_live))]
pub(crate) struct SimulateArguments {
    /// Trace to simulate, or the word live and a command; several traces count as repeated trials of one experiment, each with its own record
    #[arg(value_name = "TRACE", value_terminator = LIVE)]
    pub(crate) traces: Vec<PathBuf>,

    /// Replay a trace in these orders: round-robin, affinity:N, longest-quantum or batch:K
    ///
    /// affinity:N continues the process that ran last, but passes no task over more than N times. With
    /// batch:K, K tasks alternate; when one blocks, another joins. Each order is simulated
    /// separately. [default: the order of the trace; round-robin with --quantum]
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        help_heading = "What to simulate"
    )]
    pub(crate) schedule: Vec<Schedule>,

    /// Replay a trace with these quanta, in instructions (400000) or time (4ms)
    ///
    /// Each is simulated separately. Time is converted at one instruction per cycle. With live: the
    /// length of a time slice in instructions. [default: that of the trace, or 400000]
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        help_heading = "What to simulate"
    )]
    pub(crate) quantum: Vec<Quantum>,

    /// Also end time slices at random times, on average this many instructions apart
    ///
    /// This models preemption by wake-ups as a Poisson process, independent of what the tasks do.
    #[arg(hide_short_help = true, long, value_name = "INSTRUCTIONS", value_parser = clap::value_parser!(u64).range(1..), conflicts_with_all = ["at_once", "range", "user_only"],
          help_heading = "What to simulate")]
    pub(crate) preempt_every: Option<u64>,

    /// Replay a trace as if no file were in memory: each first use of a file's page waits this long
    ///
    /// TIME is a number of instructions that other tasks execute during the wait, or a time (20ms),
    /// which is converted at one instruction per cycle.
    #[arg(
        hide_short_help = true,
        long,
        value_name = "TIME",
        conflicts_with = "at_once",
        help_heading = "What to simulate"
    )]
    pub(crate) page_faults: Option<Quantum>,

    /// Run each process on its own CPU, in steps of this many instructions, with a shared last level
    ///
    /// Compares the misses of the last level with those of time-sharing one CPU by --quantum.
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

impl SimulateArguments {
    /// Returns the first given flag that applies only to one stored trace; `None` if there is none.
    /// A quantum applies also to programs that are simulated as they run.
    pub(crate) fn flag_of_stored_trace(&self) -> Option<&'static str> {
        let flags = [
            (!self.schedule.is_empty(), "--schedule"),
            (self.page_faults.is_some(), "--page-faults"),
            (self.preempt_every.is_some(), "--preempt-every"),
            (self.at_once.is_some(), "--at-once"),
            (self.part.range.is_some(), "--range"),
        ];
        flags
            .into_iter()
            .find_map(|(is_given, flag)| is_given.then_some(flag))
    }
}

const WORKLOAD_EXAMPLES: &str = "\
Examples:
  switchcost workload timesharing                          5,000 switches under the four designs of
                                                           the paper
  switchcost workload compute-bound --seed 2 --design host
  switchcost workload client-server --trace pair.sct       keep the trace, too
  switchcost workload timesharing --system                 in a guest, with the kernel's references
  switchcost workload timesharing --system --user-only     the same without the kernel, as in the
                                                           paper

Debian packages needed: magic, scm, make, gcc, vim-tiny and procps for timesharing; scm and opensta for compute-bound; gcc for \
client-server.";

/// Runs, traces and simulates modern versions of a set of programs of Mogul and Borg 1990 (Table 2).
#[derive(Clone, Debug, Args)]
#[command(help_template = HELP_TEMPLATE, after_help = first_paragraph(WORKLOAD_EXAMPLES), after_long_help = WORKLOAD_EXAMPLES, mut_arg("kernel", allow_once), mut_arg("append", allow_once),
          mut_arg("mips", show_workload_default))]
pub(crate) struct WorkloadArguments {
    /// Set of programs
    ///
    /// timesharing: a few busy users, with a layout system, a tree search, two runs of make and a
    /// shell. compute-bound: two large programs, a tree search and a timing verifier.
    /// client-server: two processes that exchange messages.
    #[arg(value_parser = Named::<switchcost_programs::Set>::new())]
    pub(crate) set: switchcost_programs::Set,

    /// Number of switches to simulate
    #[arg(long, value_name = "N", default_value_t = 5000, value_parser = clap::value_parser!(u64).range(1..),
          help_heading = "What to trace")]
    pub(crate) switches: u64,

    /// Number of switches to simulate before those that count
    ///
    /// The caches warm up during these switches, which are not counted.
    #[arg(
        hide_short_help = true,
        long,
        value_name = "N",
        default_value_t = 0,
        help_heading = "What to trace"
    )]
    pub(crate) skip: u64,

    /// Seed of the inputs and of the order of programs: another seed gives another trial
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        help_heading = "What to trace"
    )]
    pub(crate) seed: u64,

    /// Who chooses the order of time slices: scheduled (the tracer, the same in every run) or as-run
    /// (the kernel, on one CPU)
    #[arg(long, value_name = "ORDER", default_value_t = OrderFlag::Scheduled, value_parser = Named::<OrderFlag>::new(),
          help_heading = "What to trace")]
    pub(crate) order: OrderFlag,

    /// Length of a scheduled time slice in instructions
    ///
    /// With --system, also that of the guest's scheduler.
    #[arg(long, value_name = "INSTRUCTIONS", default_value_t = QUANTUM_INSTRUCTIONS, value_parser = clap::value_parser!(u64).range(1000..),
          help_heading = "What to trace")]
    pub(crate) quantum: u64,

    /// Also end time slices at random times, on average this many instructions apart
    ///
    /// This models preemption by wake-ups as a Poisson process, independent of what the tasks do.
    #[arg(hide_short_help = true, long, value_name = "INSTRUCTIONS", value_parser = clap::value_parser!(u64).range(1..), conflicts_with_all = ["system", "order"],
          help_heading = "What to trace")]
    pub(crate) preempt_every: Option<u64>,

    /// Run the programs in a guest under QEMU, and simulate its kernel, too
    ///
    /// Add --user-only to simulate the programs alone, with the same switches.
    #[arg(long, conflicts_with = "order", help_heading = "A whole system")]
    pub(crate) system: bool,

    #[command(flatten)]
    pub(crate) guest: GuestArguments,

    /// Save the trace as FILE, which must not exist
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) trace: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) designs: DesignArguments,
}
