//! A chart of `reproduce` as a drawing.

use plotly::common::{DashType, Line, Marker, MarkerSymbol, Mode};
use plotly::{Scatter, Trace};
use switchcost_reproduce::{Axis, Chart, Series, Style};

use crate::figure::{
    Beside, Drawing, colour, interval_bars, label, layout, linear_axis, list_axis, note,
    share_axis, size_axis, time_axis, upright,
};
use crate::quantity::{number, time};

/// Nanoseconds in the unit of [`time_axis`].
const NANOS: f64 = 1e9;

pub(super) fn caption(chart: &Chart) -> String {
    let of = |style: Style| chart.series.iter().any(|series| series.style == style);
    let marks = if chart.marks.is_empty() {
        ""
    } else {
        " Dotted: marked places."
    };
    match (of(Style::Published), of(Style::Found)) {
        (true, true) => format!("Dashed with diamonds: published. Solid: found here.{marks}"),
        (false, true) => {
            format!("Found here; the paper prints this figure without numbers.{marks}")
        }
        (true, false) => "Published; nothing was found here.".to_owned(),
        (false, false) => "Nothing was found here.".to_owned(),
    }
}

/// Whether there is anything to be drawn: axes alone say nothing.
pub(super) fn has_points(chart: &Chart) -> bool {
    chart.series.iter().any(|series| !series.x.is_empty())
}

pub(super) fn draw(chart: &Chart) -> Drawing {
    let names: Vec<String> = names(chart);
    let traces = chart
        .series
        .iter()
        .map(|series| trace(chart, series, &names))
        .collect();
    let all =
        |of: fn(&Series) -> &Vec<f64>| chart.series.iter().flat_map(move |s| of(s).iter().copied());
    let axis = |kind: Axis, title: &str, values: Vec<f64>| match kind {
        Axis::Time => time_axis(title),
        Axis::Size => size_axis(
            title,
            &values.iter().map(|size| *size as u64).collect::<Vec<_>>(),
        ),
        Axis::Linear => linear_axis(title),
        Axis::Share => share_axis(title),
        Axis::Names => list_axis(title, &chart.x_names),
    };
    let base = layout()
        .x_axis(axis(chart.x_axis, &chart.x_title, all(|s| &s.x).collect()))
        .y_axis(axis(chart.y_axis, &chart.y_title, all(|s| &s.y).collect()));
    let is_log = matches!(chart.x_axis, Axis::Time | Axis::Size);
    let shapes = chart.marks.iter().map(|(x, _)| upright(*x)).collect();
    let place = |x: f64| if is_log { x.log10() } else { x };
    let notes = chart
        .marks
        .iter()
        .map(|(x, words)| note(words, place(*x), 0.98, Beside::Left))
        .collect();
    Drawing::new(traces, base.shapes(shapes).annotations(notes))
}

/// Series of one name without its last word on where it is from share a colour.
fn names(chart: &Chart) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for series in &chart.series {
        let bare = bare(&series.name);
        if !names.contains(&bare) {
            names.push(bare);
        }
    }
    names
}

fn bare(name: &str) -> String {
    name.trim_end_matches(", published").to_owned()
}

fn scaled(kind: Axis, value: f64) -> f64 {
    if kind == Axis::Time {
        value / NANOS
    } else {
        value
    }
}

pub(super) fn words(kind: Axis, value: f64) -> String {
    match kind {
        Axis::Time => time(value),
        Axis::Size => switchcost_units::Bytes(value as u64).to_string(),
        Axis::Share => format!("{} %", number(value * 100.0)),
        Axis::Linear => number(value),
        Axis::Names => String::new(),
    }
}

fn trace(chart: &Chart, series: &Series, names: &[String]) -> Box<dyn Trace> {
    let hue = colour(
        names
            .iter()
            .position(|name| *name == bare(&series.name))
            .unwrap_or(0),
    );
    let x: Vec<f64> = series.x.iter().map(|x| scaled(chart.x_axis, *x)).collect();
    let y: Vec<f64> = series.y.iter().map(|y| scaled(chart.y_axis, *y)).collect();
    let hover = series.x.iter().zip(&series.y).map(|(x, y)| {
        format!(
            "{}: {}<br>{}",
            label(&series.name),
            words(chart.y_axis, *y),
            words(chart.x_axis, *x)
        )
    });
    let is_published = series.style == Style::Published;
    let mode = if x.len() < 40 || is_published {
        Mode::LinesMarkers
    } else {
        Mode::Lines
    };
    let line = Line::new()
        .color(hue)
        .width(if is_published { 1.0 } else { 2.0 });
    let line = if is_published {
        line.dash(DashType::Dash)
    } else {
        line
    };
    let symbol = if is_published {
        MarkerSymbol::DiamondOpen
    } else {
        MarkerSymbol::Circle
    };
    let mut scatter = Scatter::new(x, y.clone())
        .name(label(&series.name))
        .mode(mode)
        .line(line)
        .marker(Marker::new().color(hue).symbol(symbol))
        .hover_text_array(hover.collect())
        .hover_template("%{hovertext}<extra></extra>");
    if series.intervals.len() == y.len() && !y.is_empty() {
        let ends: Vec<(f64, f64)> = series
            .intervals
            .iter()
            .map(|(a, b)| (scaled(chart.y_axis, *a), scaled(chart.y_axis, *b)))
            .collect();
        scatter = scatter.error_y(interval_bars(&y, &ends, hue));
    }
    scatter
}
