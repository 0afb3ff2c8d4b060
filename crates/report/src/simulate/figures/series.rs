use plotly::common::{DashType, Line, Mode};
use plotly::{Scatter, Trace};

use crate::figure::{colour, label};

/// A point of a curve: its place, its height, and what a pointer on it shows.
pub(super) type Point = (f64, f64, String);

/// A curve. Points that have no height are left out.
pub(super) fn line(
    number: usize,
    name: &str,
    points: impl Iterator<Item = Point>,
) -> Box<dyn Trace> {
    let (mut x, mut y, mut hover) = (Vec::new(), Vec::new(), Vec::new());
    for (place, height, text) in points.filter(|(_, height, _)| height.is_finite()) {
        x.push(place);
        y.push(height);
        hover.push(text);
    }
    let mode = if x.len() < 20 {
        Mode::LinesMarkers
    } else {
        Mode::Lines
    };
    let dash = if number < 7 {
        DashType::Solid
    } else {
        DashType::Dash
    };
    Scatter::new(x, y)
        .name(label(name))
        .mode(mode)
        .line(
            Line::new()
                .color(colour(number))
                .width(if number == 0 { 2.5 } else { 1.5 })
                .dash(dash),
        )
        .hover_text_array(hover)
        .hover_template("%{hovertext}<extra></extra>")
}
