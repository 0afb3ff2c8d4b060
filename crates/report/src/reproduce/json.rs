use schemars::JsonSchema;
use serde::Serialize;

use super::Reproduction;
use crate::OutputFormat;

/// Report on reproductions of papers.
#[derive(JsonSchema, Serialize)]
pub(crate) struct Report<'a> {
    /// Version of the program.
    pub(super) version: &'static str,
    /// Reproduction of each requested paper; `PAPER.json` has only that one.
    pub(super) papers: &'a [Reproduction<'a>],
}

impl OutputFormat for Report<'_> {
    /// Schema name. Version 1: the first. Version 2: claims have the table's rule, and the numbers
    /// and intervals that the rule judged; verdicts are counted by kind; reasons are tested;
    /// `not-told` became `not-shown`; the program's version is added. Version 3: a verdict is the
    /// one on which all results agree, `alone` is the verdict of this result, `others` has the
    /// verdicts of the others; `own` questions are counted separately; numbers that vary need
    /// intervals.
    const NAME: &'static str = "switchcost.reproduce/3";
}
