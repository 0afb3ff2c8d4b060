//! Two sides beside each other: the environment first, then each cost with its ratio and verdict.

mod csv;
mod figures;
mod json;

use analysis::compare::{Change, Comparison, Cost, Difference, Outcome, Pair};

use crate::entry::{Entry, Side, Tone};
use crate::grid::Grid;
use crate::measure::conditions::label;
use crate::page::{Block, Page};
use crate::quantity::{NO_NUMBER, time};
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
        Format::Table => table(comparison, request, style),
        Format::Json => json::render(comparison, request),
        Format::Csv => csv::render(comparison),
    }
}

fn table(comparison: &Comparison, request: &Request<'_>, style: Style) -> String {
    let mut page = Page::new(style);
    add(&mut page, comparison, request);
    page.finish()
}

/// A comparison for a reader of figures.
pub(crate) fn blocks(comparison: &Comparison, request: &Request<'_>) -> Vec<Block> {
    let mut page = Page::with_figures();
    add(&mut page, comparison, request);
    page.into_blocks()
}

fn add(page: &mut Page, comparison: &Comparison, request: &Request<'_>) {
    page.paragraph(&answer(comparison));
    add_environment(page, &comparison.environment);
    if !comparison.pairs.is_empty() {
        page.heading("Costs", &format!("base is {}, new is {}", names(request.base), names(request.new)));
        page.grid(&grid(&comparison.pairs));
        if comparison.pairs.iter().any(|pair| pair.is_suspect) {
            page.prose("* suspect in one of the records: see its own report");
        }
    }
    add_method(page, comparison);
    if let Some(share) = request.fail_above {
        page.gap();
        page.prose(&limit(comparison, share));
    }
    figures::add(page, comparison);
}

fn names(records: &[String]) -> String {
    match records {
        [one] => one.clone(),
        several => format!("{} records", several.len()),
    }
}

fn count(comparison: &Comparison, change: Change) -> usize {
    let is = |pair: &&Pair| matches!(pair.outcome, Outcome::Compared { verdict, .. } if verdict == change);
    comparison.pairs.iter().filter(is).count()
}

/// The answer in a sentence or two.
fn answer(comparison: &Comparison) -> String {
    let (slower, faster) = (count(comparison, Change::Slower), count(comparison, Change::Faster));
    let costs = |number: usize| if number == 1 { "1 cost".to_owned() } else { format!("{number} costs") };
    let of = costs(comparison.compared);
    let shown = match (slower, faster) {
        _ if comparison.compared == 0 => "Nothing could be compared; the table says why.".to_owned(),
        (0, 0) => format!("No difference was shown in {of}: that is not to say that there is none, see the intervals."),
        (slower, 0) => format!("New is slower in {slower} of {of}; no difference was shown in the others."),
        (0, faster) => format!("New is faster in {faster} of {of}; no difference was shown in the others."),
        (slower, faster) => format!("New is slower in {slower} and faster in {faster} of {of}."),
    };
    let facts = comparison.environment.len();
    match facts {
        0 => shown,
        1 => format!("{shown} One fact of the environment differs, too: it may be the cause."),
        _ => format!("{shown} {facts} facts of the environment differ, too: they may be the cause."),
    }
}

fn add_environment(page: &mut Page, differences: &[Difference]) {
    if differences.is_empty() {
        page.heading("Environment", "the same on both sides, as far as the records tell");
        return;
    }
    page.heading("Environment", "what is not the same on both sides");
    let mut grid = Grid::new(1);
    for name in ["fact", "base", "new"] {
        grid.column(name, Side::Left);
    }
    for difference in differences {
        let values = |values: &[String]| Entry::from(values.join(" | "));
        grid.row(vec![Entry::from(&difference.what), values(&difference.base), values(&difference.new)]);
    }
    page.grid(&grid);
}

fn grid(pairs: &[Pair]) -> Grid {
    let mut grid = Grid::new(2);
    grid.column("case", Side::Left);
    grid.column("cost", Side::Left);
    for name in ["base", "new", "new/base", "interval"] {
        grid.column(name, Side::Right);
    }
    grid.column("verdict", Side::Left);
    for pair in pairs {
        grid.row(row(pair));
    }
    grid
}

fn row(pair: &Pair) -> Vec<Entry> {
    let star = if pair.is_suspect { " *" } else { "" };
    let cost = |cost: &Option<Cost>| Entry::from(cost.map_or(NO_NUMBER.to_owned(), |cost| time(cost.value)));
    let mut row = vec![
        Entry::from(format!("{}{star}", label(&pair.case))),
        Entry::from(pair.quantity.name()),
        cost(&pair.base),
        cost(&pair.new),
    ];
    match &pair.outcome {
        Outcome::Compared { ratio, verdict } => {
            row.push(Entry::from(format!("{:.3}", ratio.ratio)));
            row.push(Entry::from(format!("{:.3} to {:.3}", ratio.low, ratio.high)));
            row.push(Entry::new(words(*verdict), tone(*verdict)));
        }
        Outcome::NotComparable { why } => {
            row.extend([Entry::from(NO_NUMBER), Entry::from(NO_NUMBER)]);
            row.push(Entry::new(format!("not comparable: {why}"), Tone::Suspect));
        }
    }
    row
}

fn words(change: Change) -> &'static str {
    match change {
        Change::Faster => "faster",
        Change::Slower => "slower",
        Change::NoDifferenceShown => "no difference shown",
    }
}

fn tone(change: Change) -> Tone {
    match change {
        Change::Faster => Tone::Good,
        Change::Slower => Tone::Bad,
        Change::NoDifferenceShown => Tone::Usual,
    }
}

fn add_method(page: &mut Page, comparison: &Comparison) {
    page.method(&["comparison"]);
    if comparison.compared == 0 {
        return;
    }
    page.gap();
    let percent = comparison.confidence * 100.0;
    page.prose(&format!(
        "All {} intervals together hold with {percent:.0} % confidence: each is as much wider as that takes.",
        comparison.compared
    ));
    if let Some(spread) = comparison.assumed_run_spread {
        page.prose(&format!(
            "A side with one record cannot show how much runs differ: {} (standard deviation) is assumed. Give several \
             records of each side to measure it.",
            in_percent(spread)
        ));
    }
}

fn limit(comparison: &Comparison, share: f64) -> String {
    let over: Vec<String> = comparison
        .slower_by_more_than(share)
        .map(|pair| format!("{} ({})", label(&pair.case), pair.quantity.name()))
        .collect();
    let percent = in_percent(share);
    if over.is_empty() {
        format!("No cost is shown to have grown and by more than {percent}.")
    } else {
        format!("Grown by more than {percent}: {}.", over.join("; "))
    }
}

/// A share that the user has given, as it was given: without the dust of binary fractions.
fn in_percent(share: f64) -> String {
    const DUST: f64 = 1e9;
    format!("{} %", (share * 100.0 * DUST).round() / DUST)
}

#[cfg(test)]
mod tests;
