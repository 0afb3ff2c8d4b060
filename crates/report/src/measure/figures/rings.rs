use plotly::common::TickMode;
use switchcost_analysis::{CaseFinding, Findings};
use switchcost_record::Case;

use super::point::Series;
use crate::entry::Entry;
use crate::figure::{Drawing, Figure, colour, layout, linear_axis, time_axis};
use crate::grid::Grid;
use crate::measure::conditions::label;
use crate::measure::row::tone;
use crate::page::Page;
use crate::quantity::with_interval;

/// Results that differ in the number of tasks alone.
type Ring<'a> = (Case, Vec<&'a CaseFinding>);

/// The cost of a switch in rings of different lengths.
pub(super) fn add(page: &mut Page, findings: &Findings) {
    let rings = rings(findings);
    if !page.has_figures() || rings.is_empty() {
        return;
    }
    page.heading(
        "Rings of N tasks",
        "cost of a switch by the number of tasks that take turns",
    );
    page.figure(|| draw(&rings));
}

fn rings(findings: &Findings) -> Vec<Ring<'_>> {
    let mut rings: Vec<Ring<'_>> = Vec::new();
    for finding in &findings.results {
        let key = Case {
            tasks: 2,
            switches: None,
            ..finding.case.clone()
        };
        match rings.iter_mut().find(|(case, _)| *case == key) {
            Some((_, members)) => members.push(finding),
            None => rings.push((key, vec![finding])),
        }
    }
    for (_, members) in &mut rings {
        members.sort_by_key(|finding| finding.case.tasks);
        members.dedup_by_key(|finding| finding.case.tasks);
    }
    rings.retain(|(_, members)| members.len() > 1);
    rings
}

/// With a working set what is lost to the others belongs to it; without, the switch alone.
fn estimate(finding: &CaseFinding) -> Option<&switchcost_analysis::Estimate> {
    let alone = finding.direct_ns.as_ref().or(finding.handoff_ns.as_ref());
    if finding.case.working_set.is_empty() {
        alone
    } else {
        finding.total_ns.as_ref()
    }
}

fn draw(rings: &[Ring<'_>]) -> Option<Figure> {
    let mut traces = Vec::new();
    let mut all = Vec::new();
    let mut tasks: Vec<u32> = Vec::new();
    for (number, (case, members)) in rings.iter().enumerate() {
        let mut series = Series::default();
        for finding in members {
            tasks.push(finding.case.tasks);
            let about = format!("{}, {} tasks", label(case), finding.case.tasks);
            series.push(
                f64::from(finding.case.tasks),
                finding,
                estimate(finding),
                &about,
            );
        }
        traces.extend(series.traces(&label(case), colour(number), true));
        all.push(series);
    }
    tasks.sort_unstable();
    tasks.dedup();
    let axis = linear_axis("tasks in the ring")
        .tick_mode(TickMode::Array)
        .tick_values(tasks.iter().copied().map(f64::from).collect())
        .tick_text(tasks.iter().map(u32::to_string).collect());
    (!traces.is_empty()).then(|| Figure {
        name: "rings".to_owned(),
        title: "Cost of a switch by the number of tasks".to_owned(),
        caption: format!(
            "Direct cost without a working set, total cost with one; with intervals.{}",
            Series::remark(&all)
        ),
        drawing: Drawing::new(
            traces,
            layout().x_axis(axis).y_axis(time_axis("cost of a switch")),
        ),
        table: Some(table(rings, &tasks)),
    })
}

fn table(rings: &[Ring<'_>], tasks: &[u32]) -> Grid {
    let mut grid = Grid::new(1)
        .left(["ring"])
        .right(tasks.iter().map(|tasks| format!("{tasks} tasks")));
    for (case, members) in rings {
        let cell = |tasks: &u32| {
            let found = members.iter().find(|finding| finding.case.tasks == *tasks);
            found.map_or_else(Entry::default, |finding| {
                Entry::new(
                    estimate(finding).map(with_interval).unwrap_or_default(),
                    tone(finding),
                )
            })
        };
        grid.row(
            std::iter::once(Entry::from(label(case)))
                .chain(tasks.iter().map(cell))
                .collect(),
        );
    }
    grid
}
