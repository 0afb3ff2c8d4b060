//! Arguments of `runtimes`, which is a preset of `measure`.

use std::path::PathBuf;

use clap::Args;
use switchcost_units::{Bytes, Nanos};

use super::measure::{MeasureArguments, PlacementFlag};
use super::{HELP_TEMPLATE, OutputArguments, Redaction, Verbosity, first_paragraph};

const EXAMPLES: &str = "\
Examples:
  switchcost runtimes                        all installed runtimes (90 s)
  switchcost runtimes go,tokio               two of them
  switchcost runtimes go --size 0            without data
  switchcost runtimes --placement both       on one CPU, and across two
  switchcost runtimes go=/opt/go1.25/bin/go --record new.jsonl &&
    switchcost compare old.jsonl new.jsonl   another version of Go, compared with an earlier run
  switchcost measure --runtime go --tasks 8 --placement pair     more options

docs/method/runtimes.md describes how each runtime is measured, and how to add yours.";

/// Measures what a hand-off between tasks of language runtimes costs, next to OS threads and processes: on one CPU, under SCHED_OTHER,
/// without data and with an array for each task.
#[derive(Clone, Debug, Args)]
#[command(help_template = HELP_TEMPLATE, after_help = first_paragraph(EXAMPLES), after_long_help = EXAMPLES)]
pub(crate) struct RuntimesArguments {
    /// Runtimes: go, java, python, python3t, node, tokio, cpp, boost, ruby, lua, erlang, ocaml,
    /// mono, or all
    ///
    /// go/channel selects one kind of hand-off only, go=/opt/go/bin/go selects another
    /// installation, and PATH/runtime.toml adds your own runtime.
    #[arg(value_name = "LIST", value_delimiter = ',', default_value = "all")]
    pub(crate) runtime: Vec<String>,

    /// Array sizes per task; only one kind of hand-off per runtime uses arrays
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "0,256KiB",
        help_heading = "What to measure"
    )]
    pub(crate) size: Vec<Bytes>,

    /// Which CPUs the tasks run on, for runtimes that can use several CPUs
    #[arg(long, value_name = "PLACEMENT", value_enum, default_value_t = PlacementFlag::One,
          help_heading = "What to measure")]
    pub(crate) placement: PlacementFlag,

    /// CPUs to run on, such as 1 or 0,1 [default: the quietest, by load and interrupts]
    #[arg(long, value_name = "LIST", help_heading = "Control of the environment")]
    pub(crate) cpu: Option<String>,

    /// Time for the measurements alone
    ///
    /// Before the first run, the programs are built, which may take up to twice this time.
    #[arg(
        long,
        value_name = "TIME",
        default_value = "79s",
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

impl RuntimesArguments {
    /// Converts the arguments of `runtimes` to those of `measure`.
    pub(crate) fn as_measure(&self) -> MeasureArguments {
        let RuntimesArguments {
            runtime,
            size,
            placement,
            cpu,
            budget,
            seed,
            record,
            redaction,
            verbosity,
            form,
        } = self.clone();
        MeasureArguments {
            runtime,
            size,
            placement,
            cpu,
            budget: Some(budget),
            seed,
            record,
            redaction,
            verbosity,
            form,
            is_ladder: true,
            ..MeasureArguments::usual()
        }
    }
}
