//! Arguments of `reproduce`: papers, folder of the site, time.

use std::path::PathBuf;

use clap::Args;
use strum::{Display, EnumIter, EnumString};
use switchcost_report::Format;
use switchcost_units::CpuId;

use super::{HELP_TEMPLATE, Named, Verbosity, first_paragraph};

/// A paper, or all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Display, EnumString, EnumIter)]
#[strum(serialize_all = "kebab-case")]
pub(crate) enum What {
    /// Li, Ding and Shen 2007.
    Li2007,
    /// The poster of Michigan.
    Michigan,
    /// The blog post.
    Blog,
    /// lmbench's matrix.
    Lmbench,
    /// Mogul and Borg 1990.
    Mogul1990,
    /// What they conclude, on the machines since then.
    Today,
    /// All of them.
    All,
}

const EXAMPLES: &str = "\
Examples:
  switchcost reproduce mogul1990 -o report/    Tables 1 to 4 and Figures 1 to 9, six trials of
                                               everything
  switchcost reproduce all -o report/          everything, as a site: report/index.html
  switchcost reproduce all --quick             to see it work
  switchcost reproduce li2007 --figures -o report/
                                               pictures, too
  switchcost reproduce mogul1990 --system      Table 4 with the kernel, too: what did the paper
                                               miss?
  switchcost reproduce michigan li2007 --system
                                               whose instruction cache, and what a hand-off takes in
                                               the kernel
  switchcost reproduce li2007 --with monday/li2007.json
                                               which results agree with another day's
  switchcost reproduce mogul1990 --dry-run     only the commands that would be run
  switchcost reproduce all --claims            what will be judged, and by which rules

What a step leaves is kept in records/ in the folder. A record that is there already is used as it is: a run that was \
stopped goes on where it was, and pages are made anew from old records.";

/// Repeats the figures and tables of the papers that this program is based on, and shows them beside the published values:
/// what the paper claims, whether it is reproduced here by a rule that was written down before, and which reasons the runs show
/// if not.
#[derive(Clone, Debug, Args)]
#[command(help_template = HELP_TEMPLATE, after_help = first_paragraph(EXAMPLES), after_long_help = EXAMPLES)]
pub(crate) struct ReproduceArguments {
    /// The papers; today: their conclusions, tested on later machines
    #[arg(required = true, value_parser = Named::<What>::new())]
    pub(crate) papers: Vec<What>,

    /// Make the site in the folder DIR [default: ~/.local/state/switchcost/reproduce]
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,

    /// How to print the result
    #[arg(long, value_name = "FORMAT", default_value_t = Format::Table, value_parser = Named::<Format>::new(),
          help_heading = "Output")]
    pub(crate) format: Format,

    #[command(flatten)]
    pub(crate) verbosity: Verbosity,

    /// Fewer sizes, shorter runs, one trial: to see that it works, not for verdicts
    #[arg(long, help_heading = "Precision and time")]
    pub(crate) quick: bool,

    /// Also run in a guest under QEMU, with its kernel's references
    ///
    /// Table 4 of Mogul and Borg 1990, figure 4 of the Michigan poster, the hand-off of Li, Ding
    /// and Shen 2007. Needs QEMU and a kernel image; make setup fetches both.
    #[arg(long, help_heading = "Precision and time")]
    pub(crate) system: bool,

    /// Also write each figure as SVG, and each table as CSV, into figures/ in the folder
    #[arg(long, help_heading = "Output")]
    pub(crate) figures: bool,

    /// Seed of everything random: another seed gives another result
    #[arg(hide_short_help = true, long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1_000_000),
          help_heading = "Precision and time")]
    pub(crate) seed: u64,

    /// An independent result, a PAPER.json of another day or machine; may be given several times
    ///
    /// Only verdicts on which both agree stand.
    #[arg(
        long = "with",
        value_name = "FILE",
        help_heading = "Precision and time"
    )]
    pub(crate) others: Vec<PathBuf>,

    /// Print the commands, and run nothing
    #[arg(long, help_heading = "Output")]
    pub(crate) dry_run: bool,

    /// Print the table of claims, with the rules that decide them, and run nothing
    #[arg(long, conflicts_with = "dry_run", help_heading = "Output")]
    pub(crate) claims: bool,

    /// CPU to measure on [default: the one with the fewest interrupts]
    #[arg(
        hide_short_help = true,
        long,
        value_name = "CPU",
        help_heading = "Control of the environment"
    )]
    pub(crate) cpu: Option<CpuId>,
}
