use schemars::JsonSchema;
use serde::Serialize;
use switchcost_reproduce::{Exhibit, Kind};

use super::{Reproduction, tally};
use crate::for_programs;

/// Name and version of the JSON form.
///
/// Version 1: the first. Version 2: claims are those of the table, with its rule and the numbers and intervals that it judged;
/// verdicts are counted by kind; reasons are tested; `not-told` was `not-shown`; the program's version.
pub const REPRODUCE_SCHEMA: &str = "switchcost.reproduce/2";

/// Papers, redone.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Report")]
pub(crate) struct View<'a> {
    /// Name and version of this form.
    schema: &'static str,
    /// Of the program.
    version: &'static str,
    /// One for each paper that was asked for; in `PAPER.json` that one only.
    papers: Vec<PaperView<'a>>,
}

/// One paper, redone.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Paper")]
struct PaperView<'a> {
    /// `li2007`, `michigan`, `blog`, `lmbench`, `mogul1990`, `today`.
    paper: String,
    /// Authors, title, where and when.
    citation: &'static str,
    /// Where it was redone, in one line.
    machine: &'a str,
    /// How many claims of each kind have which verdict. Definitions are not counted.
    verdicts: Verdicts,
    /// One for each published figure or table.
    exhibits: &'a [Exhibit],
    /// What was run.
    commands: Vec<CommandView<'a>>,
}

/// Verdicts by what they are worth.
#[derive(JsonSchema, Serialize)]
struct Verdicts {
    /// Of claims whose numbers could have been otherwise.
    tested: Counts,
    /// Of claims for which something was fitted first.
    calibrated: Counts,
}

/// How many claims have which verdict.
#[derive(JsonSchema, Serialize)]
struct Counts {
    /// Printed as "reproduced".
    holds: usize,
    /// Printed as "not reproduced".
    differs: usize,
    /// Printed as "inconclusive".
    not_told: usize,
}

/// A command that was run.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Command")]
struct CommandView<'a> {
    /// Its name among the steps of the exhibits.
    step: &'a str,
    /// The command line.
    command: &'a str,
    /// Why it left no record.
    missing: Option<&'a str>,
}

pub(super) fn render(reproductions: &[Reproduction<'_>]) -> String {
    for_programs::json(&View {
        schema: REPRODUCE_SCHEMA,
        version: env!("CARGO_PKG_VERSION"),
        papers: reproductions.iter().map(view).collect(),
    })
}

fn view<'a>(reproduction: &Reproduction<'a>) -> PaperView<'a> {
    let counts = |kind| {
        let [holds, differs, not_told] = tally(reproduction.exhibits, kind);
        Counts { holds, differs, not_told }
    };
    PaperView {
        paper: reproduction.paper.to_string(),
        citation: reproduction.paper.citation(),
        machine: reproduction.machine,
        verdicts: Verdicts { tested: counts(Kind::Tested), calibrated: counts(Kind::Calibrated) },
        exhibits: reproduction.exhibits,
        commands: reproduction
            .commands
            .iter()
            .map(|command| CommandView {
                step: &command.step,
                command: &command.line,
                missing: command.missing.as_deref(),
            })
            .collect(),
    }
}
