use itertools::Itertools;
use switchcost_analysis::observation::{CauseFinding, Findings, Latency, ProcessFinding, Range};
use switchcost_record::observation::{Entry as KernelEntry, FutexWait, RESUMED_CALL, Why};

use super::answer::{cpus, name, shares};
use super::{By, matched, neighbours, title};
use crate::quantity::{NO_NUMBER, count, rounded, share, time};
use crate::{Grid, Page};

/// Maximum number of rows in a table of costs on one screen.
const PROCESSES: usize = 6;
const CAUSES: usize = 5;
/// Maximum number of rows for runtime threads on one screen.
const MOST_RUNTIMES: usize = 3;

pub(super) fn add(page: &mut Page, findings: &Findings, by: By) {
    if findings.all.switches == 0 {
        return;
    }
    match by {
        By::Program => add_payers(page, "Cost by program", &findings.names, label),
        By::ControlGroup => add_groups(page, &findings.groups),
    }
    if page.is_detailed() {
        if by == By::Program && findings.groups.len() > 1 {
            add_groups(page, &findings.groups);
        }
        add_payers(page, "Cost by process", &findings.processes, label);
        if !findings.threads.is_empty() {
            add_payers(page, "Cost by thread name", &findings.threads, label);
        }
    }
    add_runtimes(page, findings);
    add_causes(page, findings);
    neighbours::add(page, findings);
    if page.is_detailed() {
        matched::add(page, findings);
    }
    add_latencies(page, findings);
}

/// Least share of all switches for a cause to be listed on one screen.
const RARE: f64 = 0.001;

/// Adds a table of threads with a known role in a language runtime, such as its garbage collection,
/// over all processes. A screen has one sentence instead.
fn add_runtimes(page: &mut Page, findings: &Findings) {
    let labelled = |found: &ProcessFinding| format!("{} x {}", found.name, count(found.tasks));
    let found: Vec<ProcessFinding> = findings
        .runtimes
        .iter()
        .map(|of| of.found.clone())
        .collect();
    if page.is_detailed() {
        // The number of columns is limited, so that the names have room.
        page.table(
            "Threads of language runtimes",
            "recognized by their names, in all programs",
            grid(&found, labelled, 4),
        );
    } else if !found.is_empty() {
        let mut each = found.iter().take(MOST_RUNTIMES).map(|found| {
            format!(
                "{} ({} switches/s)",
                labelled(found),
                rounded(found.per_second)
            )
        });
        page.item(format!("threads of language runtimes: {}", each.join("; ")));
    }
}

/// Adds a table of the costs of control groups. Containers have the names that container tools
/// show.
fn add_groups(page: &mut Page, found: &[ProcessFinding]) {
    add_payers(page, "Cost by control group", found, |group| {
        format!("{} x {}", name(&short(&group.name)), count(group.tasks))
    });
}

fn add_payers(
    page: &mut Page,
    heading: &str,
    found: &[ProcessFinding],
    label: fn(&ProcessFinding) -> String,
) {
    let rows = &found[..found.len().min(page.row_limit(PROCESSES))];
    page.heading(
        heading,
        title(
            "costs are shares of its own CPU time",
            rows.len(),
            found.len(),
        ),
    );
    page.grid(grid(rows, label, usize::MAX));
}

/// Returns a table with a row for each finding and up to `most` columns. A column needs numbers for
/// at least a tenth of the switches.
fn grid(rows: &[ProcessFinding], label: fn(&ProcessFinding) -> String, most: usize) -> Grid {
    let sum = |has: &dyn Fn(&ProcessFinding) -> bool| -> f64 {
        let counted = rows.iter().filter(|found| has(found));
        counted.map(|found| found.switches as f64).sum()
    };
    let is_shown = |of: &Of| sum(&|found| of(found).is_some()) >= 0.1 * sum(&|_| true);
    let columns = COLUMNS.iter().filter(|(_, of)| is_shown(of)).take(most);
    let row = |found| {
        let cells = columns
            .clone()
            .map(move |(_, of)| of(found).unwrap_or_else(|| NO_NUMBER.to_owned()));
        [label(found)].into_iter().chain(cells)
    };
    Grid::single_line_rows(1)
        .left([""])
        .right(columns.clone().map(|(head, _)| *head))
        .with_rows(rows.iter().map(row))
}

pub(in crate::observe) fn label(found: &ProcessFinding) -> String {
    let label = match (found.process, found.tasks) {
        (Some(process), _) => format!("{} {process}{}", name(&found.name), container_name(found)),
        (None, 1) => name(&found.name),
        (None, tasks) => format!("{} x {}", name(&found.name), count(tasks)),
    };
    if found.is_kernel {
        format!("[{label}]")
    } else {
        label
    }
}

/// Function that formats a finding for a column; `None` if the finding has no such number.
type Of = fn(&ProcessFinding) -> Option<String>;

/// Columns of every table of costs: heading, and function that formats the cell.
const COLUMNS: [(&str, Of); 8] = [
    ("switches/s", |found| Some(rounded(found.per_second))),
    ("involuntary", |found| Some(share(found.involuntary_share))),
    ("CPU use", |found| found.cpus.map(share)),
    ("total cost", |found| found.share.map(likely_or_ends)),
    ("cost in CPUs", |found| found.cost_cpus?.likely.map(cpus)),
    ("direct cost", |found| found.direct_share.map(ends)),
    ("cold caches", |found| {
        found.cold_share().map(likely_or_ends)
    }),
    ("p99 wait for CPU", |found| {
        found
            .wait
            .map(|wait| quantile(Some(wait), |wait| wait.p99_ns))
    }),
];

