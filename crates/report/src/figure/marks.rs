use plotly::common::DashType;
use plotly::common::{Anchor, ErrorData, ErrorType, Font};
use plotly::layout::{Annotation, Shape, ShapeLayer, ShapeLine, ShapeType};

use super::chart::Mark;
use super::drawing::GREY;
use super::label::label;

/// Colours that colour-blind readers distinguish (Okabe and Ito 2008), without their yellow and black.
pub(super) const COLOURS: [&str; 7] = [
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6BB1",
];

/// The number of what is put together because it is little, in grey.
pub(crate) const REST: usize = usize::MAX;

/// Width of a letter, as a share of the width of a figure on a small screen.
const CHARACTER: f64 = 0.013;

/// Height of a row of names, as a share of a figure's height.
const ROW: f64 = 0.055;

/// The colour of the series with this number.
pub(super) fn colour(number: usize) -> &'static str {
    if number == REST {
        GREY
    } else {
        COLOURS[number % COLOURS.len()]
    }
}

/// The intervals of values, as bars that begin at the values.
pub(super) fn interval_bars(
    values: &[f64],
    ends: &[(f64, f64)],
    colour: &'static str,
) -> ErrorData {
    let above = values
        .iter()
        .zip(ends)
        .map(|(value, (_, high))| (high - value).max(0.0))
        .collect();
    let below = values
        .iter()
        .zip(ends)
        .map(|(value, (low, _))| (value - low).max(0.0))
        .collect();
    ErrorData::new(ErrorType::Data)
        .symmetric(false)
        .array(above)
        .array_minus(below)
        .color(colour)
        .thickness(1.5)
}

/// A marked line from the bottom to the top of a figure.
pub(super) fn upright(x: f64) -> Shape {
    Shape::new()
        .shape_type(ShapeType::Line)
        .x_ref("x")
        .y_ref("paper")
        .x0(x)
        .x1(x)
        .y0(0.0)
        .y1(1.0)
        .layer(ShapeLayer::Below)
        .line(ShapeLine::new().color(GREY).width(1.0).dash(DashType::Dot))
}

/// Names of marked places in a row at the top of a figure, on lower rows if they would overlap.
pub(super) fn names_at_marks(
    marks: &[Mark],
    [first, last]: [f64; 2],
    is_log: bool,
    unit: f64,
) -> Vec<Annotation> {
    let place = |x: f64| if is_log { (x / unit).log10() } else { x / unit };
    let width = (place(last) - place(first)).max(f64::MIN_POSITIVE);
    let mut marks: Vec<&Mark> = marks.iter().collect();
    marks.sort_by(|a, b| a.at.total_cmp(&b.at));
    // Where the last name of each row ends, as a share of the figure's width.
    let mut rows: Vec<f64> = Vec::new();
    let mut notes = Vec::new();
    for mark in marks {
        let middle = (place(mark.at) - place(first)) / width;
        let half = 0.5 * CHARACTER * (mark.name.chars().count() + 2) as f64;
        let row = rows
            .iter()
            .position(|end| *end <= middle - half)
            .unwrap_or(rows.len());
        if row == rows.len() {
            rows.push(0.0);
        }
        rows[row] = middle + half;
        let note = note(&mark.name, place(mark.at), 0.99 - ROW * row as f64);
        notes.push(note.hover_text(label(&mark.cause)));
    }
    notes
}

/// A stretch of a figure's width, shaded.
pub(super) fn region(from: f64, to: f64, colour: &'static str, opacity: f64) -> Shape {
    Shape::new()
        .shape_type(ShapeType::Rect)
        .x_ref("x")
        .y_ref("paper")
        .x0(from)
        .x1(to)
        .y0(0.0)
        .y1(1.0)
        .layer(ShapeLayer::Below)
        .fill_color(colour)
        .opacity(opacity)
        .line(ShapeLine::new().width(0.0))
}

/// Words at a mark; `x` in the units of the axis (its logarithm on a logarithmic one), `y` from 0 (bottom) to 1.
pub(super) fn note(text: &str, x: f64, y: f64) -> Annotation {
    Annotation::new()
        .text(label(text))
        .x_ref("x")
        .y_ref("paper")
        .x(x)
        .y(y)
        .show_arrow(false)
        .x_anchor(Anchor::Center)
        .y_anchor(Anchor::Top)
        .font(Font::new().size(11).color(GREY))
}
