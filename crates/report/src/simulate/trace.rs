use itertools::Itertools;
use switchcost_analysis::simulation::{Findings, Group};
use switchcost_design::result::Simulation;

use super::amount::{one, ones};
use crate::Page;
use crate::quantity::count;

/// Adds the simulated trace, and the median lengths of its segments.
pub(super) fn add(page: &mut Page, head: &Simulation, findings: &Findings) {
    add_in_short(page, head);
    let medians = findings.lengths.iter().filter_map(|lengths| {
        let median = count(lengths.median_instructions);
        match &lengths.group {
            Group::All => Some(format!("median length {median} instructions")),
            Group::Class(class) => Some(format!("after {} {median}", class_in_words(class))),
            Group::Cause(_) | Group::EndClass(_) | Group::Tasks(_) => None,
        }
    });
    let medians: Vec<String> = medians.collect();
    if !medians.is_empty() {
        page.prose(format!("trace segments: {}", medians.join("; ")));
    }
}

/// Returns a class of switches in words, such as `system calls` or `involuntary switches`.
fn class_in_words(class: &str) -> &str {
    match class {
        "system call" => "system calls",
        "page fault" => "page faults",
        "involuntary" => "involuntary switches",
        _ => "births and exits",
    }
}

/// Adds the size of the simulated trace and the number of its switches, in two lines.
pub(super) fn add_in_short(page: &mut Page, head: &Simulation) {
    let trace = &head.trace;
    page.gap();
    let data = trace.loads.saturating_add(trace.stores);
    let processes = match head.processes.len() {
        1 => format!("1 {}", one(head.private_by)),
        several => format!("{} {}", count(several as u64), ones(head.private_by)),
    };
    let switches = match (trace.voluntary_switches, trace.involuntary_switches) {
        (0, 0) => "no switches".to_owned(),
        (voluntary, involuntary) => format!(
            "{} voluntary and {} involuntary switches",
            count(voluntary),
            count(involuntary)
        ),
    };
    page.prose(format!(
        "trace: {} ({processes}, {})",
        trace.source,
        order_in_words(&trace.order, trace.quantum_instructions)
    ));
    page.prose(format!(
        "{} instructions, {} loads and stores, {switches}",
        count(trace.instructions),
        count(data)
    ));
}

/// Describes the order of the tasks and the length of their time slices.
fn order_in_words(order: &str, quantum_instructions: Option<u64>) -> String {
    let slices = quantum_instructions
        .map(|quantum| format!("time slices of up to {} instructions", count(quantum)));
    let order = match order {
        "scheduled" if slices.is_some() => None,
        "scheduled" => Some("scheduled by the tracer".to_owned()),
        "as-run" => Some("scheduled by the kernel".to_owned()),
        "imported" => Some("in the order of its source".to_owned()),
        "synthetic" => Some("generated".to_owned()),
        other => Some(format!("rescheduled: {other}")),
    };
    order.into_iter().chain(slices).join(", ")
}
