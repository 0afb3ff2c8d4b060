use std::collections::BTreeMap;

use switchcost_analysis::observation::{Findings, KeptWaitingFinding, NeighbourFinding};
use switchcost_record::observation::{Behind, LongWait, Observation};
use switchcost_units::Nanos;

use super::answer::name;
use super::title;
use crate::quantity::{NO_NUMBER, count, share, time};
use crate::{Entry, Grid, Page};

/// Maximum number of rows on one screen.
const MOST_ROWS: usize = 3;

/// Adds a table with a row for each program that ran while an observed task waited for a CPU or was
/// off the CPU.
pub(super) fn add(page: &mut Page, findings: &Findings) {
    let mut all = rows(findings);
    if !page.is_detailed() {
        all.retain(Row::is_competitor);
    }
    if all.is_empty() {
        return;
    }
    let rows = &all[..all.len().min(page.row_limit(MOST_ROWS))];
    let what = "what ran while an observed program was off its CPU";
    page.heading(
        "Competitors for the CPU",
        title(what, rows.len(), all.len()),
    );
    let has_wakers = findings
        .neighbours
        .iter()
        .any(|neighbour| neighbour.woke > 0);
    let grid = Grid::single_line_rows(2)
        .left(["competitor", "observed program"])
        .right([
            "wait caused",
            "share of waits",
            "ran for",
            "times it ran",
            "preemptions",
        ])
        .right(has_wakers.then_some("wake-ups"))
        .with_rows(rows.iter().map(|row| row.entries(has_wakers)));
    page.grid(grid);
}

/// Effect of one program on an observed program: the waits that it caused, and its time on the CPU.
#[derive(Default)]
struct Row<'a> {
    observed: String,
    other: String,
    kept_waiting: Option<&'a KeptWaitingFinding>,
    neighbour: Option<&'a NeighbourFinding>,
}

/// Returns the rows in descending order of the time that observed tasks waited, then of the other
/// program's run time.
fn rows(findings: &Findings) -> Vec<Row<'_>> {
    let mut rows: BTreeMap<(&str, Behind), Row<'_>> = BTreeMap::new();
    for found in &findings.kept_waiting {
        let row = rows
            .entry((&found.observed, found.behind.clone()))
            .or_default();
        row.kept_waiting = Some(found);
        (row.observed, row.other) = (
            observed(&found.observed, found.is_kernel),
            describe_other(&found.behind, found.is_own),
        );
    }
    for found in &findings.neighbours {
        let behind = if found.other.is_empty() {
            Behind::Kernel
        } else {
            Behind::Process(found.other.clone())
        };
        let text = describe_other(&behind, found.is_own);
        let row = rows.entry((&found.observed, behind)).or_default();
        row.neighbour = Some(found);
        (row.observed, row.other) = (observed(&found.observed, found.is_kernel), text);
    }
    let mut rows: Vec<Row<'_>> = rows.into_values().collect();
    rows.sort_by(|a, b| {
        b.waited()
            .total_cmp(&a.waited())
            .then(b.ran().total_cmp(&a.ran()))
    });
    rows
}

impl Row<'_> {
    fn waited(&self) -> f64 {
        self.kept_waiting.map_or(0.0, |found| found.wait_ns)
    }

    fn ran(&self) -> f64 {
        self.neighbour.map_or(0.0, |found| found.ran_ns)
    }

    /// Returns true if the program preempted the observed one, woke it up or kept it waiting.
    fn is_competitor(&self) -> bool {
        let has_effect = |found: &NeighbourFinding| found.preempted > 0 || found.woke > 0;
        self.waited() > 0.0 || self.neighbour.is_some_and(has_effect)
    }

    fn entries(&self, has_wakers: bool) -> Vec<Entry> {
        let waited = |of: fn(&KeptWaitingFinding) -> String| {
            self.kept_waiting.map_or(NO_NUMBER.to_owned(), of)
        };
        let beside =
            |of: fn(&NeighbourFinding) -> String| self.neighbour.map_or(NO_NUMBER.to_owned(), of);
        // A program that ran on another CPU than the waiting task's last one has no count here.
        let ran = |of: fn(&NeighbourFinding) -> String| {
            self.neighbour
                .filter(|found| found.runs > 0)
                .map_or(NO_NUMBER.to_owned(), of)
        };
        let mut cells = vec![
            self.other.clone(),
            self.observed.clone(),
            waited(|found| time(found.wait_ns)),
            waited(|found| share(found.share)),
            ran(|found| time(found.ran_ns)),
            ran(|found| count(found.runs)),
            beside(|found| count(found.preempted)),
        ];
        cells.extend(has_wakers.then(|| beside(|found| count(found.woke))));
        cells.into_iter().map(Entry::from).collect()
    }
}

/// Formats the name of an observed program, with brackets around a kernel thread's name.
pub(super) fn observed(observed: &str, is_kernel: bool) -> String {
    if is_kernel {
        format!("[{}]", name(observed))
    } else {
        name(observed)
    }
}

fn describe_other(behind: &Behind, is_own: bool) -> String {
    let text = text(behind);
    if is_own {
        format!("{text} (also observed)")
    } else {
        text
    }
}

pub(super) fn text(behind: &Behind) -> String {
    match behind {
        Behind::Process(other) => name(other),
        Behind::Kernel => "[kernel threads]".to_owned(),
        Behind::Nobody => "[idle CPU waking up]".to_owned(),
        Behind::Throttled => "[its own CPU quota]".to_owned(),
        Behind::Moved => "[queue of another CPU]".to_owned(),
        Behind::Others => "[unknown: history lost]".to_owned(),
    }
}

/// Returns a sentence on the longest waits for a CPU; `None` if there were none.
pub(super) fn longest(observation: &Observation) -> Option<String> {
    let waits: Vec<String> = observation.longest_waits.iter().map(one).collect();
    (!waits.is_empty()).then(|| format!("Longest waits for a CPU: {}.", waits.join("; ")))
}

/// Describes a wait for a CPU, such as `redis-server (812) waited 21 ms at 1.304 s, of which 18 ms
/// while stress ran`.
fn one(wait: &LongWait) -> String {
    let ns = |ns: Nanos| time(ns.0 as f64);
    let since = wait.since_ns.0 as f64 / 1e9;
    let of = format!(
        "{} ({}) waited {} at {since:.3} s",
        name(&wait.name),
        wait.thread,
        ns(wait.wait_ns)
    );
    let cause = match &wait.behind {
        Behind::Process(_) | Behind::Kernel => format!("while {} ran", text(&wait.behind)),
        Behind::Nobody => "while an idle CPU woke up".to_owned(),
        Behind::Throttled => "because its CPU quota was used up".to_owned(),
        Behind::Moved => "in the queue of another CPU".to_owned(),
        Behind::Others => "for an unknown reason (history lost)".to_owned(),
    };
    format!("{of}, of which {} {cause}", ns(wait.behind_ns))
}
