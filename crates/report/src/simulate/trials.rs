use schemars::JsonSchema;
use serde::Serialize;
use switchcost_analysis::simulation::{Findings, TrialFinding};
use switchcost_design::result::Simulation;

use super::amount::{cycles, ends, known, with_bound};
use super::answer::part_sentence;
use super::{csv, json};
use crate::entry::Entry;
use crate::for_programs::{Document, OutputFormat, Table};
use crate::format::{InEveryFormat, written};
use crate::grid::Grid;
use crate::page::Page;
use crate::quantity::{count, rounded, share};
use crate::{Format, Style};

/// Report on several records of one workload.
#[derive(JsonSchema, Serialize)]
pub(crate) struct Trials<'a> {
    /// Findings of each design over all trials.
    designs: &'a [TrialFinding],
    /// Report on each record.
    trials: Vec<Document<json::Report<'a>>>,
}

impl OutputFormat for Trials<'_> {
    /// Schema name; version 1 is the first.
    const NAME: &'static str = "switchcost.simulate-trials/1";
}

/// Renders several records of one workload: their common findings, and each record as a row. `designs` is
/// [`switchcost_analysis::simulation::over_trials`] of the findings. As CSV the records follow each other, each with a line of names.
pub fn render_trials(
    trials: &[(&Simulation, &Findings)],
    designs: &[TrialFinding],
    format: Format,
    style: Style,
) -> String {
    written(&Several { trials, designs }, format, style)
}

struct Several<'a> {
    trials: &'a [(&'a Simulation, &'a Findings)],
    designs: &'a [TrialFinding],
}

impl InEveryFormat for Several<'_> {
    fn add_to(&self, page: &mut Page, _: Style) {
        add(page, self.trials, self.designs);
    }

    fn document(&self) -> impl Serialize + JsonSchema {
        let trials = self
            .trials
            .iter()
            .map(|(head, findings)| Document::new(json::report(head, findings)));
        Document::new(Trials {
            designs: self.designs,
            trials: trials.collect(),
        })
    }

    fn tables(&self) -> Vec<Table> {
        self.trials
            .iter()
            .map(|(_, findings)| csv::table(findings))
            .collect()
    }
}

fn add(page: &mut Page, trials: &[(&Simulation, &Findings)], designs: &[TrialFinding]) {
    for (number, (head, _)) in trials.iter().enumerate() {
        if let Some(text) = part_sentence(&head.trace) {
            page.paragraph(&format!("Trial {}: {text}", number + 1));
        }
    }
    let are_alike = trials
        .iter()
        .all(|(head, _)| head.trace.guest == trials[0].0.trace.guest);
    if are_alike {
        let sentences: Vec<String> = designs.iter().take(3).map(sentence).collect();
        page.paragraph(&sentences.join(" "));
    } else {
        page.paragraph(
            "The traced guests were started differently, so their costs are not averaged.",
        );
    }
    page.heading("Trials", "cycles per switch in each record");
    let mut grid = Grid::new(2).left(["trial", "design"]).right([
        "instructions",
        "data refs",
        "switches",
        "net",
        "interval",
        "lost",
        "gained",
        "cycles",
        "overhead",
    ]);
    for (number, (head, findings)) in trials.iter().enumerate() {
        rows(number + 1, head, findings).for_each(|row| grid.row(row));
    }
    page.grid(&grid);
    page.gap();
    for (number, (head, _)) in trials.iter().enumerate() {
        page.prose(&format!("trial {}: {}", number + 1, head.trace.source));
    }
}

fn sentence(design: &TrialFinding) -> String {
    let (name, trials, overhead) = (
        &design.name,
        design.costs_cycles.len(),
        share(design.overhead.estimate),
    );
    let lost = match design.lost_cycles.estimate {
        None => String::new(),
        Some(_) => format!(
            " Evictions by other tasks cost {}; lines loaded by them save {}.",
            cycles(&design.lost_cycles),
            cycles(&design.gained_cycles)
        ),
    };
    format!(
        "A switch costs {} on {name}, over {trials} trials. Switches take {overhead} of all cycles on average.{lost}",
        cycles(&design.average_cost_cycles)
    )
}

fn rows<'a>(
    number: usize,
    head: &'a Simulation,
    findings: &'a Findings,
) -> impl Iterator<Item = Vec<Entry>> + 'a {
    let switches = head
        .trace
        .voluntary_switches
        .saturating_add(head.trace.involuntary_switches);
    findings.designs.iter().map(move |design| {
        entries![
            number.to_string(),
            &design.name,
            count(design.instructions),
            count(design.data_refs),
            count(switches),
            with_bound(&design.average_cost_cycles),
            ends(&design.average_cost_cycles),
            known(&design.lost_cycles),
            known(&design.gained_cycles),
            rounded(design.hierarchies.shared.cycles as f64),
            share(design.overhead)
        ]
    })
}
