//! Shows the hand-offs of runtimes next to those of the kernel, on a logarithmic scale of costs.
//! Hand-offs to a named task are separate from hand-offs to a task that a scheduler chooses.

mod answer;
mod warm_up;

pub(super) use answer::describe_answer;
pub(super) use warm_up::add as add_runs;

use switchcost_analysis::{CaseFinding, Estimate, Findings, Verdict};
use switchcost_record::{Class, MeasureRecord};
use switchcost_units::format_cpu_list;

use super::figures;
use super::row::{has_numbers, starred, tone};
use crate::listing::grouped;
use crate::quantity::{is_cost, number, plus_minus, with_bound};
use crate::{Entry, Grid, Page};
use itertools::Itertools;

/// Steps of the scale per decade of time.
const STEPS: usize = 6;
const TENFOLDS: usize = 4;

/// Returns true if a record is a measurement of language runtimes.
pub(super) fn is_one(record: &MeasureRecord) -> bool {
    record
        .header
        .plan
        .cases
        .iter()
        .any(|case| case.runtime.is_some())
}

/// Adds tables of hand-offs by a scheduler, of direct switches, and of hand-offs with data. A list
/// names the hand-offs that were not measured.
pub(super) fn add_tables(page: &mut Page, findings: &Findings) {
    let mut legend = "; marks show the time on a log scale";
    for (class, title, rest) in [
        (
            Class::HandOff,
            "Hand-off",
            "the scheduler chooses the next task",
        ),
        (Class::Swap, "Swap", "a direct switch to a named task"),
    ] {
        let found: Vec<&CaseFinding> = measured(findings)
            .filter(|found| found.case.working_set.is_empty())
            .collect();
        let rows = sorted(
            found
                .into_iter()
                .filter(|found| self::class(found) == class)
                .collect(),
        );
        if !rows.is_empty() {
            page.heading(title, format!("{rest}{legend}"));
            legend = "";
            let named: Vec<(&CaseFinding, String)> =
                rows.iter().map(|found| (*found, name(found))).collect();
            page.figure(|| figures::ladder(title, &named));
            page.grid(grid(&rows, findings, class));
        }
    }
    add_data(page, findings);
    for (why, names) in missing(findings) {
        page.item(format!("not measured: {} ({why})", names.join(", ")));
    }
}

/// Returns the reasons why hand-offs of runtimes were not measured, each with the names of these
/// hand-offs.
fn missing(findings: &Findings) -> Vec<(&str, Vec<String>)> {
    let missing = findings.results.iter().filter_map(|found| {
        found.case.runtime.as_ref()?;
        match &found.verdict {
            Verdict::NotMeasured { why } => Some((why.as_str(), name(found))),
            _ => None,
        }
    });
    grouped(missing.unique())
}

fn measured(findings: &Findings) -> impl Iterator<Item = &CaseFinding> {
    findings
        .results
        .iter()
        .filter(|found| has_numbers(found) && found.handoff_cost().is_some())
}

/// Returns the class of a result: whether a scheduler chooses the next task, as in a kernel switch,
/// or the task names its successor, as in a fiber switch.
fn class(found: &CaseFinding) -> Class {
    match (&found.case.runtime, found.case.mechanism) {
        (Some(of), _) => of.class,
        (None, switchcost_record::Mechanism::Fiber | switchcost_record::Mechanism::Ucontext) => {
            Class::Swap
        }
        (None, _) => Class::HandOff,
    }
}

fn sorted(mut found: Vec<&CaseFinding>) -> Vec<&CaseFinding> {
    let cost = |found: &CaseFinding| {
        found
            .handoff_ns
            .as_ref()
            .map_or(f64::INFINITY, |cost| cost.estimate.max(0.0))
    };
    found.sort_by(|a, b| cost(a).total_cmp(&cost(b)));
    found
}

fn name(found: &CaseFinding) -> String {
    let case = &found.case;
    let tasks_of_kernel = match (&case.runtime, case.between) {
        (Some(_), _) => String::new(),
        (None, switchcost_record::Between::User) => ", user level".to_owned(),
        (None, between) => format!(", {between}"),
    };
    let tasks = if case.tasks == 2 {
        String::new()
    } else {
        format!(", {} tasks", case.tasks)
    };
    let place = match &case.placement.cpus[..] {
        [] => ", not pinned".to_owned(),
        [_] => String::new(),
        cpus => format!(", CPUs {}", format_cpu_list(cpus)),
    };
    format!("{}{tasks_of_kernel}{tasks}{place}", case.name())
}

