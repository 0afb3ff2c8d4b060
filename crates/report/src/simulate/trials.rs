use itertools::Itertools;
use schemars::JsonSchema;
use serde::Serialize;
use switchcost_analysis::simulation::{Findings, TrialFinding};
use switchcost_design::result::Simulation;

use super::amount::{cycles, ends, known, with_bound};
use super::answer::part_sentence;
use super::{csv, json};
use crate::format::written;
use crate::quantity::{count, rounded, share};
use crate::{Document, Entry, Format, Grid, InEveryFormat, OutputFormat, Page, Style, Table};

/// Report on several records of one workload.
#[derive(JsonSchema, Serialize)]
pub(crate) struct Trials<'a> {
    /// Findings of each design over all trials.
    designs: &'a [TrialFinding],
    /// Report on each record.
    trials: Vec<Document<json::Report<'a>>>,
}

impl OutputFormat for Trials<'_> {
    /// Name of the JSON schema, with its version.
    const NAME: &'static str = "switchcost.simulate-trials/1";
}

/// Renders several records of one workload: a table with a row for each record, and their common
/// findings. `designs` is the result of [`switchcost_analysis::simulation::over_trials`] for these
/// records. CSV has a table for each record, one after the other.
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
    fn add_to(&self, page: &mut Page) {
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
            page.paragraph(format!("Trial {}: {text}", number + 1));
        }
    }
    let are_alike = trials
        .iter()
        .all(|(head, _)| head.trace.guest == trials[0].0.trace.guest);
    if are_alike {
        let sentences = designs.iter().take(3).map(sentence).join(" ");
        page.paragraph(sentences);
    } else {
        page.paragraph(
            "The trials have no common mean, because their guests were started differently.",
        );
    }
    page.heading("Cost of a switch", "additional cycles in each trial");
    let mut grid = Grid::new(2).left(["trial", "design"]).right([
        "cycles per switch",
        "interval",
        "reloads",
        "saved",
        "total cycles",
        "all switches",
    ]);
    for (number, (_, findings)) in trials.iter().enumerate() {
        rows(number + 1, findings).for_each(|row| grid.row(row));
    }
    page.grid(grid);
    page.prose("reloads: cycles per switch for lines that others evicted; saved: by lines that others loaded; all switches: share of the \
         total cycles");
    page.gap();
    for (number, (head, _)) in trials.iter().enumerate() {
        page.prose(format!("trial {}: {}", number + 1, trace_in_words(head)));
    }
}

fn trace_in_words(head: &Simulation) -> String {
    let trace = &head.trace;
    let switches = trace
        .voluntary_switches
        .saturating_add(trace.involuntary_switches);
    format!(
        "{}, {} instructions, {} loads and stores, {} switches",
        trace.source,
        count(trace.instructions),
        count(trace.loads.saturating_add(trace.stores)),
        count(switches)
    )
}

fn sentence(design: &TrialFinding) -> String {
    let trials = match design.costs_cycles.len() {
        0 => return format!("No trial gives the cost of a switch on {}.", design.name),
        1 => "1 trial".to_owned(),
        several => format!("mean of {several} trials"),
    };
    format!(
        "On {}, a switch costs {}, and all switches take {} of all cycles ({trials}).",
        design.name,
        cycles(&design.average_cost_cycles),
        share(design.overhead.estimate)
    )
}

fn rows(number: usize, findings: &Findings) -> impl Iterator<Item = Vec<Entry>> {
    findings.designs.iter().map(move |design| {
        entries![
            number.to_string(),
            &design.name,
            with_bound(&design.average_cost_cycles),
            ends(&design.average_cost_cycles),
            known(&design.lost_cycles),
            known(&design.gained_cycles),
            rounded(design.hierarchies.shared.cycles as f64),
            share(design.overhead)
        ]
    })
}
