//! The figures of an observation: the same findings as in the tables, drawn.

mod costs;
mod times;
mod waits;
mod window;

use switchcost_analysis::observation::Findings;
use switchcost_record::observation::{Observation, Source};
use switchcost_units::Nanos;

use crate::page::Page;

/// Names beside the rows of a figure: more are hard to distinguish.
const MOST_ROWS: usize = 20;

/// A longer name leaves no room for its row on a narrow page. The kernel's names are shorter; the table has all of it.
const LONGEST_NAME: usize = 24;

fn beside_its_row(name: &str) -> String {
    match name.char_indices().nth(LONGEST_NAME) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}

/// All figures, the cost first. Only the page has them.
pub(super) fn add(page: &mut Page, observation: &Observation, findings: &Findings) {
    if !page.has_figures() || findings.all.switches == 0 {
        return;
    }
    costs::add(page, findings);
    waits::add(page, findings);
    times::add(page, observation);
    window::add(page, observation);
}

/// What is not drawn, since it was not counted.
pub(super) fn not_drawn(observation: &Observation, findings: &Findings) -> Option<String> {
    let missing = [
        (findings.all.direct_ns.is_none(), "what switches cost"),
        (findings.causes.is_empty(), "why tasks were switched"),
        (
            findings.kept_waiting.is_empty() && may_have_waited(observation),
            "who kept them waiting",
        ),
        (findings.off.is_none(), "how long they were off the CPU"),
        (findings.wait.is_none(), "how long they waited for a CPU"),
        (
            observation.moments.is_empty(),
            "how switches are spread over the window",
        ),
    ];
    let missing: Vec<&str> = missing
        .iter()
        .filter(|(is_missing, _)| *is_missing)
        .map(|(_, what)| *what)
        .collect();
    let (last, rest) = missing.split_last()?;
    let all = if rest.is_empty() {
        (*last).to_owned()
    } else {
        format!("{} and {last}", rest.join(", "))
    };
    Some(format!(
        "Not drawn, since this record does not have it: {all}."
    ))
}

/// Where every wait is counted none may have been.
fn may_have_waited(observation: &Observation) -> bool {
    observation.source != Source::Bpf
        || observation
            .tasks
            .iter()
            .any(|tasks| tasks.wait_ns > Nanos(0))
}
