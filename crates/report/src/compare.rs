//! Shows a comparison of two sides: the answer, the facts that differ, and each cost with its ratio
//! and verdict.

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

use crate::format::written;
use crate::quantity::confidence;
use crate::{Document, Entry, Format, Grid, InEveryFormat, OutputFormat, Page, Style, Table};

pub use history::render_history;
pub use in_turns::render_in_turns;
pub use junit::junit;
pub use markdown::markdown;

impl OutputFormat for &Comparison {
    /// Name of the JSON schema, with its version.
    const NAME: &'static str = "switchcost.compare/1";
}

/// Renders a comparison in one of the formats, as text that ends in a newline.
pub fn render(comparison: &Comparison, format: Format, style: Style) -> String {
    written(comparison, format, style)
}

impl InEveryFormat for Comparison {
    fn add_to(&self, page: &mut Page) {
        if page.is_detailed() {
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

fn add(page: &mut Page, comparison: &Comparison) {
    page.paragraph(answer::answer(comparison));
    add_facts(page, "Designs", &comparison.designs);
    if comparison.environment.is_empty() {
        page.heading("Environment", "the same on both sides, as far as recorded");
    }
    add_facts(page, "Environment", &comparison.environment);
    if !comparison.pairs.is_empty() {
        page.heading(title(comparison), sides(comparison));
        pairs::add(page, comparison);
        calls::add(page, comparison, calls::Which::All);
        functions::add(page, comparison);
    }
    add_method(page, comparison);
    if let Some(share) = comparison.fail_above {
        page.gap();
        page.prose(answer::limit(comparison, share, usize::MAX));
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

/// Maximum number of differing facts in each table on one screen.
const MOST_FACTS: usize = 4;

/// Adds a table of the facts that differ between both sides. Adds nothing if no fact differs.
fn add_facts(page: &mut Page, title: &str, facts: &[Difference]) {
    let shown = facts.len().min(page.row_limit(MOST_FACTS));
    let rest = match facts.len() - shown {
        0 => "what differs".to_owned(),
        more => format!("what differs; {more} more: --details"),
    };
    let grid = if page.is_detailed() {
        Grid::new(1)
    } else {
        Grid::single_line_rows(1)
    };
    page.table(
        title,
        rest,
        environment(grid, ["base", "new"], &facts[..shown]),
    );
}

/// Adds columns for the name of a fact and for its values on both sides to an empty table, and a
/// row for each differing fact.
fn environment(grid: Grid, [base, new]: [&str; 2], differences: &[Difference]) -> Grid {
    let values = |values: &[String]| Entry::from(values.join(" | "));
    let row =
        |fact: &Difference| entries![words::fact(fact), values(&fact.base), values(&fact.new)];
    grid.left(["fact", base, new])
        .with_rows(differences.iter().map(row))
}

fn add_method(page: &mut Page, comparison: &Comparison) {
    page.method(["comparison"]);
    if let Some(pricing) = observed::pricing(comparison) {
        page.gap();
        page.prose(pricing);
    }
    if comparison.compared == 0 {
        return;
    }
    page.gap();
    page.prose(format!(
        "All {} intervals together hold with {} confidence (each is widened accordingly).",
        comparison.compared,
        confidence(comparison.confidence)
    ));
    if let Some(basis) = answer::basis(comparison) {
        page.prose(basis);
    }
}

#[cfg(test)]
mod tests;
