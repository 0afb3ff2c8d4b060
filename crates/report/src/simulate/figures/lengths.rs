use switchcost_analysis::simulation::{Findings, Group, LengthDistribution};

use plotly::layout::AxisType;

use super::name;
use super::series::line;
use crate::entry::Entry;
use crate::figure::{Drawing, Figure, layout, linear_axis, share_axis};
use crate::grid::Grid;
use crate::page::Page;
use crate::simulate::amount::{count, rounded, share};

/// Where the longest segment is so many times the median, a linear scale shows nothing but the longest.
const STRETCHED: u64 = 5;

/// Figure 1 of the paper: how long segments run, by cause.
pub(super) fn add(page: &mut Page, findings: &Findings) {
    let shown = |group: &Group| matches!(group, Group::All | Group::Class(_));
    let lengths: Vec<&LengthDistribution> = findings
        .lengths
        .iter()
        .filter(|l| shown(&l.group))
        .collect();
    if lengths.is_empty() {
        return;
    }
    page.heading(
        "Lengths of segments",
        "a segment is what runs between two switches",
    );
    page.figure(|| Some(draw(&lengths)));
    page.method(&["simulated-cost"]);
}

fn draw(lengths: &[&LengthDistribution]) -> Figure {
    let traces = lengths.iter().enumerate().map(|(number, distribution)| {
        let name = name(&distribution.group);
        let points = distribution.points.iter().map(|point| {
            let (part, length) = (share(Some(point.share)), count(point.instructions));
            (
                point.instructions as f64,
                point.share,
                format!("{name}: {part} run at most {length} instructions"),
            )
        });
        line(number, &name, points)
    });
    let is_stretched =
        |l: &&LengthDistribution| l.max_instructions / STRETCHED > l.median_instructions;
    let x_axis = linear_axis("instructions in the segment");
    let x_axis = if lengths.iter().any(is_stretched) {
        x_axis.type_(AxisType::Log)
    } else {
        x_axis
    };
    Figure {
        name: "lengths".to_owned(),
        title: "Distribution of segment lengths (figure 1 of Mogul and Borg 1990)".to_owned(),
        caption:
            "Share of segments that run at most so many instructions, by why the task had left the CPU before. Where \
                  a curve passes 50 % is the median."
                .to_owned(),
        drawing: Drawing::new(traces.collect(), layout().x_axis(x_axis).y_axis(share_axis("share of segments"))),
        table: Some(table(lengths)),
    }
}

fn table(lengths: &[&LengthDistribution]) -> Grid {
    let mut grid = Grid::new(1).left(["after"]).right([
        "segments",
        "at most (instructions)",
        "share",
        "median",
        "mean",
        "longest",
    ]);
    for distribution in lengths {
        let name = name(&distribution.group);
        grid.row(vec![
            name.as_str().into(),
            count(distribution.segments).into(),
            Entry::default(),
            Entry::default(),
            count(distribution.median_instructions).into(),
            rounded(distribution.mean_instructions).into(),
            count(distribution.max_instructions).into(),
        ]);
        for point in &distribution.points {
            let (length, part) = (count(point.instructions), share(Some(point.share)));
            grid.row(vec![
                name.as_str().into(),
                "".into(),
                length.into(),
                part.into(),
            ]);
        }
    }
    grid
}