fn grid(rows: &[&CaseFinding], findings: &Findings, class: Class) -> Grid {
    let time = match class {
        Class::HandOff => "per hand-off",
        Class::Swap => "per swap",
    };
    let mut grid = Grid::new(1)
        .left([""])
        .right([time, "+-", "core cycles", "kernel switches"])
        .left([scale()]);
    let hertz = findings.core.and_then(|core| core.hertz);
    for found in rows {
        let Some(cost) = &found.handoff_ns else {
            continue;
        };
        let cycles = hertz
            .filter(|_| is_cost(cost))
            .map(|hertz| number(cost.estimate * hertz / 1e9));
        let cells = [
            Some(starred(found, &name(found))),
            Some(with_bound(cost)),
            Some(plus_minus(cost)),
            cycles,
            kernel_switches(found),
            Some(rung(cost.estimate)),
        ];
        grid.row(toned(found, cells));
    }
    grid
}

/// Makes the cells of a result, in the emphasis of its verdict. `None` becomes an empty cell.
fn toned<const N: usize>(found: &CaseFinding, cells: [Option<String>; N]) -> [Entry; N] {
    cells.map(|cell| Entry::new(cell.unwrap_or_default(), tone(found)))
}

/// Formats the kernel switches per hand-off; `None` for built-in user-space mechanisms, which count
/// user-level switches instead.
fn kernel_switches(found: &CaseFinding) -> Option<String> {
    let counts_kernel =
        found.case.runtime.is_some() || found.case.between != switchcost_record::Between::User;
    found
        .switches_per_handoff
        .filter(|_| counts_kernel)
        .map(|count| format!("{:.2}", count.abs()))
}

/// Returns the heading of the logarithmic scale: `1 ns  10    100   1 us  10 us`.
fn scale() -> String {
    let marks = ["1 ns", "10", "100", "1 us", "10 us"].map(|mark| format!("{mark:<STEPS$}"));
    // A table header may be broken at ordinary spaces only.
    marks.concat().trim_end().replace(' ', "\u{a0}")
}

/// Draws a time as a mark on the logarithmic scale.
fn rung(ns: f64) -> String {
    let place = (ns.max(1.0).log10() * STEPS as f64).round() as usize;
    let place = place.min(TENFOLDS * STEPS);
    (0..=TENFOLDS * STEPS)
        .map(|step| {
            if step == place {
                '█'
            } else if step % STEPS == 0 {
                '│'
            } else {
                '·'
            }
        })
        .collect()
}

/// Adds a table of the hand-offs between tasks that traverse an array each. The indirect cost has
/// two parts: the reload of the array, and the additional time of the switch.
fn add_data(page: &mut Page, findings: &Findings) {
    let rows: Vec<&CaseFinding> = measured(findings)
        .filter(|found| !found.case.working_set.is_empty())
        .collect();
    if rows.is_empty() {
        return;
    }
    let mut grid = Grid::new(2).left([""]).right([
        "data each",
        "time",
        "+-",
        "indirect cost",
        "reload",
        "switch",
    ]);
    for found in rows {
        let scaled = found
            .switches_per_handoff
            .filter(|_| found.case.runtime.is_none())
            .unwrap_or(1.0);
        let part =
            |part: &Option<Estimate>| part.as_ref().map(|part| with_bound(&part.scaled(scaled)));
        let whole = found.handoff_cost();
        let cells = [
            Some(starred(found, &name(found))),
            Some(found.case.working_set.size_bytes.to_string()),
            whole.as_ref().map(with_bound),
            whole.as_ref().map(plus_minus),
            part(&found.indirect_ns),
            part(&found.indirect_reload_ns),
            part(&found.indirect_kernel_ns),
        ];
        grid.row(toned(found, cells));
    }
    page.table(
        "With data",
        "each task walks its own array; each time is estimated separately, so sums are inexact",
        grid,
    );
}
