use switchcost_analysis::simulation::{DesignFinding, Findings, Group, GroupFinding};

use crate::figure::{Axis, Chart, Look, Point, Scale, Series};
use crate::quantity::{count, rounded, share};
use crate::simulate::detailed;
use crate::{Grid, Page};

/// Adds a chart of the number of segments by the cause of the switch before them.
pub(super) fn add(page: &mut Page, findings: &Findings) {
    // Causes are properties of the trace, so they are the same for each design.
    let has_causes = |design: &&DesignFinding| causes(design).next().is_some();
    let Some(design) = detailed(findings).iter().find(has_causes) else {
        return;
    };
    page.heading(
        "Causes of switches",
        "segments, by why the task had left the CPU",
    );
    page.figure(|| draw(design));
    page.method(["simulated-cost"]);
}

fn causes(design: &DesignFinding) -> impl Iterator<Item = (&str, &GroupFinding)> {
    design.groups.iter().filter_map(|group| match &group.group {
        Group::Cause(name) => Some((name.as_str(), group)),
        _ => None,
    })
}

fn draw(design: &DesignFinding) -> Chart {
    let columns =
        Grid::new(1)
            .left(["cause"])
            .right(["segments", "excess cycles", "share of excess"]);
    let rows = causes(design).map(|(cause, group)| {
        let cycles = rounded(group.excess_cycles);
        let part = share(design.share_of_excess(group));
        entries![cause, count(group.segments), cycles, part]
    });
    let bars = causes(design).enumerate().map(|(place, (_, group))| {
        let text = format!("{} segments", count(group.segments));
        Point::new(place as f64, group.segments as f64, text)
    });
    let (x, y) = (
        Axis::names("cause", causes(design).map(|(cause, _)| cause)),
        Axis::new(Scale::Zero, "segments"),
    );
    Chart::new("causes", "Causes of switches", x, y)
        .across()
        .with([Series::new(Look::Bars, "segments", bars)])
        .caption(format!(
            "The excess cycles in the table are those on {}.",
            design.name
        ))
        .numbers(columns.with_rows(rows))
}
