use plotly::Trace;
use plotly::common::TickMode;
use switchcost_analysis::CaseFinding;

use super::point::Series;
use crate::entry::Entry;
use crate::figure::{Drawing, Figure, colour, layout, linear_axis, time_axis};
use crate::grid::Grid;
use crate::measure::conditions::label;

use crate::measure::row::tone;
use crate::quantity::{ordinal, time, with_interval};

/// More curves than this cannot be distinguished; the table has them all.
const MOST_CURVES: usize = 10;

/// What each walk behind a switch takes above a settled one, a curve for each case.
pub(in crate::measure) fn draw(findings: &[&CaseFinding]) -> Option<Figure> {
    let reported: Vec<&CaseFinding> = findings
        .iter()
        .copied()
        .filter(|finding| finding.reload.is_some())
        .collect();
    let walks = reported
        .iter()
        .filter_map(|f| f.reload.as_ref())
        .map(|reload| reload.walks_ns.len())
        .max()?;
    let mut traces: Vec<Box<dyn Trace>> = Vec::new();
    let mut all = Vec::new();
    for (number, finding) in reported.iter().take(MOST_CURVES).enumerate() {
        let mut series = Series::default();
        for (place, walk) in finding
            .reload
            .iter()
            .flat_map(|reload| &reload.walks_ns)
            .enumerate()
        {
            let about = format!("{}, {} walk", label(&finding.case), ordinal(place));
            series.push((place + 1) as f64, finding, Some(walk), &about);
        }
        traces.extend(series.traces(&label(&finding.case), colour(number), true));
        all.push(series);
    }
    let axis = linear_axis("walk after the switch")
        .tick_mode(TickMode::Array)
        .tick_values((1..=walks).map(|n| n as f64).collect());
    Some(Figure {
        name: "reload".to_owned(),
        title: "How the working set comes back".to_owned(),
        caption: format!(
            "By how much each walk after a switch is slower than a settled one, with its interval.{}",
            Series::remark(&all)
        ),
        drawing: Drawing::new(
            traces,
            layout()
                .x_axis(axis)
                .y_axis(time_axis("above a settled walk")),
        ),
        table: Some(table(&reported, walks)),
    })
}

fn table(findings: &[&CaseFinding], walks: usize) -> Grid {
    let mut grid = Grid::new(1)
        .left(["case"])
        .right((0..walks).map(|place| format!("{} walk (interval)", ordinal(place))))
        .right(["settled walk"]);
    for finding in findings {
        let Some(reload) = &finding.reload else {
            continue;
        };
        let mut row = vec![Entry::new(label(&finding.case), tone(finding))];
        row.extend((0..walks).map(|place| {
            Entry::from(
                reload
                    .walks_ns
                    .get(place)
                    .map(with_interval)
                    .unwrap_or_default(),
            )
        }));
        row.push(time(reload.settled_ns.estimate).into());
        grid.row(row);
    }
    grid
}
