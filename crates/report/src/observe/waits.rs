use ::observation::{Behind, LongWait, Observation};
use analysis::observation::{Findings, KeptWaitingFinding};

use super::answer::name;
use super::tables::title;
use crate::entry::{Entry, Side};
use crate::grid::Grid;
use crate::page::Page;
use crate::quantity::{NO_NUMBER, time};
use crate::simulate::amount::{count, share};

/// Who had the CPU while the observed waited for it.
pub(super) fn add(page: &mut Page, findings: &Findings, most: usize) {
    let found = &findings.kept_waiting;
    if found.is_empty() {
        return;
    }
    let rows = &found[..found.len().min(most)];
    page.heading("Who kept it waiting", &title("for a CPU, while it could run", rows.len(), found.len()));
    let mut grid = Grid::with_one_line_a_row(2);
    grid.column("", Side::Left);
    grid.column("observed", Side::Left);
    for column in ["waited", "of all waits", "runs", "each"] {
        grid.column(column, Side::Right);
    }
    rows.iter().for_each(|each| grid.row(row(each)));
    page.grid(&grid);
}

fn row(found: &KeptWaitingFinding) -> Vec<Entry> {
    let behind = behind(&found.behind);
    let each = found.runs.filter(|runs| *runs > 0).map(|runs| time(found.wait_ns / runs as f64));
    let cells = [
        if found.is_own { format!("{behind} (observed itself)") } else { behind },
        name(&found.observed),
        time(found.wait_ns),
        share(Some(found.share)),
        found.runs.map_or(NO_NUMBER.to_owned(), count),
        each.unwrap_or_else(|| NO_NUMBER.to_owned()),
    ];
    cells.into_iter().map(Entry::from).collect()
}

fn behind(behind: &Behind) -> String {
    match behind {
        Behind::Process(other) => name(other),
        Behind::Kernel => "[the kernel's threads]".to_owned(),
        Behind::Nobody => "[nobody: the CPU was idle]".to_owned(),
        Behind::Throttled => "[its CPU time was used up]".to_owned(),
        Behind::Moved => "[on another CPU, then moved]".to_owned(),
        Behind::Others => "[others, not remembered]".to_owned(),
    }
}

/// The longest waits as a sentence; none where there were none.
pub(super) fn longest(observation: &Observation) -> Option<String> {
    let waits: Vec<String> = observation.longest_waits.iter().map(one).collect();
    (!waits.is_empty()).then(|| format!("Longest waits for a CPU: {}.", waits.join("; ")))
}

/// `21 ms of redis-server (812) at 1.304 s, for 18 ms of it behind stress`.
fn one(wait: &LongWait) -> String {
    let ns = |ns: units::Nanos| time(ns.0 as f64);
    let of = format!(
        "{} of {} ({}) at {:.3} s",
        ns(wait.wait_ns),
        name(&wait.name),
        wait.thread,
        wait.since_ns.0 as f64 / 1e9
    );
    format!("{of}, for {} of it behind {}", ns(wait.behind_ns), behind(&wait.behind))
}
