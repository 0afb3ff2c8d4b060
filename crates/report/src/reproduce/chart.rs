//! Converts a chart of crate `reproduce` into a chart of this crate.

use switchcost_reproduce::{Axis, Chart, Series, Style};

use crate::figure::{self, Look, Mark, Point, REST, Scale};

pub(super) fn caption(chart: &Chart) -> String {
    let has = |style: Style| chart.series.iter().any(|series| series.style == style);
    let marks = if chart.marks.is_empty() {
        ""
    } else {
        " Dotted: marked places."
    };
    match (has(Style::Published), has(Style::Found)) {
        (true, true) => {
            format!("Dashed with diamonds: published. Solid: found here.{marks}")
        }
        (false, true) => {
            format!("Found here; the paper prints this figure without numbers.{marks}")
        }
        (true, false) => "Published; nothing was found here.".to_owned(),
        (false, false) => "Nothing was found here.".to_owned(),
    }
}

/// Returns true if the chart has any point to draw.
pub(super) fn has_points(chart: &Chart) -> bool {
    chart.series.iter().any(|series| !series.x.is_empty())
}

pub(super) fn draw(chart: &Chart, name: String, title: String) -> figure::Chart {
    let x = figure::Axis::new(scale(chart, chart.x_axis), &chart.x_title);
    let y = figure::Axis::new(scale(chart, chart.y_axis), &chart.y_title);
    let curves = curves(chart);
    let series = chart
        .series
        .iter()
        .filter(|series| series.style != Style::Bounds || !curves.contains(&bare(series)))
        .map(|series| draw_series(chart, series, &curves));
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

/// Returns the names of the curves measured or simulated here, in the order of their colours.
fn curves(chart: &Chart) -> Vec<&str> {
    let found = chart
        .series
        .iter()
        .filter(|series| series.style == Style::Found);
    found.map(bare).collect()
}

/// Converts a series. The published values, trials and upper limits of a curve get the colour of
/// that curve.
fn draw_series(chart: &Chart, series: &Series, curves: &[&str]) -> figure::Series {
    let look = match series.style {
        Style::Published => Look::Dashed,
        Style::Found => Look::Line,
        Style::Trials | Style::Bounds => Look::Dots,
    };
    let mut points = points(chart, series);
    if series.style == Style::Found {
        let own = |other: &&Series| other.style == Style::Bounds && bare(other) == bare(series);
        points.extend(
            chart
                .series
                .iter()
                .filter(own)
                .flat_map(|one| self::points(chart, one)),
        );
        points.sort_by(|one, other| one.place().total_cmp(&other.place()));
    }
    let curve = curves.iter().position(|name| *name == bare(series));
    let drawn = figure::Series::new(look, &series.name, points).coloured(curve.unwrap_or(REST));
    match (curve, series.style) {
        (Some(_), Style::Published) => drawn.listed_as("published"),
        (Some(_), Style::Trials) => drawn.listed_as("single trials"),
        _ => drawn,
    }
}

fn points(chart: &Chart, series: &Series) -> Vec<Point> {
    let scale = scale(chart, chart.y_axis);
    let pairs = series.x.iter().zip(&series.y).enumerate();
    let point = |(at, (x, y)): (usize, (&f64, &f64))| {
        let words = scale.words(*y);
        if series.style == Style::Bounds {
            return Point::upper_limit(*x, *y, format!("at most {words}"));
        }
        let point = Point::new(*x, *y, words);
        match series.intervals.get(at) {
            Some((low, high)) => point.between(*low, *high),
            None => point,
        }
    };
    pairs.map(point).collect()
}

/// Returns the name of the curve that a series belongs to.
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
