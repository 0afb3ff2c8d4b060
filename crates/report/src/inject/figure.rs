use analysis::Estimate;
use analysis::injection::{Findings, FootprintFinding};
use plotly::common::{Line, Marker, Mode};
use plotly::{Scatter, Trace};

use super::tables::costs;
use crate::figure::{Drawing, Figure, colour, interval_bars, label, layout, linear_axis, list_axis};
use crate::quantity::{Scale, with_interval};

/// What a preemption costs over what the other task touches.
pub(super) fn draw(findings: &Findings) -> Option<Figure> {
    let all = |found: &FootprintFinding| found.cost_ns.clone().ok();
    let data = |found: &FootprintFinding| found.reload_ns.clone()?.ok();
    let costs_shown = findings.footprints.iter().filter_map(|found| all(found).or_else(|| data(found)));
    let scale = Scale::of(costs_shown.map(|cost| cost.high).reduce(f64::max)?);
    let (whole, part) = match findings.service {
        Some(_) => (None, curve(findings, scale, "cold caches", 0, data)),
        None => {
            (Some(curve(findings, scale, "a preemption", 0, all)), curve(findings, scale, "of it cold caches", 1, data))
        }
    };
    let traces = whole.into_iter().chain([part]).collect();
    let names: Vec<String> = findings.footprints.iter().map(|found| found.footprint_bytes.to_string()).collect();
    let layout = layout()
        .x_axis(list_axis("the other task touches", &names))
        .y_axis(linear_axis(&format!("cost in {}", scale.unit)));
    Some(Figure {
        name: "preemption".to_owned(),
        title: "What a preemption costs".to_owned(),
        caption: caption(findings).to_owned(),
        drawing: Drawing::new(traces, layout),
        table: Some(costs(findings)),
    })
}

fn caption(findings: &Findings) -> &'static str {
    if findings.service.is_some() {
        "By what the other task touches, with intervals of 90 %: what it costs more than being held up for as long."
    } else {
        "By what the other task touches, with intervals of 90 %; of it cold caches: what it costs more than with nothing touched, in the \
         same passes."
    }
}

fn curve(
    findings: &Findings,
    scale: Scale,
    name: &str,
    number: usize,
    of: impl Fn(&FootprintFinding) -> Option<Estimate>,
) -> Box<dyn Trace> {
    let (mut x, mut y, mut ends, mut hovers) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (place, found) in findings.footprints.iter().enumerate() {
        let Some(cost) = of(found) else { continue };
        x.push(place);
        y.push(scale.value(cost.estimate));
        ends.push((scale.value(cost.low), scale.value(cost.high)));
        hovers.push(format!("{}, {name}: {}", found.footprint_bytes, label(&with_interval(&cost))));
    }
    let bars = interval_bars(&y, &ends, colour(number));
    Scatter::new(x, y)
        .name(name)
        .mode(Mode::LinesMarkers)
        .error_y(bars)
        .line(Line::new().color(colour(number)).width(1.5))
        .marker(Marker::new().color(colour(number)).size(7))
        .hover_text_array(hovers)
        .hover_template("%{hovertext}<extra></extra>")
}
