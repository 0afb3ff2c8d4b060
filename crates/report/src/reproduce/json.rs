use schemars::JsonSchema;
use serde::Serialize;

use super::Reproduction;
use crate::for_programs::OutputFormat;

/// Report on reproductions of papers.
#[derive(JsonSchema, Serialize)]
pub(crate) struct Report<'a> {
    /// Version of the program.
    pub(super) version: &'static str,
    /// Reproduction of each requested paper; `PAPER.json` has only that one.
    pub(super) papers: &'a [Reproduction<'a>],
}

impl OutputFormat for Report<'_> {
    /// Version 1: the first. Version 2: claims have the table's rule, and the numbers and intervals that it judged; verdicts are counted by
    /// kind; reasons are tested; `not-told` was `not-shown`; the program's version is added. Version 3: a verdict is the one on which all
    /// results agree, `alone` is that of this result, `others` has those of the others; `own` questions are counted apart; numbers that
    /// vary need intervals.
    const NAME: &'static str = "switchcost.reproduce/3";
}
