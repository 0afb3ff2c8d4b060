use ::reproduce::Exhibit;
use serde::Serialize;

use super::{Reproduction, tally};
use crate::for_programs;

/// Name and version of the JSON form.
///
/// Version 1: the first.
pub const REPRODUCE_SCHEMA: &str = "switchcost.reproduce/1";

#[derive(Serialize)]
struct View<'a> {
    schema: &'static str,
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
    holds: usize,
    differs: usize,
    not_shown: usize,
}

#[derive(Serialize)]
struct CommandView<'a> {
    step: &'a str,
    command: &'a str,
    missing: Option<&'a str>,
}

pub(super) fn render(reproductions: &[Reproduction<'_>]) -> String {
    for_programs::json(&View { schema: REPRODUCE_SCHEMA, papers: reproductions.iter().map(view).collect() })
}

fn view<'a>(reproduction: &Reproduction<'a>) -> PaperView<'a> {
    let [holds, differs, not_shown] = tally(reproduction.exhibits);
    PaperView {
        paper: reproduction.paper.to_string(),
        citation: reproduction.paper.citation(),
        machine: reproduction.machine,
        verdicts: Verdicts { holds, differs, not_shown },
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
