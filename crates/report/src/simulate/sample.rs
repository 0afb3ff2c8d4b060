//! Renders estimates of a trace from parts of it: a table, and the same for programs.

use schemars::JsonSchema;
use serde::Serialize;
use switchcost_analysis::simulation::{SampleFinding, SampleQuantity};
use switchcost_design::result::View;

use super::amount::{ends, perhaps};
use crate::for_programs::{self, Column, Document, OutputFormat, Table};
use crate::format::{InEveryFormat, written};
use crate::grid::Grid;
use crate::page::Page;
use crate::quantity::{count, share};
use crate::{Format, Style};

/// Maximum number of designs on one screen.
const DESIGNS: usize = 3;

const NOT_ESTIMATED: &str = "The cost of a switch is not estimated, because it needs whole time slices. For it, simulate one long part of the \
                             trace with --range.";

/// Estimates for a whole trace from parts chosen at random.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Sample {
    /// Name of the trace.
    pub source: String,
    /// Instructions in the trace.
    pub trace_instructions: u64,
    /// Number of simulated parts.
    pub parts: usize,
    /// Instructions in each part.
    pub part_instructions: u64,
    /// Instructions before each part that were simulated without being counted.
    pub warm_up_instructions: u64,
    /// Seed of the choice of parts.
    pub seed: u64,
    /// Estimates for each design.
    pub designs: Vec<SampleFinding>,
}

impl OutputFormat for &Sample {
    /// Schema name; version 1 is the first.
    const NAME: &'static str = "switchcost.simulate-sample/1";
}

/// Renders estimates from parts of a trace as text that ends in a newline.
pub fn render_sample(sample: &Sample, format: Format, style: Style) -> String {
    written(&sample, format, style)
}

impl InEveryFormat for &Sample {
    fn add_to(&self, page: &mut Page, style: Style) {
        add(
            page,
            self,
            if style.is_detailed {
                usize::MAX
            } else {
                DESIGNS
            },
        );
    }

    fn document(&self) -> impl Serialize + JsonSchema {
        Document::new(*self)
    }

    fn tables(&self) -> Vec<Table> {
        let designs = self.designs.iter();
        let rows = designs.flat_map(|design| {
            let name = design.name.as_str();
            design.quantities.iter().map(move |of| (name, of))
        });
        vec![for_programs::table(&COLUMNS, rows)]
    }
}

/// Columns of a row, which has a design's name and a quantity.
const COLUMNS: [Column; 9] = [
    ("design", "/0"),
    ("what", "/1/what"),
    ("view", "/1/view"),
    ("level", "/1/level"),
    ("total", "/1/total/estimate"),
    ("total_low", "/1/total/low"),
    ("total_high", "/1/total/high"),
    ("total_why", "/1/total/why"),
    ("per_thousand_instructions", "/1/per_thousand_instructions"),
];

/// Returns the title of a row, such as `L2 misses`.
fn title(quantity: &SampleQuantity) -> Option<String> {
    let level = quantity.level.as_deref().unwrap_or_default();
    match (quantity.what, quantity.view) {
        ("misses", Some(View::Shared)) => Some(format!("{level} misses")),
        ("cycles", Some(View::Shared)) => Some("cycles".to_owned()),
        ("cycles", Some(View::Private)) => Some("cycles with private caches".to_owned()),
        ("excess_cycles", _) => Some("additional cycles because of others".to_owned()),
        ("lost_cycles", _) => Some("lost: lines that others evicted".to_owned()),
        ("gained_cycles", _) => Some("gained: lines that others loaded".to_owned()),
        _ => None,
    }
}

fn add(page: &mut Page, sample: &Sample, most_designs: usize) {
    let simulated = sample.parts as u64 * sample.part_instructions;
    page.paragraph(&format!(
        "{}: estimates for the whole trace from {} random parts of {} instructions, which are {} of it.",
        sample.source,
        count(sample.parts as u64),
        count(sample.part_instructions),
        share(Some(
            simulated as f64 / sample.trace_instructions.max(1) as f64
        )),
    ));
    for design in sample.designs.iter().take(most_designs) {
        page.heading(
            &format!("Whole trace on {}", design.name),
            "estimates with 95 % confidence intervals",
        );
        page.grid(&quantities(design));
    }
    page.gap();
    let more = sample.designs.len().saturating_sub(most_designs);
    if more > 0 {
        page.item(&format!("{more} more designs: --details"));
    }
    page.item(NOT_ESTIMATED);
    page.method(&["parts"]);
}

fn quantities(design: &SampleFinding) -> Grid {
    let mut grid = Grid::single_line_rows(1).left([""]).right([
        "total",
        "interval",
        "+-",
        "per 1,000 instructions",
    ]);
    for quantity in &design.quantities {
        let Some(title) = title(quantity) else {
            continue;
        };
        grid.row(entries![
            title,
            perhaps(quantity.total.estimate),
            ends(&quantity.total),
            quantity.total.precision().map(|half| share(Some(half))),
            perhaps(quantity.per_thousand_instructions),
        ]);
    }
    grid
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_fields_of_findings() {
        crate::for_programs::tests::assert_known::<(String, SampleQuantity)>(
            COLUMNS.map(|(_, path)| path),
        );
    }
}
