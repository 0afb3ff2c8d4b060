//! Two sides beside each other: the environment first, then each cost with its ratio and verdict.

mod answer;
mod csv;
mod figures;
pub(crate) mod json;
mod observed;
mod screen;
mod table;
mod words;

use switchcost_analysis::compare::{Basis, Comparison, Difference};

use crate::entry::{Entry, Side};
use crate::grid::Grid;
use crate::page::{Block, Page};
use crate::quantity::confidence;
use crate::{Format, Style};

/// The name of the JSON's form, with its version.
pub const COMPARE_SCHEMA: &str = "switchcost.compare/1";

/// What the caller asked for and where the sides are from.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Names of the base's records.
    pub base: &'a [String],
    /// Names of the new ones.
    pub new: &'a [String],
    /// The share by which a cost may grow; none where nothing is forbidden.
    pub fail_above: Option<f64>,
}

/// Writes a comparison.
pub fn render(comparison: &Comparison, request: &Request<'_>, format: Format, style: Style) -> String {
    match format {
        Format::Table => text(comparison, request, style),
        Format::Json => json::render(comparison, request),
        Format::Csv => csv::render(comparison),
    }
}

fn text(comparison: &Comparison, request: &Request<'_>, style: Style) -> String {
    let mut page = Page::new(style);
    if style.is_detailed {
        add(&mut page, comparison, request)
    } else {
        screen::add(&mut page, comparison, request)
    }
    page.finish()
}

/// A comparison for a reader of figures.
pub(crate) fn blocks(comparison: &Comparison, request: &Request<'_>) -> Vec<Block> {
    let mut page = Page::with_figures();
    add(&mut page, comparison, request);
    page.into_blocks()
}

fn add(page: &mut Page, comparison: &Comparison, request: &Request<'_>) {
    page.paragraph(&answer::answer(comparison));
    add_environment(page, &comparison.environment);
    if !comparison.pairs.is_empty() {
        page.heading(title(comparison), &format!("base is {}, new is {}", names(request.base), names(request.new)));
        table::add(page, comparison, request);
    }
    add_method(page, comparison);
    if let Some(share) = request.fail_above {
        page.gap();
        page.prose(&answer::limit(comparison, share, usize::MAX));
    }
    figures::add(page, comparison);
}

fn title(comparison: &Comparison) -> &'static str {
    match comparison.basis {
        Basis::Runs | Basis::Injections => "Costs",
        Basis::Observations => "Before and after",
        Basis::SameTrace | Basis::SameTraces | Basis::OtherTraces | Basis::SingleTrace => "Simulated costs",
    }
}

fn names(records: &[String]) -> String {
    match records {
        [one] => one.clone(),
        several => format!("{} records", several.len()),
    }
}

fn add_environment(page: &mut Page, differences: &[Difference]) {
    if differences.is_empty() {
        page.heading("Environment", "the same on both sides, as far as recorded");
        return;
    }
    page.heading("Environment", "what is not the same on both sides");
    page.grid(&environment(Grid::new(1), differences));
}

/// Facts that differ, a row each, in an empty table.
fn environment(mut grid: Grid, differences: &[Difference]) -> Grid {
    for name in ["fact", "base", "new"] {
        grid.column(name, Side::Left);
    }
    for difference in differences {
        let values = |values: &[String]| Entry::from(values.join(" | "));
        grid.row(vec![Entry::from(&difference.what), values(&difference.base), values(&difference.new)]);
    }
    grid
}

fn add_method(page: &mut Page, comparison: &Comparison) {
    page.method(&["comparison"]);
    if let Some(pricing) = observed::pricing(comparison) {
        page.gap();
        page.prose(pricing);
    }
    if comparison.compared == 0 {
        return;
    }
    page.gap();
    page.prose(&format!(
        "All {} intervals together hold with {} confidence: each is as much wider as that takes.",
        comparison.compared,
        confidence(comparison.confidence)
    ));
    if let Some(basis) = answer::basis(comparison) {
        page.prose(&basis);
    }
}

#[cfg(test)]
mod tests;
