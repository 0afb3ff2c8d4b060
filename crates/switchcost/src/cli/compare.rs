//! Arguments of `compare`: two sides, and the allowed growth.

use std::path::PathBuf;

use clap::Args;
use switchcost_analysis::compare::Condition;

use super::{HELP_TEMPLATE, Named, OutputArguments, Verbosity, first_paragraph};

const COMPARE_EXAMPLES: &str = "\
Examples:
  switchcost compare before.jsonl after.jsonl         two records of measure
  switchcost compare before/ after/                   two folders of repeated runs: more precise
  switchcost compare before/ after/ --fail-above 5%   for CI: exit code 6 if a cost grew by more
  switchcost compare small.parquet large.parquet      two simulated designs, on one trace
  switchcost compare unpinned/ pinned/                records of observe: did pinning help?
  switchcost compare fifo/ other/ --across policy     the same cases, by scheduling policy
  switchcost compare --history commits/ -o trend.html
                                                      the trend over commits/v1/, commits/v2/
  switchcost compare before/ after/ -o compare.html   an HTML page with the curves of both sides";

/// Compares records of measure, simulate or observe: each number with its ratio, confidence interval and verdict.
#[derive(Clone, Debug, Args)]
#[command(help_template = HELP_TEMPLATE, after_help = first_paragraph(COMPARE_EXAMPLES), after_long_help = COMPARE_EXAMPLES)]
pub(crate) struct CompareArguments {
    /// A record, or a folder of records of repeated runs
    #[arg(required_unless_present = "history")]
    pub(crate) base: Option<PathBuf>,

    /// The record, or folder of records, to compare with BASE
    #[arg(required_unless_present = "history")]
    pub(crate) new: Option<PathBuf>,

    /// Show the trend over the commits or versions in DIR; each is a record, or a folder of records
    ///
    /// Needs records of measure, and orders them by their time. Replaces BASE and NEW.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["base", "new", "across", "run_spread", "junit", "markdown"])]
    pub(crate) history: Option<PathBuf>,

    /// Exit with code 6 if a cost grew significantly and by more than this
    #[arg(long, value_name = "PERCENT", value_parser = parse_share)]
    pub(crate) fail_above: Option<f64>,

    /// Joint confidence level of all verdicts
    #[arg(long, value_name = "PERCENT", default_value = "90%", value_parser = parse_confidence)]
    pub(crate) confidence: f64,

    /// Assume this standard deviation between runs, in addition to their own confidence intervals
    ///
    /// [default: from repeated records of a side, else from earlier records of this machine, else
    /// 2%, or 15% for hand-offs across CPUs]
    #[arg(long, value_name = "PERCENT", value_parser = parse_share)]
    pub(crate) run_spread: Option<f64>,

    /// Also compare measured cases that differ only in these conditions
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = Named::<Condition>::new())]
    pub(crate) across: Vec<Condition>,

    /// Write figures as SVG, and tables as CSV, into DIR
    #[arg(
        long,
        value_name = "DIR",
        help_heading = "Output",
        conflicts_with = "format"
    )]
    pub(crate) figures: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) verdicts: VerdictFiles,

    #[command(flatten)]
    pub(crate) verbosity: Verbosity,

    #[command(flatten)]
    pub(crate) form: OutputArguments,
}

/// Further files with the verdicts, for CI servers.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct VerdictFiles {
    /// Also write the verdicts to FILE as JUnit XML, one test per cost
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) junit: Option<PathBuf>,

    /// Also write the verdicts to FILE as Markdown, for a pull-request comment
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) markdown: Option<PathBuf>,
}

/// Parses a percentage as a share of 1, such as `5%` as 0.05.
pub(super) fn parse_share(text: &str) -> Result<f64, String> {
    // Parsing as hundredths, without a division, gives 99.99% as 0.9999 to the last bit.
    let share = text
        .trim()
        .strip_suffix('%')
        .and_then(|number| format!("{}e-2", number.trim()).parse::<f64>().ok());
    share
        .filter(|share| share.is_finite() && *share >= 0.0)
        .map(f64::abs)
        .ok_or_else(|| percentage_error(text, "of at least 0", "5%"))
}

/// Returns the error for a text that is not a percentage in the range.
pub(super) fn percentage_error(text: &str, range: &str, example: &str) -> String {
    format!("'{text}' is not a number {range} with a % sign; write a percentage such as {example}")
}

/// Returns the error for a confidence that cannot be used.
pub(super) fn unusable_confidence(text: &str) -> String {
    percentage_error(text, "from 50 to 99.9", "90%")
}

/// Parses a confidence from 50 % to 99.9999 %. The error names 99.9 % as the limit, as for a
/// measurement: only a fleet, whose many comparisons share the allowed error, needs more.
pub(super) fn parse_confidence(text: &str) -> Result<f64, String> {
    let share = parse_share(text)
        .ok()
        .filter(|share| (0.5..=0.999_999).contains(share));
    share.ok_or_else(|| unusable_confidence(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_taken_as_it_is_said() {
        let shares = [
            ("5%", 0.05),
            ("0.04%", 0.0004),
            ("0%", 0.0),
            ("-0%", 0.0),
            ("150 %", 1.5),
        ];
        for (text, share) in shares {
            assert_eq!(parse_share(text), Ok(share), "{text}");
        }
    }

    #[test]
    fn a_confidence_may_be_that_of_one_of_a_thousand_comparisons() {
        for (text, share) in [
            ("90%", 0.9),
            ("50%", 0.5),
            ("99.99%", 0.9999),
            ("99.9999%", 0.999_999),
        ] {
            assert_eq!(parse_confidence(text), Ok(share), "{text}");
        }
    }
}
