//! Arguments of `ab`: two set-ups, measured in alternating runs.

use std::path::PathBuf;

use clap::Args;
use switchcost_units::Nanos;

use super::compare::{VerdictFiles, parse_confidence, parse_share, percentage_error};
use super::{HELP_TEMPLATE, OutputArguments, Verbosity, exclude_page, first_paragraph};

const USAGE: &str = "\
switchcost ab [OPTIONS] --new <SETUP> [-- <OPTIONS OF MEASURE>...]
       switchcost ab [OPTIONS] --new-with <COMMAND> [-- <OPTIONS OF MEASURE>...]";

const AB_EXAMPLES: &str = "\
Examples:
  switchcost ab --new 'sysctl -qw kernel.sched_autogroup_enabled=0' -- --policy other
                                                                      does a setting cost time?
  switchcost ab --new-with 'perf stat --' --fail-above 5%             does a tool cost time? exit
                                                                      code 6 if a switch becomes
                                                                      over 5 % more expensive
  switchcost ab --new 'bpftrace -e \"tracepoint:sched:sched_switch { @ = count(); }\" & sleep 3'
                                                                      does bpftrace cost time?
  switchcost ab --new 'echo $$ > /sys/fs/cgroup/deep/er/cgroup.procs' -- --policy other
                                                                      does a deep cgroup cost time?
  F=/sys/kernel/mm/transparent_hugepage/enabled                       do huge pages help?
  switchcost ab --new \"echo always > $F\" --new-undo \"echo madvise > $F\" -- --size 1MiB --reload

After each run, even after Ctrl-C or kill -9, ab ends the processes that SETUP started and restores the scheduler settings \
(/proc/sys/kernel/sched_*, /sys/kernel/debug/sched). Undo everything else with --base-undo and --new-undo: ab only reports other changes, \
in /proc/sys and among the facts of its records (frequency governor, huge pages, ...), and exits with 3.";

/// Measures base and new alternately, each run in fresh processes, until a change of the requested size could be detected or the budget is
/// spent, and compares them as `compare` does.
#[derive(Clone, Debug, Args)]
#[command(help_template = HELP_TEMPLATE, override_usage = USAGE, after_help = first_paragraph(AB_EXAMPLES), after_long_help = AB_EXAMPLES,
          mut_arg("format", exclude_page), mut_arg("open", |open| open.hide(true)))]
#[group(id = "sides", required = true, multiple = true, args = ["base", "new", "base_with", "new_with"])]
pub(crate) struct AbArguments {
    /// Shell commands to run before each run of base
    ///
    /// The run inherits their shell's limits, control group and nice value.
    #[arg(
        long,
        value_name = "SETUP",
        default_value = "",
        hide_default_value = true,
        help_heading = "Base and new"
    )]
    pub(crate) base: String,

    /// Shell commands to run before each run of new
    #[arg(
        long,
        value_name = "SETUP",
        default_value = "",
        hide_default_value = true,
        help_heading = "Base and new"
    )]
    pub(crate) new: String,

    /// Command that starts each run of base, such as 'perf stat --'
    #[arg(
        long,
        value_name = "COMMAND",
        default_value = "",
        hide_default_value = true,
        help_heading = "Base and new"
    )]
    pub(crate) base_with: String,

    /// Command that starts each run of new
    #[arg(
        long,
        value_name = "COMMAND",
        default_value = "",
        hide_default_value = true,
        help_heading = "Base and new"
    )]
    pub(crate) new_with: String,

    /// Shell commands to run after each run of base, even after a failure
    #[arg(
        hide_short_help = true,
        long,
        value_name = "UNDO",
        default_value = "",
        hide_default_value = true,
        help_heading = "Base and new"
    )]
    pub(crate) base_undo: String,

    /// Shell commands to run after each run of new, even after a failure
    #[arg(
        long,
        value_name = "UNDO",
        default_value = "",
        hide_default_value = true,
        help_heading = "Base and new"
    )]
    pub(crate) new_undo: String,

    /// Minimum number of runs per side, whatever the budget
    #[arg(short = 'n', long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(2..=1_000),
          help_heading = "Precision and time")]
    pub(crate) runs: u32,

    /// Time for the whole A/B test, such as 30s or 5min
    #[arg(
        long,
        value_name = "TIME",
        default_value = "60s",
        help_heading = "Precision and time"
    )]
    pub(crate) budget: Nanos,

    /// Stop as soon as a change of this size could be detected [default: as --fail-above, else 2%]
    ///
    /// A change in any cost is then detected with a probability of 80 %.
    #[arg(long, value_name = "PERCENT", value_parser = parse_change, help_heading = "Precision and time")]
    pub(crate) detect: Option<f64>,

    /// Exit with code 6 if a cost grew significantly and by more than this
    #[arg(long, value_name = "PERCENT", value_parser = parse_share, help_heading = "Precision and time")]
    pub(crate) fail_above: Option<f64>,

    /// Joint confidence level of all verdicts
    #[arg(hide_short_help = true, long, value_name = "PERCENT", default_value = "90%", value_parser = parse_confidence, help_heading = "Precision and time")]
    pub(crate) confidence: f64,

    /// Seed of the run order [default: random, and recorded]
    #[arg(
        hide_short_help = true,
        long,
        value_name = "N",
        help_heading = "Precision and time"
    )]
    pub(crate) seed: Option<u64>,

    /// Save the records as DIR, which must not exist [default: a new folder in
    /// ~/.local/state/switchcost/runs]
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub(crate) record: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) verdicts: VerdictFiles,

    #[command(flatten)]
    pub(crate) verbosity: Verbosity,

    #[command(flatten)]
    pub(crate) form: OutputArguments,

    /// Options of measure [default: --mechanism pipe]
    #[arg(last = true, value_name = "OPTIONS OF MEASURE")]
    pub(crate) measure: Vec<String>,
}

/// Parses the change to be detected as a percentage from 0.1 % to 1000 %.
fn parse_change(text: &str) -> Result<f64, String> {
    let share = parse_share(text)
        .ok()
        .filter(|share| (0.001..=10.0).contains(share));
    share.ok_or_else(|| percentage_error(text, "from 0.1 to 1000", "2%"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_nothing_cannot_be_looked_for() {
        assert_eq!(parse_change("2%"), Ok(0.02));
        for text in ["0%", "0.01%", "2", "-1%"] {
            assert!(parse_change(text).is_err(), "{text}");
        }
    }
}
