use plotly::common::{DashType, Line, Mode};
use plotly::{Layout, Scatter, Trace};
use switchcost_analysis::{CaseFinding, Curve, Estimate, Findings};
use switchcost_record::HostManifest;
use switchcost_units::Bytes;

use super::NANOS;
use super::point::Series;
use crate::entry::Entry;
use crate::figure::{
    Beside, Drawing, Figure, colour, layout, names_of_marks, note, region, size_axis, time_axis,
    upright,
};
use crate::grid::Grid;
use crate::measure::row::{starred, tone};
use crate::quantity::{percent, time, with_interval};

const TOTAL: &str = "total";

/// What is drawn over the sizes: the whole, and what it is made of beside the switch of those who touch nothing.
const PARTS: [(&str, Part); 3] = [
    (TOTAL, |finding| finding.total_ns.as_ref()),
    ("the switch itself running cold", |finding| {
        finding.indirect_kernel_ns.as_ref()
    }),
    ("reloading the data", |finding| {
        finding.indirect_reload_ns.as_ref()
    }),
];

type Part = fn(&CaseFinding) -> Option<&Estimate>;

/// Cost over size with what stops fitting where, and the knees and regions that were found.
pub(in crate::measure) fn draw(
    host: &HostManifest,
    findings: &Findings,
    curve: &Curve,
    number: usize,
) -> Option<Figure> {
    let results: Vec<&CaseFinding> = curve
        .points
        .iter()
        .filter_map(|point| findings.results.get(point.result))
        .collect();
    let sizes: Vec<u64> = results
        .iter()
        .map(|finding| finding.case.working_set.size_bytes.0)
        .collect();
    let (first, last) = (*sizes.first()? as f64, *sizes.last()? as f64);
    let mut parts = PARTS.map(|(name, part)| (name, part, Series::default()));
    for (finding, size) in results.iter().zip(&sizes) {
        for (name, part, series) in &mut parts {
            let estimate = part(finding);
            // Of a record without parts only what it has is drawn, and nothing said to be missing.
            if estimate.is_some() || *name == TOTAL {
                series.push(
                    *size as f64,
                    finding,
                    estimate,
                    &format!("{name}, {}", Bytes(*size)),
                );
            }
        }
    }
    let drawn = parts
        .iter()
        .filter(|(.., series)| !series.is_empty())
        .enumerate();
    let mut traces: Vec<Box<dyn Trace>> = drawn
        .flat_map(|(place, (name, _, series))| series.traces(name, colour(place), true))
        .collect();
    traces.extend(bound(&results));
    let base = layout()
        .x_axis(size_axis("size of each task's array", &sizes))
        .y_axis(time_axis("cost of a switch"));
    let layout = marked(base, host, results.first()?, curve, first, last);
    Some(Figure {
        name: format!("sizes-{}", number + 1),
        title: format!("Cost by size: {}", curve.title),
        caption: format!(
            "Dotted lines: sizes at which a cache or TLB of this machine stops holding one array (L2), or those of all \
             tasks (L2/2). Shaded in turn: regions of one character; orange: knees. Dashed: what reloading everything lost \
             could cost at most.{}",
            Series::remark(&parts.map(|(.., series)| series))
        ),
        drawing: Drawing::new(traces, layout),
        table: Some(table(&results, curve)),
    })
}

/// The most that the loss of everything could cost.
fn bound(results: &[&CaseFinding]) -> Option<Box<dyn Trace>> {
    let bounds: Vec<(f64, f64)> = results
        .iter()
        .filter_map(|finding| {
            Some((
                finding.case.working_set.size_bytes.0 as f64,
                finding.reload_bound_ns?,
            ))
        })
        .collect();
    let (x, ns): (Vec<f64>, Vec<f64>) = bounds.into_iter().unzip();
    (!x.is_empty()).then(|| -> Box<dyn Trace> {
        Scatter::new(x, ns.iter().map(|ns| ns / NANOS).collect())
            .name("reload bound")
            .mode(Mode::Lines)
            .line(Line::new().color(colour(2)).dash(DashType::Dash).width(1.0))
            .hover_text_array(
                ns.iter()
                    .map(|ns| format!("reload bound: {}", time(*ns)))
                    .collect(),
            )
            .hover_template("%{hovertext}<extra></extra>")
    })
}

fn marked(
    base: Layout,
    host: &HostManifest,
    like: &CaseFinding,
    curve: &Curve,
    first: f64,
    last: f64,
) -> Layout {
    let mut shapes = Vec::new();
    let mut notes = Vec::new();
    for (i, stretch) in curve.regions.iter().enumerate() {
        let (from, to) = (stretch.from_bytes as f64, stretch.to_bytes as f64);
        shapes.push(region(
            from,
            to,
            colour(0),
            if i % 2 == 0 { 0.05 } else { 0.12 },
        ));
        notes.push(note(
            &stretch.name,
            (from * to).sqrt().log10(),
            0.06,
            Beside::Middle,
        ));
    }
    for knee in &curve.knees {
        shapes.push(region(
            knee.after_bytes as f64,
            knee.before_bytes as f64,
            colour(4),
            0.3,
        ));
    }
    let capacities = switchcost_analysis::capacities(host, &like.case);
    let marked: Vec<_> = capacities
        .into_iter()
        .filter(|end| (first..=last).contains(&end.size_bytes))
        .collect();
    shapes.extend(marked.iter().map(|end| upright(end.size_bytes)));
    let names = marked
        .into_iter()
        .map(|end| (end.size_bytes, end.label, end.cause))
        .collect();
    notes.extend(names_of_marks(names, (first, last)));
    base.shapes(shapes).annotations(notes)
}

fn table(results: &[&CaseFinding], curve: &Curve) -> Grid {
    let mut grid = Grid::new(1)
        .right([
            "size",
            "total (interval)",
            "direct (interval)",
            "indirect (interval)",
            "reload bound",
        ])
        .left(["region", "knee after it"]);
    for finding in results {
        let size = finding.case.working_set.size_bytes;
        let estimate = |e: &Option<switchcost_analysis::Estimate>| {
            Entry::new(
                e.as_ref().map(with_interval).unwrap_or_default(),
                tone(finding),
            )
        };
        let is_in =
            |r: &&switchcost_analysis::Region| (r.from_bytes..=r.to_bytes).contains(&size.0);
        let knee = curve
            .knees
            .iter()
            .find(|knee| knee.after_bytes == size.0)
            .map(|knee| {
                let cause = knee
                    .cause
                    .as_deref()
                    .unwrap_or("no cache or TLB of this machine ends there");
                format!("{cause} (confidence {})", percent(knee.confidence))
            });
        grid.row(vec![
            starred(finding, &size.to_string()).into(),
            estimate(&finding.total_ns),
            estimate(&finding.direct_ns),
            estimate(&finding.indirect_ns),
            finding.reload_bound_ns.map(time).unwrap_or_default().into(),
            curve
                .regions
                .iter()
                .find(is_in)
                .map(|region| region.name.clone())
                .unwrap_or_default()
                .into(),
            knee.unwrap_or_default().into(),
        ]);
    }
    grid
}