fn likely_or_ends(range: Range) -> String {
    let likely = range.likely.map(share);
    likely.unwrap_or_else(|| ends(range))
}

/// Returns a process' PID in its own namespace, with its container or control group, such as ` = 7
/// in 3f2a91c07b5d`.
pub(in crate::observe) fn container_name(found: &ProcessFinding) -> String {
    let inside = found.process_inside.map(|process| format!(" = {process}"));
    let group = found
        .control_group
        .as_deref()
        .map(|group| format!(" in {}", name(&short(group))));
    match (inside, group) {
        (Some(inside), None) => inside + " in its own PID namespace",
        (inside, group) => inside.unwrap_or_default() + &group.unwrap_or_default(),
    }
}

/// Returns the last part of a control group's name. The 64 digits of a container are cut to the
/// number that container tools show.
fn short(group: &str) -> String {
    let last = group
        .rsplit('/')
        .next()
        .filter(|last| !last.is_empty())
        .unwrap_or(group);
    let mut numbers = last.split(|c: char| !c.is_ascii_hexdigit());
    numbers
        .find(|number| number.len() == 64)
        .map_or(last, |number| &number[..12])
        .to_owned()
}

fn ends(range: Range) -> String {
    shares(range, ">=")
}

fn quantile(latency: Option<Latency>, of: fn(&Latency) -> Option<f64>) -> String {
    match latency {
        Some(latency) => of(&latency).map_or_else(
            || format!(">= {}", time(latency.last_ns)),
            |ns| format!("< {}", time(ns)),
        ),
        None => NO_NUMBER.to_owned(),
    }
}

fn add_causes(page: &mut Page, findings: &Findings) {
    if findings.causes.is_empty() {
        return;
    }
    // A cause with less than one switch in a thousand is not worth a row.
    let frequent = findings
        .causes
        .iter()
        .filter(|cause| cause.share >= RARE)
        .count();
    let shown = page.row_limit(CAUSES.min(frequent.max(1)));
    let rows = &findings.causes[..findings.causes.len().min(shown)];
    page.heading(
        "Causes of switches",
        title(
            "means per switch; off CPU includes waiting for a CPU",
            rows.len(),
            findings.causes.len(),
        ),
    );
    let grid = Grid::single_line_rows(1)
        .left([""])
        .right(["switches", "share", "off CPU", "waiting for CPU"])
        .left(["most often in"])
        .with_rows(rows.iter().map(cause_row));
    page.grid(grid);
}

fn cause_row(cause: &CauseFinding) -> [String; 6] {
    let times = |ns: Option<f64>| ns.map_or(NO_NUMBER.to_owned(), time);
    [
        reason(cause.why, &cause.entry),
        count(cause.switches),
        share(cause.share),
        times(cause.off_ns),
        times(cause.wait_ns),
        name(&cause.mostly),
    ]
}

/// Describes the cause of a switch, such as `preempted by a woken task, in write`.
pub(in crate::observe) fn reason(why: Why, entry: &KernelEntry) -> String {
    let place = match entry {
        KernelEntry::SystemCall(call) if call == RESUMED_CALL => {
            "in a call resumed after a stop".to_owned()
        }
        KernelEntry::SystemCall(call) => format!("in {call}"),
        KernelEntry::Futex(FutexWait::Lock) => "in futex, for a lock".to_owned(),
        KernelEntry::Futex(FutexWait::Timed) => "in futex, with a time-out".to_owned(),
        KernelEntry::PageFault => "in a page fault".to_owned(),
        KernelEntry::Interrupt => "in user code".to_owned(),
        KernelEntry::Kernel => "in the kernel".to_owned(),
        KernelEntry::Other => "elsewhere".to_owned(),
    };
    let what = why.describe();
    match (why, entry) {
        // Outside of system calls and faults a task waits only on its way out of an interrupt, for
        // pending work.
        (Why::Blocked, KernelEntry::Interrupt) => format!("{what} on the return to user space"),
        (Why::Blocked, _) => format!("{what} {place}"),
        (Why::Yielded, _) | (Why::Ended, KernelEntry::Kernel) => what.to_owned(),
        (Why::Ended, KernelEntry::SystemCall(call)) if call.starts_with("exit") => what.to_owned(),
        _ => format!("{what}, {place}"),
    }
}

fn add_latencies(page: &mut Page, findings: &Findings) {
    let mut rows = vec![
        ("off the CPU", findings.off),
        ("waiting for a CPU", findings.wait),
    ];
    if findings.in_scheduler.is_some() {
        rows.push(("inside the scheduler", findings.in_scheduler));
    }
    if rows.iter().all(|(_, latency)| latency.is_none()) {
        return;
    }
    page.heading(
        "Times per switch",
        "percentiles, as upper bounds from a histogram",
    );
    let mut grid = Grid::single_line_rows(1)
        .left([""])
        .right(["switches", "p50", "p99", "max"]);
    for (label, latency) in rows {
        let counted = latency.map_or(NO_NUMBER.to_owned(), |latency| count(latency.count));
        let quantiles = [
            |l: &Latency| l.p50_ns,
            |l: &Latency| l.p99_ns,
            |l: &Latency| l.max_ns,
        ];
        let cells = [label.to_owned(), counted]
            .into_iter()
            .chain(quantiles.map(|of| quantile(latency, of)));
        grid.row(cells);
    }
    page.grid(grid);
}
