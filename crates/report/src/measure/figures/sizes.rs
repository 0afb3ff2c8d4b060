use analysis::{CaseFinding, Curve, Findings};
use plotly::common::{DashType, Line, Mode};
use plotly::{Layout, Scatter, Trace};
use record::HostManifest;
use units::Bytes;

use super::NANOS;
use super::point::Series;
use crate::entry::{Entry, Side};
use crate::figure::{Beside, Drawing, Figure, colour, layout, note, region, size_axis, time_axis, upright};
use crate::grid::Grid;
use crate::measure::row::{starred, tone};
use crate::quantity::{percent, time, with_interval};

/// Cost over size with what stops fitting where, and the knees and regions that were found.
pub(in crate::measure) fn draw(
    host: &HostManifest,
    findings: &Findings,
    curve: &Curve,
    number: usize,
) -> Option<Figure> {
    let results: Vec<&CaseFinding> =
        curve.points.iter().filter_map(|point| findings.results.get(point.result)).collect();
    let sizes: Vec<u64> = results.iter().map(|finding| finding.case.working_set.size_bytes.0).collect();
    let (first, last) = (*sizes.first()? as f64, *sizes.last()? as f64);
    let (mut totals, mut indirects) = (Series::default(), Series::default());
    for (finding, size) in results.iter().zip(&sizes) {
        let about = |what: &str| format!("{what}, {}", Bytes(*size));
        totals.push(*size as f64, finding, finding.total_ns.as_ref(), &about("total"));
        indirects.push(*size as f64, finding, finding.indirect_ns.as_ref(), &about("indirect"));
    }
    let mut traces = totals.traces("total", colour(0), true);
    traces.extend(indirects.traces("indirect", colour(1), true));
    traces.extend(bound(&results));
    let base = layout().x_axis(size_axis("size of each task's array", &sizes)).y_axis(time_axis("cost of a switch"));
    let layout = marked(base, host, results.first()?, curve, first, last);
    Some(Figure {
        name: format!("sizes-{}", number + 1),
        title: format!("Cost by size: {}", curve.title),
        caption: format!(
            "Total and indirect cost with their intervals. Dotted lines: sizes at which a cache or TLB of this machine \
             stops holding one array, or those of all tasks. Shaded in turn: regions of one character; orange: knees. \
             Dashed: what reloading everything lost could cost at most.{}",
            Series::remark(&[totals, indirects])
        ),
        drawing: Drawing::new(traces, layout),
        table: Some(table(&results, curve)),
    })
}

/// The most that the loss of everything could cost.
fn bound(results: &[&CaseFinding]) -> Option<Box<dyn Trace>> {
    let bounds: Vec<(f64, f64)> = results
        .iter()
        .filter_map(|finding| Some((finding.case.working_set.size_bytes.0 as f64, finding.reload_bound_ns?)))
        .collect();
    let (x, ns): (Vec<f64>, Vec<f64>) = bounds.into_iter().unzip();
    (!x.is_empty()).then(|| -> Box<dyn Trace> {
        Scatter::new(x, ns.iter().map(|ns| ns / NANOS).collect())
            .name("reload bound")
            .mode(Mode::Lines)
            .line(Line::new().color(colour(2)).dash(DashType::Dash).width(1.0))
            .hover_text_array(ns.iter().map(|ns| format!("reload bound: {}", time(*ns))).collect())
            .hover_template("%{hovertext}<extra></extra>")
    })
}

fn marked(base: Layout, host: &HostManifest, like: &CaseFinding, curve: &Curve, first: f64, last: f64) -> Layout {
    let mut shapes = Vec::new();
    let mut notes = Vec::new();
    for (i, stretch) in curve.regions.iter().enumerate() {
        let (from, to) = (stretch.from_bytes as f64, stretch.to_bytes as f64);
        shapes.push(region(from, to, colour(0), if i % 2 == 0 { 0.05 } else { 0.12 }));
        notes.push(note(&stretch.name, (from * to).sqrt().log10(), 0.06, Beside::Middle));
    }
    for knee in &curve.knees {
        shapes.push(region(knee.after_bytes as f64, knee.before_bytes as f64, colour(4), 0.3));
    }
    let mut marked: Vec<f64> = Vec::new();
    for capacity in analysis::capacities(host, &like.case) {
        let size = capacity.size_bytes;
        if (first..=last).contains(&size) {
            // Two may end at one size: one is named at the left of the line, the other at its right.
            let beside = if marked.contains(&size) { Beside::Right } else { Beside::Left };
            marked.push(size);
            shapes.push(upright(size));
            notes.push(note(&capacity.cause, size.log10(), 0.98, beside));
        }
    }
    base.shapes(shapes).annotations(notes)
}

fn table(results: &[&CaseFinding], curve: &Curve) -> Grid {
    let mut grid = Grid::new(1);
    grid.column("size", Side::Right);
    for name in ["total (interval)", "direct (interval)", "indirect (interval)", "reload bound"] {
        grid.column(name, Side::Right);
    }
    grid.column("region", Side::Left);
    grid.column("knee behind it", Side::Left);
    for finding in results {
        let size = finding.case.working_set.size_bytes;
        let estimate = |e: &Option<analysis::Estimate>| {
            Entry::new(e.as_ref().map(with_interval).unwrap_or_default(), tone(finding))
        };
        let is_in = |r: &&analysis::Region| (r.from_bytes..=r.to_bytes).contains(&size.0);
        let knee = curve.knees.iter().find(|knee| knee.after_bytes == size.0).map(|knee| {
            let cause = knee.cause.as_deref().unwrap_or("no cache or TLB of this machine ends there");
            format!("{cause} (confidence {})", percent(knee.confidence))
        });
        grid.row(vec![
            starred(finding, &size.to_string()).into(),
            estimate(&finding.total_ns),
            estimate(&finding.direct_ns),
            estimate(&finding.indirect_ns),
            finding.reload_bound_ns.map(time).unwrap_or_default().into(),
            curve.regions.iter().find(is_in).map(|region| region.name.clone()).unwrap_or_default().into(),
            knee.unwrap_or_default().into(),
        ]);
    }
    grid
}
