//! Variants of one design: curves over the values of one field, a heat map over those of two.

use plotly::HeatMap;
use plotly::common::{ColorScale, ColorScalePalette};
use switchcost_analysis::simulation::{Axis, DesignFinding};
use switchcost_units::Bytes;

use super::series::{Point, line};
use crate::figure::{Drawing, Figure, label, layout, linear_axis, list_axis, size_axis};
use crate::quantity;
use crate::simulate::plane::{Number, Plane};
use crate::slug::slug;

/// A curve a level of its misses; the CPI is in the table.
pub(in crate::simulate) fn curves(
    base: &str,
    axis: &Axis,
    members: &[(&str, &DesignFinding)],
    numbers: &[Number],
    number: usize,
) -> Figure {
    let sizes: Option<Vec<Bytes>> = axis.values.iter().map(|value| value.parse().ok()).collect();
    let place = |place: usize| {
        sizes
            .as_ref()
            .map_or(place as f64, |sizes| sizes[place].0 as f64)
    };
    let point =
        |of: &Number, (at, (value, design)): (usize, &(&str, &DesignFinding))| -> Option<Point> {
            let height = of.of(design)?;
            Some((
                place(at),
                height,
                format!(
                    "{}: {}<br>{}",
                    label(value),
                    quantity::number(height),
                    label(&of.name())
                ),
            ))
        };
    let curves = numbers.iter().filter(|of| **of != Number::Cpi).enumerate();
    let traces = curves.map(|(number, of)| {
        line(
            number,
            &of.name(),
            members
                .iter()
                .enumerate()
                .filter_map(|member| point(of, member)),
        )
    });
    let x_axis = match &sizes {
        Some(sizes) => size_axis(
            &axis.field,
            &sizes.iter().map(|size| size.0).collect::<Vec<_>>(),
        ),
        None => list_axis(&axis.field, &axis.values),
    };
    let y_axis = linear_axis("misses per thousand instructions (simulated)");
    Figure {
        name: format!("sweep-{}", number + 1),
        title: format!("{base}: misses by {}", axis.field),
        caption: "Of the hierarchy that all processes share.".to_owned(),
        drawing: Drawing::new(traces.collect(), layout().x_axis(x_axis).y_axis(y_axis)),
        table: None,
    }
}

/// A matrix, drawn.
pub(in crate::simulate) fn heat(
    base: &str,
    plane: &Plane<'_>,
    of: &Number,
    (sweep, place): (usize, usize),
) -> Figure {
    let (rows, columns) = (&plane.rows.values, &plane.columns.values);
    let height = |row: usize, column: usize| plane.at(row, column).and_then(|design| of.of(design));
    let all = (0..rows.len()).map(|row| {
        (0..columns.len())
            .map(|column| height(row, column))
            .collect()
    });
    let heights: Vec<Vec<Option<f64>>> = all.collect();
    let hover = |row: usize, column: usize| {
        let value = heights[row][column].map_or("not simulated".to_owned(), quantity::number);
        format!(
            "{}, {}<br>{} {value}",
            label(&rows[row]),
            label(&columns[column]),
            label(&of.name())
        )
    };
    let texts = (0..rows.len()).map(|row| {
        (0..columns.len())
            .map(|column| hover(row, column))
            .collect()
    });
    let texts: Vec<Vec<String>> = texts.collect();
    let trace = HeatMap::new_z(heights)
        .hover_text_matrix(texts)
        .hover_template("%{hovertext}<extra></extra>")
        .hover_on_gaps(true)
        .color_scale(ColorScale::Palette(ColorScalePalette::Viridis));
    let layout = layout()
        .x_axis(list_axis(&plane.columns.field, columns))
        .y_axis(list_axis(&plane.rows.field, rows));
    let rest = if plane.rest.is_empty() {
        String::new()
    } else {
        format!(", {}", plane.rest)
    };
    Figure {
        name: format!("sweep-{}-{}-{}", sweep + 1, place + 1, slug(&of.name())),
        title: format!("{base}: {}{rest}", of.name()),
        caption: "Of the hierarchy that all processes share.".to_owned(),
        drawing: Drawing::new(vec![trace], layout),
        table: None,
    }
}
