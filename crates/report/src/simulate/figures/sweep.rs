//! Charts of a sweep over designs: curves over the values of one field, or heat maps over the
//! values of two fields.

use switchcost_analysis::simulation::{self, DesignFinding};
use switchcost_units::Bytes;

use crate::figure::{Axis, Chart, Look, Point, Scale, Series};
use crate::quantity;
use crate::simulate::plane::{Number, Plane};
use crate::slug::slug;

const CAPTION: &str = "In the hierarchy that all processes share.";

/// Draws the misses per thousand instructions over the values of a field, with a curve for each
/// level. The CPI is in the table only.
pub(in crate::simulate) fn curves(
    base: &str,
    axis: &simulation::Axis,
    members: &[(&str, &DesignFinding)],
    numbers: &[Number],
    number: usize,
) -> Chart {
    let sizes: Option<Vec<Bytes>> = axis.values.iter().map(|value| value.parse().ok()).collect();
    let place = |at: usize| sizes.as_ref().map_or(at as f64, |sizes| sizes[at].0 as f64);
    let series = numbers.iter().filter(|of| **of != Number::Cpi).map(|of| {
        let points = members.iter().enumerate().filter_map(|(at, (_, design))| {
            let misses = of.value(design)?;
            Some(Point::new(place(at), misses, quantity::number(misses)))
        });
        Series::new(Look::Line, of.name(), points)
    });
    let x = match &sizes {
        Some(_) => Axis::new(Scale::Size, &axis.field),
        None => Axis::names(&axis.field, &axis.values),
    };
    let y = Axis::new(
        Scale::Linear,
        "misses per thousand instructions (simulated)",
    );
    Chart::new(
        format!("sweep-{}", number + 1),
        format!("{base}: misses by {}", axis.field),
        x,
        y,
    )
    .with(series)
    .caption(CAPTION)
    .hide_numbers()
}

/// Draws one number of each design as a heat map over two fields.
pub(in crate::simulate) fn heat(
    base: &str,
    plane: &Plane<'_>,
    of: &Number,
    (sweep, place): (usize, usize),
) -> Chart {
    let (rows, columns) = (&plane.rows.values, &plane.columns.values);
    let cell = |row, column| {
        let number = plane
            .finding(row, column)
            .and_then(|design| of.value(design));
        (
            number,
            number.map_or("not simulated".to_owned(), quantity::number),
        )
    };
    let cells =
        (0..rows.len()).map(|row| (0..columns.len()).map(|column| cell(row, column)).collect());
    let rest = if plane.rest.is_empty() {
        String::new()
    } else {
        format!(", {}", plane.rest)
    };
    let name = format!("sweep-{}-{}-{}", sweep + 1, place + 1, slug(&of.name()));
    let (x, y) = (
        Axis::names(&plane.columns.field, columns),
        Axis::names(&plane.rows.field, rows),
    );
    Chart::new(name, format!("{base}: {}{rest}", of.name()), x, y)
        .cells(cells.collect(), false)
        .caption(CAPTION)
        .hide_numbers()
}
