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
    /// The poster of Chen, Wu, Jiang and Hu (Michigan).
    Michigan,
    /// The blog post on threads, a mutex and a condition variable.
    Blog,
    /// The matrix of context switches of lmbench.
    Lmbench,
    /// Mogul and Borg 1990.
    Mogul1990,
    /// Conclusions of the papers, tested on current machines.
    Today,
    /// All papers.
    All,
}

const EXAMPLES: &str = "\
Examples:
  switchcost reproduce mogul1990 -o report/    Tables 1 to 4 and Figures 1 to 9, from six trials
  switchcost reproduce all -o report/          all papers, as a site: report/index.html
  switchcost reproduce all --quick             a short run, without verdicts
  switchcost reproduce li2007 --figures -o report/
                                               figures as SVG, too
  switchcost reproduce mogul1990 --system      Table 4 with the kernel, too: what did the paper
                                               miss?
  switchcost reproduce michigan li2007 --system
                                               also the kernel's L1I misses at switches (michigan),
                                               and its instructions per hand-off (li2007)
  switchcost reproduce li2007 --with monday/li2007.json
                                               which results agree with those of another day?
  switchcost reproduce mogul1990 --dry-run     only print the commands
  switchcost reproduce all --claims            only print the claims, and the rules that decide them

Finished steps are kept in records/ in the output folder and used again: an interrupted run continues, and pages are made anew from old \
records.";

/// Repeats the figures and tables of five published studies, and shows them next to the published values: each claim, whether it is
/// reproduced here by a rule that was written down in advance, and if not, the reasons that the runs show.
#[derive(Clone, Debug, Args)]
#[command(help_template = HELP_TEMPLATE, after_help = first_paragraph(EXAMPLES), after_long_help = EXAMPLES)]
pub(crate) struct ReproduceArguments {
    /// Papers to reproduce; the value "today" tests their conclusions on later machines
    #[arg(required = true, value_parser = Named::<What>::new())]
    pub(crate) papers: Vec<What>,

    /// Write the site to DIR [default: ~/.local/state/switchcost/reproduce]
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,

    /// Output format
    #[arg(long, value_name = "FORMAT", default_value_t = Format::Table, value_parser = Named::<Format>::new(),
          help_heading = "Output")]
    pub(crate) format: Format,

    #[command(flatten)]
    pub(crate) verbosity: Verbosity,

    /// Try it out, without verdicts: fewer sizes, shorter runs, one trial
    #[arg(long, help_heading = "Precision and time")]
    pub(crate) quick: bool,

    /// Also run programs in a guest under QEMU, and include the references of its kernel
    ///
    /// For Table 4 of Mogul and Borg 1990, figure 4 of the Michigan poster, and the hand-off of Li,
    /// Ding and Shen 2007. Needs QEMU and a kernel image, which make setup fetches in a clone.
    #[arg(long, help_heading = "Precision and time")]
    pub(crate) system: bool,

    /// Also write figures as SVG, and tables as CSV, into figures/ in the output folder
    #[arg(long, help_heading = "Output")]
    pub(crate) figures: bool,

    /// Seed of everything random: another seed gives another result
    #[arg(hide_short_help = true, long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1_000_000),
          help_heading = "Precision and time")]
    pub(crate) seed: u64,

    /// Result (PAPER.json) of another day or machine to compare with; may be repeated
    ///
    /// A verdict counts only if all results agree.
    #[arg(
        long = "with",
        value_name = "FILE",
        help_heading = "Precision and time"
    )]
    pub(crate) others: Vec<PathBuf>,

    /// Judge a stored result (PAPER.json) by the present rules, and run nothing
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["dry_run", "claims", "quick", "system"],
        help_heading = "Output"
    )]
    pub(crate) judge: Option<PathBuf>,

    /// Print the commands, and run nothing
    #[arg(long, help_heading = "Output")]
    pub(crate) dry_run: bool,

    /// Print the claims, with the rules that decide them, and run nothing
    #[arg(long, conflicts_with_all = ["dry_run", "output", "figures"], help_heading = "Output")]
    pub(crate) claims: bool,

    /// CPU to run on [default: the one with the fewest interrupts]
    #[arg(
        hide_short_help = true,
        long,
        value_name = "CPU",
        help_heading = "Control of the environment"
    )]
    pub(crate) cpu: Option<CpuId>,
}
