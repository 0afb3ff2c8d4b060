//! Renders a measurement on one screen: the answer, the cost of each mechanism, the cost by size,
//! and the worst notes.

mod costs;
mod remarks;
mod sizes;

use switchcost_analysis::{CaseFinding, Findings, Verdict};
use switchcost_record::{ControlOutcome, Header, MeasureRecord, Policy};
use switchcost_units::format_cpu_list;

use super::conditions::scheduler;
use super::{earlier, ladder, lmbench, reload, shared_cache};
use crate::Page;

/// Maximum number of notes on the screen.
const MOST_NOTES: usize = 5;

/// Maximum number of lines on the screen, without the lines that refer to `--details`.
const MOST_LINES: usize = 41;

/// Number of lines reserved for notes: the machine's fitness and the worst remark.
const OF_NOTES: usize = 5;

/// Maximum number of lines on the screen of a measurement of runtimes.
const MOST_LINES_OF_RUNTIMES: usize = 56;
const MOST_NOTES_OF_RUNTIMES: usize = 4;

pub(super) fn add(page: &mut Page, record: &MeasureRecord, findings: &Findings) {
    super::add_answer(page, record, findings);
    page.gap();
    page.prose(machine(&record.header, findings));
    earlier::add(page, &record.header, findings);
    let (most_lines, most_notes) = if ladder::is_one(record) {
        ladder::add_tables(page, findings);
        (MOST_LINES_OF_RUNTIMES, MOST_NOTES_OF_RUNTIMES)
    } else {
        add_tables(page, findings);
        (MOST_LINES, MOST_NOTES)
    };
    let notes = remarks::list_remarks(&record.header, findings);
    page.gap();
    page.prose(remarks::fitness(findings, notes.is_empty()));
    page.items_up_to(most_lines, &notes[..notes.len().min(most_notes)]);
}

fn add_tables(page: &mut Page, findings: &Findings) {
    let is_missing = |result: &CaseFinding| matches!(result.verdict, Verdict::NotMeasured { .. });
    // A table in which every result is "not measured" would repeat the answer and the notes.
    if findings.results.is_empty() || !findings.results.iter().all(is_missing) {
        costs::add(page, findings);
        lmbench::add(page, findings);
        reload::add(page, findings);
        shared_cache::add(page, findings);
        sizes::add(page, findings, MOST_LINES.saturating_sub(OF_NOTES));
    }
}

/// Describes the machine and the run in one or two lines.
pub(super) fn machine(header: &Header, findings: &Findings) -> String {
    let host = &header.host;
    let cpus = host.cpus_online.len();
    let mut parts = vec![
        host.cpu_model
            .known()
            .map_or("CPU unknown", String::as_str)
            .to_owned(),
        format!("{cpus} {}", if cpus == 1 { "CPU" } else { "CPUs" }),
        match host.hypervisor.known().map(String::as_str) {
            Some("none") => "bare metal".to_owned(),
            Some(name) => format!("under {name}"),
            None => "hypervisor unknown".to_owned(),
        },
        format!(
            "Linux {}",
            host.kernel.split_whitespace().next().unwrap_or("unknown")
        ),
        place(header),
    ];
    let clock = findings.core.and_then(|core| core.hertz);
    parts.extend(clock.map(|usual| format!("core at {:.2} GHz", usual / 1e9)));
    parts.join(", ")
}

/// Formats the CPUs of all cases and the policy of the first case.
fn place(header: &Header) -> String {
    let cases = &header.plan.cases;
    let cpus = header.plan.cpus();
    let on = match cpus.len() {
        0 => "not pinned".to_owned(),
        1 => format!("CPU {}", format_cpu_list(&cpus)),
        _ => format!("CPUs {}", format_cpu_list(&cpus)),
    };
    let policy = cases.first().map_or(Policy::Other, |case| case.policy);
    let is_refused = header.controls.iter().any(|control| {
        control.name == "real-time-priority"
            && matches!(control.outcome, ControlOutcome::Refused { .. })
    });
    let refused = if is_refused {
        " (real-time priority was refused)"
    } else {
        ""
    };
    format!("{on}, {}{refused}", scheduler(policy))
}
