//! Converts a chart of `reproduce`.

use switchcost_reproduce::{Axis, Chart, Series, Style};

use crate::figure::{self, Look, Mark, Point, Scale};

pub(super) fn caption(chart: &Chart) -> String {
    let has = |style: Style| chart.series.iter().any(|series| series.style == style);
    let marks = if chart.marks.is_empty() {
        ""
    } else {
        " Dotted: marked places."
    };
    let bounds = if has(Style::Bounds) {
        " Crosses: upper ends of intervals that cover 0."
    } else {
        ""
    };
    match (has(Style::Published), has(Style::Found)) {
        (true, true) => {
            format!("Dashed with diamonds: published. Solid: found here.{bounds}{marks}")
        }
        (false, true) => {
            format!("Found here; the paper prints this figure without numbers.{bounds}{marks}")
        }
        (true, false) => "Published; nothing was found here.".to_owned(),
        (false, false) => "Nothing was found here.".to_owned(),
    }
}

/// Whether the chart would draw any point: axes alone have no information.
pub(super) fn has_points(chart: &Chart) -> bool {
    chart.series.iter().any(|series| !series.x.is_empty())
}

pub(super) fn draw(chart: &Chart, name: String, title: String) -> figure::Chart {
    let x = figure::Axis::new(scale(chart, chart.x_axis), &chart.x_title);
    let y = figure::Axis::new(scale(chart, chart.y_axis), &chart.y_title);
    let mut names: Vec<&str> = Vec::new();
    for series in &chart.series {
        if !names.contains(&bare(series)) {
            names.push(bare(series));
        }
    }
    let series = chart.series.iter().map(|series| {
        let hue = names.iter().position(|name| *name == bare(series));
        let points = series
            .x
            .iter()
            .zip(&series.y)
            .enumerate()
            .map(|(at, (x, y))| {
                let point = Point::new(*x, *y, scale(chart, chart.y_axis).words(*y));
                match series.intervals.get(at) {
                    Some((low, high)) => point.between(*low, *high),
                    None => point,
                }
            });
        let look = match series.style {
            Style::Published => Look::Dashed,
            Style::Found => Look::Line,
            Style::Trials => Look::Dots,
            Style::Bounds => Look::Crosses,
        };
        figure::Series::new(look, &series.name, points).coloured(hue.unwrap_or(0))
    });
    let marks = chart.marks.iter().map(|(at, words)| Mark {
        at: *at,
        name: words.clone(),
        cause: words.clone(),
    });
    figure::Chart::new(name, title, x, y)
        .with(series)
        .marked(marks)
        .caption(caption(chart))
}

/// Returns the name of a series without its last word, the source. Series with the same remaining
/// name share a colour.
fn bare(series: &Series) -> &str {
    let name = series.name.trim_end_matches(", published");
    let name = name.trim_end_matches(", at most");
    name.trim_end_matches(", trials")
}

pub(super) fn scale(chart: &Chart, axis: Axis) -> Scale {
    match axis {
        Axis::Time => Scale::Time,
        Axis::Size => Scale::Size,
        Axis::Linear => Scale::Linear,
        Axis::Share => Scale::Share,
        Axis::Names => Scale::Names(chart.x_names.clone()),
    }
}
