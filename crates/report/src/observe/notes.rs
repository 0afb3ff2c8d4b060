use ::observation::{Observation, Source};
use analysis::observation::Findings;

use super::answer;
use crate::page::Page;
use crate::quantity::time;
use crate::simulate::amount::{count, share};

/// What was lost is told on one screen where it is more than so much of all switches.
const RARE: f64 = 0.001;

/// What to know about the numbers, the most important first.
pub(super) fn add(page: &mut Page, observation: &Observation, findings: &Findings, is_all: bool) {
    let mut notes = Vec::new();
    if observation.source == Source::Proc {
        notes.extend(observation.not_counted_by.iter().map(|reason| {
            format!("Switches were counted without causes and neighbours, by the kernel's own counters: {reason}.")
        }));
    }
    let lost = &observation.lost;
    let missing = [
        (lost.tasks, "tasks: they are not in the tables"),
        (lost.causes, "causes of switches: they are told as elsewhere"),
        (lost.pairs, "events of neighbours: they are not in the tables"),
        (lost.events, "events: they are not in the trace"),
    ];
    let is_worth_a_note = |number: u64| number as f64 > RARE * findings.all.switches as f64 || is_all && number > 0;
    for (number, of) in missing.iter().filter(|(number, _)| is_worth_a_note(*number)) {
        notes.push(format!("There was no room for {} {of}.", count(*number)));
    }
    notes.extend(findings.widest.map(|widest| answer::widest(widest).to_owned()));
    if let Some(calibration) = &observation.calibration {
        notes.push(format!(
            "What a switch costs here was measured at {} UTC.",
            calibration.measured_at.get(..16).unwrap_or(&calibration.measured_at)
        ));
    } else {
        notes.push(
            "What a switch costs here is not known: switchcost measure finds out, and later observations use it."
                .to_owned(),
        );
    }
    // Who may take the CPU from a task inside the kernel, and when: none, voluntary, full or lazy.
    if let Some(model) = observation.host.preemption.known().filter(|_| is_all) {
        notes.push(format!("Preemption of the kernel: {model}."));
    }
    if let Some(own) = findings.own_share {
        let each = findings.own_ns_a_switch.map_or(String::new(), |ns| format!(", {} a switch", time(ns)));
        notes.push(format!("Observing took {} of one CPU{each}; it is not in the costs.", share(Some(own))));
    }
    page.gap();
    notes.iter().for_each(|note| page.item(note));
}
