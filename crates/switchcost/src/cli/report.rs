//! Arguments of `report`: records and output format.

use std::path::PathBuf;

use clap::Args;

use super::{HELP_TEMPLATE, OutputArguments, Rows, Stacks, Verbosity, first_paragraph};

const REPORT_EXAMPLES: &str = "\
Examples:
  switchcost report                                   the newest record
  switchcost report run.jsonl --format csv            another record and format
  switchcost report run.jsonl -o report.html          an HTML page with figures
  switchcost report a.parquet b.parquet -o both.html  several records on one page
  switchcost report run.jsonl --figures figures       figures as SVG, and tables as CSV";

/// Prints the report of measure, runtimes, observe, inject or simulate again, from the record alone, on this machine or another; or
/// writes it as one HTML page with figures, and a table next to each.
#[derive(Clone, Debug, Args)]
#[command(help_template = HELP_TEMPLATE, after_help = first_paragraph(REPORT_EXAMPLES), after_long_help = REPORT_EXAMPLES)]
pub(crate) struct ReportArguments {
    /// Records to report [default: the newest in ~/.local/state/switchcost/runs]
    pub(crate) record: Vec<PathBuf>,

    /// Write figures as SVG, and tables as CSV, into DIR
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub(crate) figures: Option<PathBuf>,

    /// Learn run-to-run variation from earlier records of this machine in DIR
    #[arg(long, value_name = "DIR")]
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
