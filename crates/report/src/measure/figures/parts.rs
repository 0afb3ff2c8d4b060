use plotly::common::{Fill, Line, Mode};
use plotly::{Scatter, Trace};
use switchcost_analysis::{CaseFinding, Curve, Estimate, Findings};
use switchcost_units::Bytes;

use crate::entry::Entry;
use crate::figure::{Drawing, Figure, colour, layout, share_axis, size_axis};
use crate::grid::Grid;
use crate::measure::row::{starred, tone};
use crate::quantity::{percent, time, with_interval};

/// What the total cost is made of, from below.
const PARTS: [(&str, Part); 3] = [
    ("direct", |finding| finding.direct_ns.as_ref()),
    ("indirect: kernel", |finding| {
        finding.indirect_kernel_ns.as_ref()
    }),
    ("indirect: reload", |finding| {
        finding.indirect_reload_ns.as_ref()
    }),
];

type Part = fn(&CaseFinding) -> Option<&Estimate>;

/// The parts of the total cost over size as stacked areas. In shares of it: on the scale that sizes need, which is logarithmic, the
/// height of an area would say nothing. `None` where fewer than two sizes have parts.
pub(in crate::measure) fn draw(
    findings: &Findings,
    curve: &Curve,
    number: usize,
) -> Option<Figure> {
    let with_shares = |finding: &'_ &CaseFinding| finding.shares_of_parts().is_some();
    let results: Vec<&CaseFinding> = curve
        .points
        .iter()
        .filter_map(|point| findings.results.get(point.result))
        .filter(with_shares)
        .collect();
    let shares: Vec<[f64; 3]> = results
        .iter()
        .filter_map(|finding| finding.shares_of_parts())
        .collect();
    if results.len() < 2 {
        return None;
    }
    let sizes: Vec<u64> = results
        .iter()
        .map(|finding| finding.case.working_set.size_bytes.0)
        .collect();
    let area = |(place, (name, part)): (usize, &(&str, Part))| -> Box<dyn Trace> {
        let shares: Vec<f64> = shares.iter().map(|of_parts| of_parts[place]).collect();
        let hover = results.iter().zip(&shares).map(|(finding, share)| {
            let size = Bytes(finding.case.working_set.size_bytes.0);
            format!(
                "{name}, {size}: {}, {}",
                part(finding).map(with_interval).unwrap_or_default(),
                percent(*share)
            )
        });
        Scatter::new(
            sizes.iter().map(|size| *size as f64).collect(),
            shares.clone(),
        )
        .name(*name)
        .mode(Mode::LinesMarkers)
        .line(Line::new().color(colour(place)).width(1.0))
        .fill(Fill::ToNextY)
        .stack_group("parts")
        .hover_text_array(hover.collect())
        .hover_template("%{hovertext}<extra></extra>")
    };
    let traces = PARTS.iter().enumerate().map(area).collect();
    let layout = layout()
        .x_axis(size_axis("size of each task's array", &sizes))
        .y_axis(share_axis("of the total cost"));
    Some(Figure {
        name: format!("parts-{}", number + 1),
        title: format!("Parts of the cost by size: {}", curve.title),
        caption: "Shares of the total cost: the switch where nothing is touched; what it takes longer because the walks evicted the \
                  kernel's own lines; and what the walk takes longer because it was away. A part that noise has put below 0 \
                  is drawn as 0; sizes whose total cost is not distinguishable from 0 are left out."
            .to_owned(),
        drawing: Drawing::new(traces, layout),
        table: Some(table(&results)),
    })
}

fn table(results: &[&CaseFinding]) -> Grid {
    let mut grid = Grid::new(1)
        .right(["size", "total"])
        .right(PARTS.iter().map(|(name, _)| format!("{name} (interval)")));
    for finding in results {
        let size = starred(finding, &finding.case.working_set.size_bytes.to_string());
        let total = finding
            .total_ns
            .as_ref()
            .map(|total| time(total.estimate))
            .unwrap_or_default();
        let parts = PARTS.iter().map(|(_, part)| {
            Entry::new(
                part(finding).map(with_interval).unwrap_or_default(),
                tone(finding),
            )
        });
        grid.row(
            [size.into(), total.into()]
                .into_iter()
                .chain(parts)
                .collect(),
        );
    }
    grid
}
