use switchcost_analysis::{CaseFinding, Curve, Estimate, Findings};
use switchcost_record::HostManifest;

use super::{SIZE, point, time_axis};
use crate::figure::{Axis, Chart, Look, Mark, Point, Scale, Series, Stretch};
use crate::quantity::{percent, time, with_interval};

type Part = fn(&CaseFinding) -> Option<&Estimate>;

/// The curve of the total cost over the sizes.
const WHOLE: (&str, Part) = ("total", |finding| finding.total_ns.as_ref());
const PARTS: [(&str, Part); 2] = [
    ("the switch itself running cold", |finding| {
        finding.indirect_kernel_ns.as_ref()
    }),
    ("reloading the data", |finding| {
        finding.indirect_reload_ns.as_ref()
    }),
];

/// Returns the results of a curve, each with its size in bytes.
fn results<'a>(findings: &'a Findings, curve: &Curve) -> Vec<(f64, &'a CaseFinding)> {
    let results = curve
        .points
        .iter()
        .filter_map(|point| findings.results.get(point.result));
    results
        .map(|finding| (finding.case.working_set.size_bytes.0 as f64, finding))
        .collect()
}

/// Draws the cost as a function of size, with the capacities of caches and TLBs and with the
/// detected knees and regions. Returns `None` for a curve without results.
pub(in crate::measure) fn draw(
    host: &HostManifest,
    findings: &Findings,
    curve: &Curve,
    number: usize,
) -> Option<Chart> {
    let results = results(findings, curve);
    let (first, last) = (results.first()?.0, results.last()?.0);
    let whole = results
        .iter()
        .map(|(size, f)| point(*size, f, (WHOLE.1)(f)));
    // A record without the parts of the cost gets no points for missing numbers.
    let parts = PARTS.iter().map(|(name, part)| {
        let points = results
            .iter()
            .filter_map(|(size, f)| Some(point(*size, f, Some(part(f)?))));
        Series::new(Look::Line, *name, points)
    });
    let bounds = results.iter().filter_map(|(size, finding)| {
        let bound = finding.reload_bound_ns?;
        Some(Point::new(*size, bound, time(bound)))
    });
    let capacities = switchcost_analysis::capacities(host, &results.first()?.1.case);
    let marks = capacities
        .into_iter()
        .filter(|end| (first..=last).contains(&end.size_bytes))
        .map(|end| Mark {
            at: end.size_bytes,
            name: end.label,
            cause: end.cause,
        });
    let regions = curve.regions.iter().map(|region| Stretch {
        from: region.from_bytes as f64,
        to: region.to_bytes as f64,
        name: region.name.clone(),
    });
    let knees = curve.knees.iter().map(|knee| Stretch {
        from: knee.after_bytes as f64,
        to: knee.before_bytes as f64,
        name: String::new(),
    });
    let (id, title) = (
        format!("sizes-{}", number + 1),
        format!("Cost by size: {}", curve.title),
    );
    Some(Chart::new(id, title, Axis::new(Scale::Size, SIZE), time_axis("cost of a switch"))
        .with([Series::new(Look::Line, WHOLE.0, whole)])
        .with(parts)
        .with([Series::new(Look::Dashed, "reload bound", bounds)])
        .marked(marks)
        .shaded(regions.chain(knees))
        .caption(
            "Dotted lines: the largest sizes at which a cache or TLB of this machine holds one array (L2), or the arrays of all \
             tasks (L2/2). Shading: regions between knees; orange: knees. Dashed: upper bound of the cost of reloading all lost \
             lines.",
        ))
}

/// Draws the parts of the total cost by size as stacked areas, each as a share of the total.
/// Heights in time would be misleading, because the scale of sizes is logarithmic. Returns `None`
/// if fewer than two sizes have parts.
pub(in crate::measure) fn parts(
    findings: &Findings,
    curve: &Curve,
    number: usize,
) -> Option<Chart> {
    let results: Vec<(f64, &CaseFinding, [f64; 3])> = results(findings, curve)
        .into_iter()
        .filter_map(|(size, finding)| Some((size, finding, finding.shares_of_parts()?)))
        .collect();
    let direct: (&str, Part) = ("direct", |finding| finding.direct_ns.as_ref());
    let areas = [direct]
        .into_iter()
        .chain(PARTS)
        .enumerate()
        .map(|(place, (name, part))| {
            let points = results.iter().map(|(size, finding, shares)| {
                let cost = part(finding).map(with_interval).unwrap_or_default();
                let text = format!("{}: {cost}", percent(shares[place]));
                Point::new(*size, shares[place], text)
            });
            Series::new(Look::Area, name, points)
        });
    let (id, title) = (
        format!("parts-{}", number + 1),
        format!("Parts of the cost by size: {}", curve.title),
    );
    let (x, y) = (
        Axis::new(Scale::Size, SIZE),
        Axis::new(Scale::Share, "of the total cost"),
    );
    let chart = Chart::new(id, title, x, y).with(areas).caption(
        "Parts of the total cost: the direct cost; the extra time of the switch, because walks evicted the kernel's lines; and \
         the extra time of the walk after the switch. Parts below 0 (noise) are drawn as 0. Sizes whose total cost is not \
         distinguishable from 0 are left out.",
    );
    (results.len() >= 2).then_some(chart)
}
