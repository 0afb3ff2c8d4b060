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
    /// Name of the JSON schema, with its version. Changes in version 2: claims have the table's
    /// rule, and the numbers and intervals that the rule judged. Verdicts are counted by kind.
    /// Reasons are tested. The program's version is added. Changes in version 3: a verdict is given
    /// only if all results agree. `alone` is the verdict of this result, `others` has the verdicts
    /// of the other results. `own` questions are counted separately. Numbers that vary need
    /// intervals. The verdict `not-told` became `inconclusive`. `not-measured`
    /// is new.
    const NAME: &'static str = "switchcost.reproduce/3";
}
