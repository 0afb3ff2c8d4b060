//! Both sides drawn beside each other. Times are drawn in seconds, so that the axes name them in ns, us and ms.

mod mechanisms;
mod series;
mod sizes;

use analysis::compare::{Comparison, Cost, Outcome, Pair};

use super::{tone, words};
use crate::entry::{Entry, Side};
use crate::grid::Grid;
use crate::page::Page;
use crate::quantity::{NO_NUMBER, Scale};

/// Nanoseconds in a second.
const NANOS: f64 = 1e9;

/// Costs over size where several sizes were measured, and all others side by side.
pub(super) fn add(page: &mut Page, comparison: &Comparison) {
    let (curves, others) = sizes::curves(&comparison.pairs);
    let confidence = comparison.confidence;
    if !others.is_empty() && page.has_figures() {
        page.heading("Both sides by mechanism", "");
        page.figure(|| mechanisms::draw(&others, confidence));
    }
    for (number, curve) in curves.iter().enumerate() {
        if page.has_figures() {
            page.heading("Both sides by size", &curve.name);
            page.figure(|| sizes::draw(curve, number, confidence));
        }
    }
}

/// What all captions say of the bars.
fn about_intervals(confidence: f64) -> String {
    format!(
        "Bars are the intervals of each side by itself ({:.0} %); the verdict is that of the ratio's interval in the table.",
        confidence * 100.0
    )
}

/// A table of pairs, each with what tells it apart.
fn table<'a>(key: &str, rows: impl Iterator<Item = (String, &'a Pair)>) -> Grid {
    let mut grid = Grid::new(1);
    grid.column(key, Side::Left);
    for name in ["base (interval)", "new (interval)", "new/base (interval)"] {
        grid.column(name, Side::Right);
    }
    grid.column("verdict", Side::Left);
    for (name, pair) in rows {
        let (ratio, verdict) = match &pair.outcome {
            Outcome::Compared { ratio, verdict } => (
                format!("{:.3} ({:.3} to {:.3})", ratio.ratio, ratio.low, ratio.high),
                Entry::new(words(*verdict), tone(*verdict)),
            ),
            Outcome::NotComparable { why } => (NO_NUMBER.to_owned(), Entry::from(format!("not comparable: {why}"))),
        };
        let cost = |cost: &Option<Cost>| Entry::from(cost.as_ref().map_or(NO_NUMBER.to_owned(), with_interval));
        grid.row(vec![Entry::from(name), cost(&pair.base), cost(&pair.new), Entry::from(ratio), verdict]);
    }
    grid
}

fn with_interval(cost: &Cost) -> String {
    let scale = Scale::of(cost.value);
    let centre = format!("{} {}", scale.number(cost.value), scale.unit);
    match cost.interval {
        Some((low, high)) => format!("{centre} ({} to {})", scale.number(low), scale.number(high)),
        None => centre,
    }
}
