use plotly::common::{Line, Marker, Mode};
use plotly::{Scatter, Trace};
use switchcost_analysis::Estimate;
use switchcost_analysis::injection::{Findings, FootprintFinding, PeriodFinding};

use super::periods;
use super::tables::costs;
use crate::figure::{
    Drawing, Figure, colour, interval_bars, label, layout, linear_axis, list_axis,
};
use crate::quantity::{Scale, time, with_interval};

/// What a preemption costs over what the other task touches.
pub(super) fn draw(findings: &Findings) -> Option<Figure> {
    let points: Vec<Point<'_>> = findings
        .footprints
        .iter()
        .map(|found| (found.footprint_bytes.to_string(), found))
        .collect();
    let drawing = curves(
        &points,
        "the other task touches",
        findings.service.is_some(),
    )?;
    Some(Figure {
        name: "preemption".to_owned(),
        title: "What a preemption costs".to_owned(),
        caption: caption(findings).to_owned(),
        drawing,
        table: Some(costs(findings)),
    })
}

/// What it costs over the period, where there are several.
pub(super) fn over_periods(findings: &Findings) -> Option<Figure> {
    let of = |period: &'_ PeriodFinding| time(period.period_ns.0 as f64);
    let mut periods: Vec<&PeriodFinding> = findings.periods.iter().collect();
    periods.sort_by_key(|period| period.period_ns);
    let points: Vec<Point<'_>> = periods
        .into_iter()
        .filter_map(|period| Some((of(period), period.headline(findings)?)))
        .collect();
    let touched = points.first()?.1.footprint_bytes;
    Some(Figure {
        name: "period".to_owned(),
        title: "What a preemption costs, over the period".to_owned(),
        caption: format!(
            "By how long the program runs until it is preempted, the other task touching {touched}, with intervals of 90 %: where the curve \
             rises, a longer turn has loaded more to lose."
        ),
        drawing: curves(&points, "preempted every", findings.service.is_some())?,
        table: Some(periods::table(findings)),
    })
}

/// A place on the axis, and what is drawn there.
type Point<'a> = (String, &'a FootprintFinding);

/// All of a preemption and what of it are cold caches; of a service these alone.
fn curves(points: &[Point<'_>], axis: &str, is_service: bool) -> Option<Drawing> {
    let all = |found: &FootprintFinding| found.cost_ns.clone();
    let data = |found: &FootprintFinding| found.reload().cloned();
    let shown = points
        .iter()
        .filter_map(|(_, found)| all(found).or_else(|| data(found)));
    let scale = Scale::of(shown.map(|cost| cost.high).reduce(f64::max)?);
    let (whole, part) = if is_service {
        (None, curve(points, scale, "cold caches", 0, data))
    } else {
        (
            Some(curve(points, scale, "a preemption", 0, all)),
            curve(points, scale, "of it cold caches", 1, data),
        )
    };
    let traces = whole.into_iter().chain([part]).collect();
    let names: Vec<String> = points.iter().map(|(name, _)| name.clone()).collect();
    let layout = layout()
        .x_axis(list_axis(axis, &names))
        .y_axis(linear_axis(&format!("cost in {}", scale.unit)));
    Some(Drawing::new(traces, layout))
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
    points: &[Point<'_>],
    scale: Scale,
    name: &str,
    number: usize,
    of: impl Fn(&FootprintFinding) -> Option<Estimate>,
) -> Box<dyn Trace> {
    let (mut x, mut y, mut ends, mut hovers) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (place, (at, found)) in points.iter().enumerate() {
        let Some(cost) = of(found) else { continue };
        x.push(place);
        y.push(scale.value(cost.estimate));
        ends.push((scale.value(cost.low), scale.value(cost.high)));
        hovers.push(format!("{at}, {name}: {}", label(&with_interval(&cost))));
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
