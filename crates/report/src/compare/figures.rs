//! Both sides drawn beside each other. Times are drawn in seconds, so that the axes name them in ns, us and ms.

mod curves;
mod designs;
mod mechanisms;
mod series;
mod sizes;

use switchcost_analysis::compare::{Comparison, Cost, Outcome, Pair};

use super::words::{tone, verdict, with_interval};
use crate::entry::Entry;
use crate::grid::Grid;
use crate::page::Page;
use crate::quantity::{NO_NUMBER, confidence};

/// What was measured by mechanism and over size; what was simulated by design and over the instructions since a switch.
pub(super) fn add(page: &mut Page, comparison: &Comparison) {
    if !page.has_figures() {
        return;
    }
    let confidence = comparison.confidence;
    let (curves, others) = sizes::curves(&comparison.pairs);
    if !others.is_empty() {
        page.heading("Both sides by mechanism", "");
        page.figure(|| mechanisms::draw(&others, confidence));
    }
    for (number, curve) in curves.iter().enumerate() {
        page.heading("Both sides by size", &curve.name);
        page.figure(|| sizes::draw(curve, number, confidence));
    }
    designs::add(page, comparison);
    for (number, curve) in comparison.curves.iter().enumerate() {
        curves::add(page, curve, number);
    }
}

/// What all captions say of the bars.
fn about_intervals(share: f64) -> String {
    let percent = confidence(share);
    format!(
        "Bars are the intervals of each side by itself ({percent}); the verdict is that of the ratio's interval in the table."
    )
}

/// A table of pairs, each with what distinguishes it.
fn table<'a>(key: &str, rows: impl Iterator<Item = (String, &'a Pair)>) -> Grid {
    let mut grid = Grid::new(1)
        .left([key])
        .right(["base (interval)", "new (interval)", "new/base (interval)"])
        .left(["verdict"]);
    for (name, pair) in rows {
        let (ratio, outcome) = match &pair.outcome {
            Outcome::Compared {
                ratio,
                verdict: change,
            } => (
                format!("{:.3} ({:.3} to {:.3})", ratio.ratio, ratio.low, ratio.high),
                Entry::new(verdict(*change, pair.quantity), tone(*change)),
            ),
            Outcome::NotJudged { ratio, why } => (
                format!("{ratio:.3}"),
                Entry::from(format!("not judged: {why}")),
            ),
            Outcome::NotComparable { why } => (
                NO_NUMBER.to_owned(),
                Entry::from(format!("not comparable: {why}")),
            ),
        };
        let unit = pair.quantity.unit();
        let cost = |cost: &Option<Cost>| {
            Entry::from(
                cost.as_ref()
                    .map_or(NO_NUMBER.to_owned(), |cost| with_interval(cost, unit)),
            )
        };
        grid.row(vec![
            Entry::from(name),
            cost(&pair.base),
            cost(&pair.new),
            Entry::from(ratio),
            outcome,
        ]);
    }
    grid
}
