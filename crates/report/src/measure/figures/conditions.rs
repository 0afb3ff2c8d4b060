//! Draws results that differ in two conditions only: the size, and a second one such as access,
//! stride or the footprint of other tasks.

use switchcost_analysis::{CaseFinding, Findings};
use switchcost_record::Case;
use switchcost_units::Bytes;
use switchcost_workload::{Access, WorkingSet};

use super::{SIZE, point, time_axis};
use crate::Page;
use crate::figure::{Axis, Chart, Look, Scale, Series};
use crate::listing::grouped;
use crate::measure::conditions::label;
use crate::measure::row::has_numbers;
use crate::quantity::{is_cost, with_interval};

/// Maximum number of cells of a heat map. A heat map with more cells would be unreadable.
const MOST_CELLS: usize = 10_000;

/// Results whose cases are equal except for the erased conditions, with the case that they have in
/// common.
type Alike<'a> = (Case, Vec<&'a CaseFinding>);

fn alike<'a>(findings: &'a Findings, erased: impl Fn(&Case) -> Option<Case>) -> Vec<Alike<'a>> {
    let results = findings.results.iter();
    grouped(results.filter_map(|finding| Some((erased(&finding.case)?, finding))))
}

/// Returns the values of a condition among the results, in ascending order, without duplicates.
fn values<T: Ord>(members: &[&CaseFinding], value: impl Fn(&Case) -> T) -> Vec<T> {
    let mut values: Vec<T> = members.iter().map(|finding| value(&finding.case)).collect();
    values.sort_unstable();
    values.dedup();
    values
}

fn replace_set(case: &Case, set: WorkingSet) -> Case {
    Case {
        working_set: set,
        ..case.clone()
    }
}

/// Adds figures that compare several results and have no table in the terminal.
pub(in crate::measure) fn add(page: &mut Page, findings: &Findings) {
    if !page.has_figures() {
        return;
    }
    add_accesses(page, findings);
    for second in [STRIDE, AWAY] {
        add_maps(page, findings, second);
    }
    add_rings(page, findings);
}

/// Adds a figure of the costs of reads, writes and read-modify-writes by size, if cases differ only
/// in their access and their size.
fn add_accesses(page: &mut Page, findings: &Findings) {
    let groups = alike(findings, |case| {
        let set = WorkingSet {
            size_bytes: Bytes(0),
            access: Access::Read,
            ..case.working_set
        };
        let is_walk = !case.working_set.is_empty() && case.mechanism.hands_over();
        is_walk.then(|| replace_set(case, set))
    });
    let access = |finding: &CaseFinding| finding.case.working_set.access;
    let several = groups
        .into_iter()
        .filter(|(_, members)| members.iter().any(|f| access(f) != access(members[0])));
    for (number, (case, members)) in several.enumerate() {
        page.heading("Access types", label(&case));
        page.figure(|| {
            let series = [Access::Read, Access::Write, Access::Rmw].map(|wanted| {
                let of_access = members.iter().filter(|finding| access(finding) == wanted);
                let points = of_access.map(|finding| {
                    let size = finding.case.working_set.size_bytes.0;
                    point(size as f64, finding, finding.total_ns.as_ref())
                });
                Series::new(Look::Line, wanted.to_string(), sorted(points))
            });
            let (x, y) = (
                Axis::new(Scale::Size, SIZE),
                time_axis("total cost of a switch"),
            );
            Chart::new(
                format!("accesses-{}", number + 1),
                "Total cost by kind of access",
                x,
                y,
            )
            .with(series)
            .caption("Total cost of a switch with its interval.")
        });
        page.method(["total-and-indirect-cost"]);
    }
}

fn sorted(points: impl Iterator<Item = crate::figure::Point>) -> Vec<crate::figure::Point> {
    let mut points: Vec<_> = points.collect();
    points.sort_by(|a, b| a.place().total_cmp(&b.place()));
    points.dedup_by(|a, b| a.place() == b.place());
    points
}

/// A condition that varies together with the size of the working set.
#[derive(Clone, Copy)]
struct Second {
    name: &'static str,
    /// Prefix of the names of the condition's figures.
    figures: &'static str,
    heading: &'static str,
    method: &'static str,
    value: fn(&Case) -> Option<Bytes>,
    /// Resets the condition in a case, so that cases are compared without it.
    erased: fn(Case) -> Case,
}

