use switchcost_analysis::simulation::{Findings, Group};
use switchcost_design::result::Simulation;

use super::amount::ones;
use crate::page::Page;
use crate::quantity::count;

/// Adds the simulated trace, and the lengths of its segments.
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
        page.prose(&format!("trace segments: {}", medians.join("; ")));
    }
}

/// Words for a class: `a system call`, `involuntary switches`.
fn class_in_words(class: &str) -> &str {
    match class {
        "system call" => "system calls",
        "page fault" => "page faults",
        "involuntary" => "involuntary switches",
        _ => "births and exits",
    }
}

/// Adds the simulated trace in one line.
pub(super) fn add_in_short(page: &mut Page, head: &Simulation) {
    let trace = &head.trace;
    page.gap();
    let quantum = trace
        .quantum_instructions
        .map(|q| format!(", quantum {} instructions", count(q)))
        .unwrap_or_default();
    page.prose(&format!(
        "trace: {}, order {}{quantum}",
        trace.source, trace.order
    ));
    let data = trace.loads.saturating_add(trace.stores);
    page.prose(&format!(
        "{} instructions, {} data references, {} switches ({} voluntary, {} involuntary), {} {}",
        count(trace.instructions),
        count(data),
        count(
            trace
                .voluntary_switches
                .saturating_add(trace.involuntary_switches)
        ),
        count(trace.voluntary_switches),
        count(trace.involuntary_switches),
        count(head.processes.len() as u64),
        ones(head.private_by),
    ));
}
