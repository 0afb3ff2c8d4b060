use analysis::compare::{Comparison, Pair, Quantity, Subject, Unit};

use super::series::Series;
use super::{about_intervals, table};
use crate::compare::words::label;
use crate::figure::{Drawing, Figure, layout, list_axis, log_axis};
use crate::page::Page;

/// How far the sides of a pair stand from its place.
const ASIDE: f64 = 0.12;

/// What a simulated switch costs on both sides: all of them, then by class and by program.
pub(super) fn add(page: &mut Page, comparison: &Comparison) {
    let is_drawn = |pair: &&Pair| {
        let is_cost = matches!(pair.quantity, Quantity::AverageCost | Quantity::ExcessPerSwitch);
        is_cost && matches!(pair.subject, Subject::Simulated(_)) && (pair.base.is_some() || pair.new.is_some())
    };
    let pairs: Vec<&Pair> = comparison.pairs.iter().filter(is_drawn).collect();
    if !pairs.is_empty() {
        page.heading("Both sides by design", "simulated");
        page.figure(|| draw(&pairs, comparison.confidence));
    }
}

fn draw(pairs: &[&Pair], confidence: f64) -> Option<Figure> {
    let names: Vec<String> = pairs.iter().map(|pair| label(pair)).collect();
    let [mut base, mut new] = Series::both(Unit::Cycles);
    for (place, (pair, name)) in pairs.iter().zip(&names).enumerate() {
        base.push(place as f64 - ASIDE, pair.base.as_ref(), name);
        new.push(place as f64 + ASIDE, pair.new.as_ref(), name);
    }
    let traces: Vec<_> = [base, new].into_iter().filter_map(|series| series.trace(false)).collect();
    if traces.is_empty() {
        return None;
    }
    let y_axis = log_axis("simulated cycles a switch");
    Some(Figure {
        name: "designs".to_owned(),
        title: "Cost of a simulated switch, side by side".to_owned(),
        caption: format!(
            "Of all switches and by cause up to the cut-off; of programs the excess to the end of each segment. What is not \
             above 0 is not drawn. {}",
            about_intervals(confidence)
        ),
        drawing: Drawing::new(traces, layout().x_axis(list_axis("", &names).tick_angle(-40.0)).y_axis(y_axis)),
        table: Some(table("number", names.iter().cloned().zip(pairs.iter().copied()))),
    })
}
