//! Shows a comparison of two sides: the environment first, then each cost with its ratio and
//! verdict.

mod answer;
mod calls;
mod csv;
mod figures;
mod functions;
pub(crate) mod history;
mod in_turns;
mod junit;
mod markdown;
mod observed;
mod pairs;
mod screen;
mod words;

use schemars::JsonSchema;
use serde::Serialize;
use switchcost_analysis::compare::{Basis, Comparison, Difference};

use crate::entry::Entry;
use crate::for_programs::{Document, OutputFormat, Table};
use crate::format::{InEveryFormat, written};
use crate::grid::Grid;
use crate::page::{Block, Page};
use crate::quantity::confidence;
use crate::{Format, Style};

pub use history::render_history;
pub use in_turns::render_in_turns;
pub use junit::junit;
pub use markdown::markdown;

impl OutputFormat for &Comparison {
    /// Schema name; version 1 is the first.
    const NAME: &'static str = "switchcost.compare/1";
}

/// Renders a comparison in one of the formats.
pub fn render(comparison: &Comparison, format: Format, style: Style) -> String {
    written(comparison, format, style)
}

impl InEveryFormat for Comparison {
    fn add_to(&self, page: &mut Page, style: Style) {
        if style.is_detailed {
            add(page, self)
        } else {
            screen::add(page, self)
        }
    }

    fn document(&self) -> impl Serialize + JsonSchema {
        Document::new(self)
    }

    fn tables(&self) -> Vec<Table> {
        vec![csv::table(self)]
    }
}

/// Returns a comparison as blocks of a page with figures.
pub(crate) fn blocks(comparison: &Comparison) -> Vec<Block> {
    let mut page = Page::with_figures();
    add(&mut page, comparison);
    page.into_blocks()
}

fn add(page: &mut Page, comparison: &Comparison) {
    page.paragraph(&answer::answer(comparison));
    if !comparison.designs.is_empty() {
        add_differences(page, "Designs", &comparison.designs);
    }
    add_environment(page, &comparison.environment);
    if !comparison.pairs.is_empty() {
        page.heading(title(comparison), &sides(comparison));
        pairs::add(page, comparison);
        calls::add(page, comparison, calls::Which::All);
        functions::add(page, comparison, usize::MAX);
    }
    add_method(page, comparison);
    if let Some(share) = comparison.fail_above {
        page.gap();
        page.prose(&answer::limit(comparison, share, usize::MAX));
    }
    figures::add(page, comparison);
}

fn title(comparison: &Comparison) -> &'static str {
    match comparison.basis {
        Basis::Runs | Basis::Injections => "Costs",
        Basis::Observations => "Before and after",
        Basis::SameTrace | Basis::SameTraces | Basis::OtherTraces | Basis::SingleTrace => {
            "Simulated costs"
        }
    }
}

fn sides(comparison: &Comparison) -> String {
    let names = |records: &[String]| match records {
        [one] => one.clone(),
        several => format!("{} records", several.len()),
    };
    format!(
        "base is {}, new is {}",
        names(&comparison.base_records),
        names(&comparison.new_records)
    )
}

fn add_differences(page: &mut Page, title: &str, differences: &[Difference]) {
    page.heading(title, "what differs");
    page.grid(&environment(Grid::new(1), differences));
}

fn add_environment(page: &mut Page, differences: &[Difference]) {
    match differences {
        [] => page.heading("Environment", "the same on both sides, as far as recorded"),
        _ => add_differences(page, "Environment", differences),
    }
}

/// Adds one row for each differing fact to an empty table.
fn environment(grid: Grid, differences: &[Difference]) -> Grid {
    let values = |values: &[String]| Entry::from(values.join(" | "));
    let row =
        |fact: &Difference| entries![words::fact(fact), values(&fact.base), values(&fact.new)];
    grid.left(["fact", "base", "new"])
        .with_rows(differences.iter().map(row))
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
        "All {} intervals together hold with {} confidence (each is widened accordingly).",
        comparison.compared,
        confidence(comparison.confidence)
    ));
    if let Some(basis) = answer::basis(comparison) {
        page.prose(&basis);
    }
}

#[cfg(test)]
mod tests;
