use schemars::JsonSchema;
use serde::Serialize;

use super::Reproduction;
use crate::for_programs::OutputFormat;

/// The reproductions of papers.
#[derive(JsonSchema, Serialize)]
pub(crate) struct Report<'a> {
    /// Version of the program.
    pub(super) version: &'static str,
    /// One for each paper that was asked for; `PAPER.json` has only that one.
    pub(super) papers: &'a [Reproduction<'a>],
}

impl OutputFormat for Report<'_> {
    /// Version 1: the first. Version 2: claims are those of the table, with its rule and the numbers and intervals that it judged;
    /// verdicts are counted by kind; reasons are tested; `not-told` was `not-shown`; the program's version. Version 3: a verdict is
    /// what all results agree on, `alone` that of this one, `others` what the others say; `own` questions are counted apart; numbers
    /// that vary need intervals.
    const NAME: &'static str = "switchcost.reproduce/3";
}