const STRIDE: Second = Second {
    name: "stride",
    figures: "strides",
    heading: "Size and stride",
    method: "total-and-indirect-cost",
    value: |case| {
        let is_walk = case.away.is_none() && case.mechanism.hands_over();
        Some(case.working_set.stride_bytes).filter(|_| is_walk)
    },
    erased: |case| {
        let set = WorkingSet {
            stride_bytes: Bytes(0),
            ..case.working_set
        };
        replace_set(&case, set)
    },
};

/// The footprint of other tasks, which varies together with the measured task's own footprint.
const AWAY: Second = Second {
    name: "away",
    figures: "footprints",
    heading: "Size of the array, and data touched by others",
    method: "reload",
    value: |case| case.away,
    erased: |case| Case { away: None, ..case },
};

/// Adds heat maps of the total cost by size and by a second condition, if each has at least two
/// values.
fn add_maps(page: &mut Page, findings: &Findings, second: Second) {
    let groups = alike(findings, |case| {
        let set = WorkingSet {
            size_bytes: Bytes(0),
            ..case.working_set
        };
        let has_both = !case.working_set.is_empty() && (second.value)(case).is_some();
        has_both.then(|| (second.erased)(replace_set(case, set)))
    });
    let mut number = 0;
    for (like, members) in groups {
        let sizes = values(&members, |case| case.working_set.size_bytes);
        let seconds: Vec<Bytes> = values(&members, second.value)
            .into_iter()
            .flatten()
            .collect();
        // If there are no more results than sizes, or than values of the second condition, they form a line.
        let is_grid = members.len() > sizes.len().max(seconds.len());
        let is_plane = sizes.len() > 1 && seconds.len() > 1;
        if is_grid && is_plane && sizes.len().saturating_mul(seconds.len()) <= MOST_CELLS {
            number += 1;
            page.heading(second.heading, label(&like));
            page.figure(|| map(&members, second, &sizes, &seconds, number));
            page.method([second.method]);
        }
    }
}

fn map(
    members: &[&CaseFinding],
    second: Second,
    sizes: &[Bytes],
    seconds: &[Bytes],
    number: usize,
) -> Chart {
    let cell = |size: &Bytes, at: &Bytes| {
        let is_there = |finding: &&&CaseFinding| {
            let case = &finding.case;
            case.working_set.size_bytes == *size && (second.value)(case) == Some(*at)
        };
        let found = members.iter().find(is_there);
        let Some((finding, total)) = found.and_then(|f| Some((f, f.total_ns.as_ref()?))) else {
            return (None, "not measured".to_owned());
        };
        let height = Some(total.estimate).filter(|_| has_numbers(finding) && is_cost(total));
        (height, with_interval(total))
    };
    let rows = seconds
        .iter()
        .map(|at| sizes.iter().map(|size| cell(size, at)).collect());
    let (id, title) = (
        format!("{}-{number}", second.figures),
        format!("Total cost by size and {}", second.name),
    );
    Chart::new(id, title, Axis::names(SIZE, sizes), Axis::names(second.name, seconds))
        .cells(rows.collect(), true)
        .caption(
            "Total cost of a switch, on a logarithmic scale. A gap: not measured, or not distinguishable from 0; the pointer and the \
             table say which.",
        )
}

/// Adds a figure of the cost of a switch by the number of tasks in the ring.
fn add_rings(page: &mut Page, findings: &Findings) {
    let mut rings = alike(findings, |case| {
        Some(Case {
            tasks: 2,
            switches: None,
            ..case.clone()
        })
    });
    rings.retain(|(_, members)| values(members, |case| case.tasks).len() > 1);
    if rings.is_empty() {
        return;
    }
    page.heading(
        "Rings of N tasks",
        "cost of a switch by the number of alternating tasks",
    );
    page.figure(|| {
        let series = rings.iter().map(|(case, members)| {
            let points = members.iter().map(|finding| {
                // With a working set the total cost includes the lines evicted by the other tasks.
                // Without one the cost of the switch alone is compared.
                let alone = finding.direct_ns.as_ref().or(finding.handoff_ns.as_ref());
                let is_bare = finding.case.working_set.is_empty();
                let cost = if is_bare {
                    alone
                } else {
                    finding.total_ns.as_ref()
                };
                point(f64::from(finding.case.tasks), finding, cost)
            });
            Series::new(Look::Line, label(case), sorted(points))
        });
        let (x, y) = (
            Axis::new(Scale::Count, "tasks in the ring"),
            time_axis("cost of a switch"),
        );
        Chart::new("rings", "Cost of a switch by the number of tasks", x, y)
            .with(series)
            .caption("Direct cost without a working set, total cost with one; with intervals.")
    });
}
