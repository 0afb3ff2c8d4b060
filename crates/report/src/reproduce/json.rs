use ::reproduce::{Exhibit, Kind};
use serde::Serialize;

use super::{Reproduction, tally};
use crate::for_programs;

/// Name and version of the JSON form.
///
/// Version 1: the first. Version 2: claims are those of the table, with its rule and the numbers and intervals that it judged;
/// verdicts are counted by kind; reasons are tested; `not-told` was `not-shown`; the program's version.
pub const REPRODUCE_SCHEMA: &str = "switchcost.reproduce/2";

#[derive(Serialize)]
struct View<'a> {
    schema: &'static str,
    version: &'static str,
    papers: Vec<PaperView<'a>>,
}

#[derive(Serialize)]
struct PaperView<'a> {
    paper: String,
    citation: &'static str,
    machine: &'a str,
    verdicts: Verdicts,
    exhibits: &'a [Exhibit],
    commands: Vec<CommandView<'a>>,
}

#[derive(Serialize)]
struct Verdicts {
    tested: Counts,
    calibrated: Counts,
}

#[derive(Serialize)]
struct Counts {
    holds: usize,
    differs: usize,
    not_told: usize,
}

#[derive(Serialize)]
struct CommandView<'a> {
    step: &'a str,
    command: &'a str,
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
