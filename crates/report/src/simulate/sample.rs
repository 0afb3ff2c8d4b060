//! A trace estimated from parts of it: a table, and the same for programs.

use analysis::simulation::{Cost, SampleFinding, SampleQuantity};
use schemars::JsonSchema;
use serde::Serialize;
use simulation_result::View;

use super::amount::{count, rounded, share};
use crate::entry::{Entry, Side};
use crate::for_programs;
use crate::grid::Grid;
use crate::page::Page;
use crate::plain;
use crate::{Format, Style};

/// Name and version of the JSON form.
///
/// Version 1: the first.
pub const SIMULATE_SAMPLE_SCHEMA: &str = "switchcost.simulate-sample/1";

/// What was simulated of a trace.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Sample {
    /// The trace.
    pub source: String,
    /// Instructions in it.
    pub instructions: u64,
    /// Parts that were simulated.
    pub parts: usize,
    /// Instructions in each of them.
    pub part_instructions: u64,
    /// Instructions before each that were simulated, and not counted.
    pub warm_up_instructions: u64,
    /// Seed of the choice.
    pub seed: u64,
}

/// A trace estimated from parts of it.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "SampleReport")]
pub(crate) struct SampleView<'a> {
    /// Name and version of this form.
    schema: &'static str,
    #[serde(flatten)]
    sample: &'a Sample,
    /// Null: not estimated.
    average_cost_cycles: Option<f64>,
    /// Why not.
    average_cost_why: &'static str,
    /// Each design's estimates.
    designs: &'a [SampleFinding],
}

const NO_AVERAGE: &str = "the cost of an average switch up to its cut-off needs turns from their start to their end, which parts are not; \
                          simulate the whole trace for it, or a long part of it with --only-intervals";

/// What parts say of a trace, as text that ends in a newline.
pub fn render_sample(sample: &Sample, designs: &[SampleFinding], format: Format, style: Style) -> String {
    match format {
        Format::Table => table(sample, designs, style),
        Format::Json => for_programs::json(&SampleView {
            schema: SIMULATE_SAMPLE_SCHEMA,
            sample,
            average_cost_cycles: None,
            average_cost_why: NO_AVERAGE,
            designs,
        }),
        Format::Csv => for_programs::csv(std::iter::once(names()).chain(designs.iter().flat_map(rows))),
    }
}

fn names() -> Vec<String> {
    let names = [
        "design",
        "what",
        "view",
        "level",
        "total",
        "total_low",
        "total_high",
        "total_why",
        "per_thousand_instructions",
    ];
    names.map(str::to_owned).to_vec()
}

fn rows(design: &SampleFinding) -> impl Iterator<Item = Vec<String>> {
    let perhaps = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
    design.quantities.iter().map(move |quantity| {
        let Cost { estimate, low, high, why, .. } = &quantity.total;
        vec![
            design.name.clone(),
            quantity.what.to_owned(),
            quantity.view.map(|view| view.to_string()).unwrap_or_default(),
            quantity.level.clone().unwrap_or_default(),
            perhaps(*estimate),
            perhaps(*low),
            perhaps(*high),
            why.clone().unwrap_or_default(),
            perhaps(quantity.per_thousand_instructions),
        ]
    })
}

/// What a row is called: `L2 misses`, `cycles lost to others`.
fn title(quantity: &SampleQuantity) -> Option<String> {
    let level = quantity.level.as_deref().unwrap_or_default();
    match (quantity.what, quantity.view) {
        ("misses", Some(View::Shared)) => Some(format!("{level} misses")),
        ("cycles", Some(View::Shared)) => Some("cycles".to_owned()),
        ("cycles", Some(View::Private)) => Some("cycles with caches of its own".to_owned()),
        ("excess_cycles", _) => Some("excess cycles".to_owned()),
        ("lost_cycles", _) => Some("cycles lost to others".to_owned()),
        ("gained_cycles", _) => Some("cycles gained from others".to_owned()),
        _ => None,
    }
}

fn ends(total: &Cost) -> String {
    match (total.low, total.high) {
        (Some(low), Some(high)) => format!("{} to {}", rounded(low), rounded(high)),
        _ => "no interval".to_owned(),
    }
}

/// Half of the interval, of the estimate.
fn precision(total: &Cost) -> String {
    let (Some(estimate), Some(low), Some(high)) = (total.estimate, total.low, total.high) else { return String::new() };
    if estimate == 0.0 { String::new() } else { share(Some((high - low) / 2.0 / estimate.abs())) }
}

fn table(sample: &Sample, designs: &[SampleFinding], style: Style) -> String {
    let mut page = Page::new(style);
    let simulated = sample.parts as u64 * sample.part_instructions;
    let source = plain(&sample.source);
    page.paragraph(&format!(
        "{source}, estimated from {} parts of {} instructions, chosen by chance: {} of the whole. Each is behind a warm-up of {} \
         instructions; of all before, the last use of each line was known.",
        count(sample.parts as u64),
        count(sample.part_instructions),
        share(Some(simulated as f64 / sample.instructions.max(1) as f64)),
        count(sample.warm_up_instructions),
    ));
    page.heading(
        "The whole trace, estimated",
        "95 % intervals of totals, 0.5 % for what the warm-up may leave included",
    );
    let mut grid = Grid::new(2);
    for name in ["design", "quantity"] {
        grid.column(name, Side::Left);
    }
    for name in ["total", "interval", "+-", "a thousand instructions"] {
        grid.column(name, Side::Right);
    }
    for design in designs {
        for quantity in &design.quantities {
            let Some(title) = title(quantity) else { continue };
            let cells: [Entry; 6] = [
                design.name.as_str().into(),
                title.into(),
                super::amount::perhaps(quantity.total.estimate).into(),
                ends(&quantity.total).into(),
                precision(&quantity.total).into(),
                super::amount::perhaps(quantity.per_thousand_instructions).into(),
            ];
            grid.row(cells.into());
        }
    }
    page.grid(&grid);
    page.heading("Notes", "");
    page.item(&format!("not estimated: {NO_AVERAGE}"));
    let without: Vec<&SampleQuantity> =
        designs.iter().flat_map(|design| &design.quantities).filter(|quantity| quantity.total.low.is_none()).collect();
    if let Some(why) = without.iter().find_map(|quantity| quantity.total.why.as_deref()) {
        page.item(&format!("no interval: {why}"));
    }
    page.method(&["sampling"]);
    page.finish()
}
