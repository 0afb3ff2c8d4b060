use switchcost_analysis::compare::{Comparison, Pair, Part, Place, Quantity, Subject, Unit};

use super::series::Series;
use super::{about_intervals, table};
use crate::compare::words::{design, part_of};
use crate::figure::{Drawing, Figure, layout, list_axis, log_axis};
use crate::page::Page;

/// How far the sides of a pair stand from its place.
const ASIDE: f64 = 0.12;

/// What a simulated switch costs on both sides: of all designs together, then of each by cause and by program.
pub(super) fn add(page: &mut Page, comparison: &Comparison) {
    let drawn: Vec<(&Place, &Pair)> = comparison
        .pairs
        .iter()
        .filter_map(|pair| Some((place(pair)?, pair)))
        .collect();
    let designs: Vec<&[(&Place, &Pair)]> =
        drawn.chunk_by(|a, b| design(a.0) == design(b.0)).collect();
    let confidence = comparison.confidence;
    if designs.len() > 1 {
        let all = drawn.iter().filter(|(place, _)| place.part == Part::All);
        let named = all.map(|(place, pair)| (design(place), *pair)).collect();
        page.heading("Both sides by design", "simulated");
        page.figure(|| {
            draw(
                "designs",
                "Cost of a simulated switch by design",
                named,
                confidence,
            )
        });
    }
    for (number, pairs) in designs.iter().enumerate() {
        let Some((first, _)) = pairs.first() else {
            continue;
        };
        let named = pairs
            .iter()
            .map(|(place, pair)| (part_of(place, pair.quantity), *pair))
            .collect();
        page.heading(
            "Both sides by cause and program",
            &format!("{}, simulated", design(first)),
        );
        let title = format!("Cost of a simulated switch: {}", design(first));
        page.figure(|| draw(&format!("parts-{}", number + 1), &title, named, confidence));
    }
}

/// The place of a simulated cost of which something lies above 0.
fn place(pair: &Pair) -> Option<&Place> {
    let is_cost = matches!(
        pair.quantity,
        Quantity::AverageCost | Quantity::ExcessPerSwitch
    );
    let is_drawable = [pair.base, pair.new]
        .iter()
        .flatten()
        .any(|cost| cost.value > 0.0);
    match &pair.subject {
        Subject::Simulated(place) if is_cost && is_drawable => Some(place),
        _ => None,
    }
}

fn draw(name: &str, title: &str, pairs: Vec<(String, &Pair)>, confidence: f64) -> Option<Figure> {
    let [mut base, mut new] = Series::both(Unit::Cycles);
    for (place, (name, pair)) in pairs.iter().enumerate() {
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
    let names: Vec<&String> = pairs.iter().map(|(name, _)| name).collect();
    let x_axis = list_axis("", &names).tick_angle(-40.0);
    Some(Figure {
        name: name.to_owned(),
        title: title.to_owned(),
        caption: format!(
            "Of all switches and by cause up to the cut-off; of programs the excess to the end of each segment. What is not \
             above 0 is not drawn. {}",
            about_intervals(confidence)
        ),
        drawing: Drawing::new(
            traces,
            layout()
                .x_axis(x_axis)
                .y_axis(log_axis("simulated cycles a switch")),
        ),
        table: Some(table("number", pairs.into_iter())),
    })
}
