use switchcost_analysis::compare::{Pair, Unit};

use super::series::Series;
use super::{about_intervals, table};
use crate::compare::words::label;
use crate::figure::{Drawing, Figure, layout, list_axis, time_axis};

/// How far the sides of a pair stand from its place.
const ASIDE: f64 = 0.12;

/// Costs side by side that are no part of a curve.
pub(super) fn draw(pairs: &[&Pair], confidence: f64) -> Option<Figure> {
    let names: Vec<String> = pairs
        .iter()
        .map(|pair| format!("{} ({})", label(pair), pair.quantity.name()))
        .collect();
    let [mut base, mut new] = Series::both(Unit::Ns);
    for (place, (pair, name)) in pairs.iter().zip(&names).enumerate() {
        base.push(place as f64 - ASIDE, pair.base.as_ref(), name);
        new.push(place as f64 + ASIDE, pair.new.as_ref(), name);
    }
    let traces: Vec<_> = [base, new]
        .into_iter()
        .filter_map(|series| series.trace(false))
        .collect();
    if traces.is_empty() {
        return None;
    }
    let layout = layout()
        .x_axis(list_axis("", &names).tick_angle(-40.0))
        .y_axis(time_axis("cost"));
    Some(Figure {
        name: "mechanisms".to_owned(),
        title: "Mechanisms side by side".to_owned(),
        caption: about_intervals(confidence),
        drawing: Drawing::new(traces, layout),
        table: Some(table(
            "case",
            names.iter().cloned().zip(pairs.iter().copied()),
        )),
    })
}
