use strum::{Display, EnumIter, IntoEnumIterator};
use switchcost_analysis::{CaseFinding, Findings, Tail};
use switchcost_record::{Between, Family};

use super::conditions::{Condition, RUN, names, split, values};
use super::figures;
use super::matrix;
use super::notes::Numbering;
use super::row::{add_star_legend, complete, estimate, has_numbers, marked};
use crate::quantity::{NO_NUMBER, Scale, centre, number, plus_minus};
use crate::{Entry, Grid, Page, Tone};

/// Kind of a switch, under which its row is listed.
#[derive(Clone, Copy, PartialEq, Eq, Display, EnumIter)]
enum Group {
    #[strum(to_string = "kernel-level")]
    Kernel,
    #[strum(to_string = "user-level")]
    User,
    #[strum(to_string = "preemption")]
    Preemption,
    #[strum(to_string = "synthetic")]
    MadeUp,
}

fn group(finding: &CaseFinding) -> Group {
    let mechanism = finding.case.mechanism.traits();
    match (mechanism.family, finding.case.between) {
        _ if mechanism.is_preemptive => Group::Preemption,
        (Family::Synthetic, _) => Group::MadeUp,
        (_, Between::User) => Group::User,
        _ => Group::Kernel,
    }
}

/// Adds the table of mechanisms, with every result that has no working set and is not part of a
/// matrix of CPUs.
pub(super) fn add(page: &mut Page, findings: &Findings) {
    let in_matrix = matrix::members(findings);
    let shown =
        |(i, f): &(usize, &CaseFinding)| f.case.working_set.is_empty() && !in_matrix.contains(i);
    let rows: Vec<_> = findings
        .results
        .iter()
        .enumerate()
        .filter(shown)
        .map(|(_, finding)| finding)
        .collect();
    if rows.is_empty() {
        return;
    }
    let cases: Vec<_> = rows.iter().map(|finding| &finding.case).collect();
    let (varying, common) = split(&RUN, &cases);
    page.heading("Switches by mechanism", common.join(", "));
    // Runtimes have two classes, and each class has its own figure.
    if rows.iter().all(|finding| finding.case.runtime.is_none()) {
        page.figure(|| figures::mechanisms(&rows));
    }
    page.method(["direct-cost", "hand-off", "baselines", "statistics"]);
    page.grid(grid(&rows, &varying, &Numbering::new(&findings.results)));
    add_star_legend(page, rows.into_iter());
}

const NUMBERS: [&str; 7] = [
    "direct",
    "±",
    "core cycles",
    "hand-off",
    "round trip",
    "switches per hand-off",
    "p50/p99/max",
];

fn grid(findings: &[&CaseFinding], varying: &[Condition], notes: &Numbering) -> Grid {
    let mut grid = Grid::new(2)
        .left(["mechanism", "between"])
        .left(names(varying))
        .right(NUMBERS)
        .right(["excluded"])
        .left(["notes"]);
    for group in Group::iter() {
        let members: Vec<_> = findings
            .iter()
            .filter(|finding| self::group(finding) == group)
            .collect();
        if !members.is_empty() {
            grid.row(entries![Entry::new(group.to_string(), Tone::Strong)]);
        }
        for finding in members {
            grid.row(row(finding, varying, notes));
        }
    }
    grid
}

fn row(finding: &CaseFinding, varying: &[Condition], notes: &Numbering) -> Vec<Entry> {
    let case = &finding.case;
    let name = marked(finding, &format!("  {}", case.name()));
    let mut row: Vec<Entry> = entries![name, case.between.to_string()];
    row.extend(values(varying, case));
    let (direct, cycles) = (&finding.direct_ns, &finding.direct_cycles);
    let switches = finding.switches_per_handoff;
    let numbers = has_numbers(finding).then(|| {
        entries![
            estimate(finding, direct, centre),
            direct.as_ref().map(plus_minus),
            cycles.as_ref().map(|cycles| number(cycles.estimate)),
            estimate(finding, &finding.handoff_ns, centre),
            estimate(finding, &finding.round_trip_ns, centre),
            switches.map_or(NO_NUMBER.to_owned(), number),
            finding.tail_ns.as_ref().map(tail)
        ]
    });
    complete(row, finding, numbers, NUMBERS.len(), notes)
}

/// Formats the median, the 99th percentile and the maximum, in the unit of the median.
fn tail(tail: &Tail) -> String {
    let quantiles = [tail.p50, tail.p99, tail.max];
    if !quantiles.iter().all(|ns| ns.is_finite()) {
        return NO_NUMBER.to_owned();
    }
    let scale = Scale::choose(tail.p50);
    let digits = quantiles.map(|ns| scale.own_digits(ns));
    format!("{} {}", digits.join("/"), scale.unit)
}
