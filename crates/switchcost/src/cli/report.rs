//! `report`: which records, and in which form.

use std::path::PathBuf;

use clap::Args;

use super::{OutputArguments, Rows, Stacks, Verbosity};

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

    /// Of a measurement: learn the run-to-run variation of its machine from earlier records in FOLDER, as measure --history does
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
