//! `compare`: two sides, and what may have grown by how much.

use std::path::PathBuf;

use clap::Args;

use super::{Form, parse_confidence, per_mille};

const COMPARE_EXAMPLES: &str = "\
Examples:
  switchcost compare before.jsonl after.jsonl                  two records of measure
  switchcost compare before/ after/                            two folders of repeated records: better
  switchcost compare before/ after/ --fail-above 5%            for CI: exit code 6 where a cost grew by more";

/// Judges records of measure against each other: each cost with its ratio, interval and verdict.
#[derive(Clone, Debug, Args)]
#[command(after_help = COMPARE_EXAMPLES)]
pub(crate) struct CompareArguments {
    /// A record, or a folder of records that repeat the same
    pub(crate) base: PathBuf,

    /// What is judged: a record, or a folder of them
    pub(crate) new: PathBuf,

    /// End with exit code 6 where a cost is shown to be slower and its ratio is above 1 plus this
    #[arg(long, value_name = "PERCENT", value_parser = parse_share)]
    pub(crate) fail_above: Option<f64>,

    /// Confidence of all verdicts together
    #[arg(long, value_name = "PERCENT", default_value = "90%", value_parser = parse_confidence)]
    pub(crate) confidence: u32,

    /// How much runs differ by nature (standard deviation), where a side has one record and cannot show it
    #[arg(long, value_name = "PERCENT", default_value = "1%", value_parser = parse_share)]
    pub(crate) run_spread: f64,

    #[command(flatten)]
    pub(crate) form: Form,
}

/// A share: 0.05 for 5 %.
fn parse_share(text: &str) -> Result<f64, String> {
    let per_mille = if text.trim() == "0%" { Some(0) } else { per_mille(text) };
    per_mille
        .map(|share| f64::from(share) / 1000.0)
        .ok_or_else(|| "need a percentage from 0% to 99.9%, such as 5%".to_owned())
}
