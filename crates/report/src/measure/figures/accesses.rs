use switchcost_analysis::{CaseFinding, Findings};
use switchcost_record::Case;
use switchcost_units::Bytes;
use switchcost_workload::{Access, WorkingSet};

use super::point::Series;
use crate::entry::Entry;
use crate::figure::{Drawing, Figure, colour, layout, size_axis, time_axis};
use crate::grid::Grid;
use crate::measure::conditions::label;
use crate::measure::row::tone;
use crate::page::Page;
use crate::quantity::with_interval;

const ACCESSES: [Access; 3] = [Access::Read, Access::Write, Access::Rmw];

/// Read, write, and read-modify-write beside each other, wherever they differ in that alone.
pub(super) fn add(page: &mut Page, findings: &Findings) {
    if !page.has_figures() {
        return;
    }
    let groups = groups(findings)
        .into_iter()
        .filter(|(_, members)| has_several_accesses(members));
    for (number, (case, members)) in groups.enumerate() {
        page.heading("Access types", &label(&case));
        page.figure(|| draw(&members, number));
        page.method(&["total-and-indirect-cost"]);
    }
}

/// Results with a working set by what they have in common but size and access.
fn groups(findings: &Findings) -> Vec<(Case, Vec<&CaseFinding>)> {
    let mut groups: Vec<(Case, Vec<&CaseFinding>)> = Vec::new();
    let walks = |case: &Case| !case.working_set.is_empty() && case.mechanism.hands_over();
    for finding in findings
        .results
        .iter()
        .filter(|finding| walks(&finding.case))
    {
        let set = WorkingSet {
            size_bytes: Bytes(0),
            access: Access::Read,
            ..finding.case.working_set
        };
        let key = Case {
            working_set: set,
            ..finding.case.clone()
        };
        match groups.iter_mut().find(|(case, _)| *case == key) {
            Some((_, members)) => members.push(finding),
            None => groups.push((key, vec![finding])),
        }
    }
    groups
}

fn has_several_accesses(members: &[&CaseFinding]) -> bool {
    members
        .iter()
        .any(|finding| finding.case.working_set.access != members[0].case.working_set.access)
}

fn of_access<'a>(members: &[&'a CaseFinding], access: Access) -> Vec<&'a CaseFinding> {
    let mut found: Vec<_> = members
        .iter()
        .copied()
        .filter(|finding| finding.case.working_set.access == access)
        .collect();
    found.sort_by_key(|finding| finding.case.working_set.size_bytes);
    found.dedup_by_key(|finding| finding.case.working_set.size_bytes);
    found
}

fn draw(members: &[&CaseFinding], number: usize) -> Option<Figure> {
    let mut traces = Vec::new();
    let mut all = Vec::new();
    for (place, access) in ACCESSES.into_iter().enumerate() {
        let mut series = Series::default();
        for finding in of_access(members, access) {
            let size = finding.case.working_set.size_bytes;
            series.push(
                size.0 as f64,
                finding,
                finding.total_ns.as_ref(),
                &format!("{access}, {size}"),
            );
        }
        traces.extend(series.traces(&access.to_string(), colour(place), true));
        all.push(series);
    }
    let sizes: Vec<u64> = members
        .iter()
        .map(|finding| finding.case.working_set.size_bytes.0)
        .collect();
    let axis = size_axis("size of each task's array", &sizes);
    (!traces.is_empty()).then(|| Figure {
        name: format!("accesses-{}", number + 1),
        title: "Total cost by kind of access".to_owned(),
        caption: format!(
            "Total cost of a switch with its interval.{}",
            Series::remark(&all)
        ),
        drawing: Drawing::new(
            traces,
            layout()
                .x_axis(axis)
                .y_axis(time_axis("total cost of a switch")),
        ),
        table: Some(table(members)),
    })
}

fn table(members: &[&CaseFinding]) -> Grid {
    let mut grid = Grid::new(1)
        .right(["size"])
        .right(ACCESSES.iter().map(|access| access.to_string()));
    let mut sizes: Vec<Bytes> = members
        .iter()
        .map(|finding| finding.case.working_set.size_bytes)
        .collect();
    sizes.sort_unstable();
    sizes.dedup();
    for size in sizes {
        let cell = |access: &Access| {
            let set = |f: &&&CaseFinding| {
                (f.case.working_set.size_bytes, f.case.working_set.access) == (size, *access)
            };
            members
                .iter()
                .find(set)
                .map_or_else(Entry::default, |finding| {
                    Entry::new(
                        finding
                            .total_ns
                            .as_ref()
                            .map(with_interval)
                            .unwrap_or_default(),
                        tone(finding),
                    )
                })
        };
        grid.row(
            std::iter::once(Entry::from(size.to_string()))
                .chain(ACCESSES.iter().map(cell))
                .collect(),
        );
    }
    grid
}
