//! One screen: the answer, what differs around the two sides, the costs that changed most, and on what that stands. Everything
//! else is behind `--details` and in the page.

use analysis::compare::{Comparison, Difference, Outcome, Pair, Subject, Unit};
use record::Case;

use super::table::reasons;
use super::words::{design, in_percent, part, quantity, tone, value, verdict};
use super::{Request, answer, names};
use crate::entry::{Entry, Side, Tone};
use crate::grid::Grid;
use crate::measure::conditions;
use crate::page::Page;
use crate::simulate::amount::rounded;

/// Lines of the screen, less that of where the rest is.
const MOST_LINES: usize = 43;

/// Costs with a row.
const MOST_ROWS: usize = 20;

/// Facts of the environment with a row.
const MOST_FACTS: usize = 4;

pub(super) fn add(page: &mut Page, comparison: &Comparison, request: &Request<'_>) {
    page.paragraph(&answer::answer(comparison));
    add_environment(page, &comparison.environment);
    add_costs(page, comparison, request);
    let mut notes: Vec<String> = request.fail_above.map(|share| limit(comparison, share)).into_iter().collect();
    if comparison.compared > 0 {
        notes.extend(answer::basis(comparison));
        let percent = comparison.confidence * 100.0;
        notes.push(format!("All intervals ({}) together hold with {percent:.0} % confidence.", comparison.compared));
    }
    notes.extend(reasons(&comparison.pairs).into_iter().map(|(why, pairs)| not_comparable(why, &pairs)));
    if !notes.is_empty() {
        page.gap();
    }
    page.items_up_to(MOST_LINES, &notes);
    page.gap();
    page.line("all of it: --details; figures: -o page.html", Tone::Usual);
}

fn limit(comparison: &Comparison, share: f64) -> String {
    let over = comparison.slower_by_more_than(share).count();
    let percent = in_percent(share);
    match over {
        0 => format!("--fail-above: no cost is shown to be slower, with a ratio above the limit of {percent}."),
        1 => format!("--fail-above: 1 cost has grown by more than {percent}."),
        over => format!("--fail-above: {over} costs have grown by more than {percent}."),
    }
}

fn not_comparable(why: &str, pairs: &[&Pair]) -> String {
    let costs = if pairs.len() == 1 { "1 number".to_owned() } else { format!("{} numbers", pairs.len()) };
    format!("{costs} not comparable: {why}")
}

fn add_environment(page: &mut Page, differences: &[Difference]) {
    if differences.is_empty() {
        return;
    }
    let more = differences.len().saturating_sub(MOST_FACTS);
    let rest = if more > 0 { format!("what differs; {more} more: --details") } else { "what differs".to_owned() };
    page.heading("Environment", &rest);
    let mut grid = Grid::with_one_line_a_row(1);
    for name in ["", "base", "new"] {
        grid.column(name, Side::Left);
    }
    for difference in differences.iter().take(MOST_FACTS) {
        let values = |values: &[String]| Entry::from(values.join(" | "));
        grid.row(vec![Entry::from(&difference.what), values(&difference.base), values(&difference.new)]);
    }
    page.grid(&grid);
}

/// What changed, by how much first; then the others in their order.
fn add_costs(page: &mut Page, comparison: &Comparison, request: &Request<'_>) {
    let mut pairs: Vec<&Pair> =
        comparison.pairs.iter().filter(|pair| matches!(pair.outcome, Outcome::Compared { .. })).collect();
    if pairs.is_empty() {
        return;
    }
    pairs.sort_by(|a, b| b.is_main().cmp(&a.is_main()).then(moved(b).total_cmp(&moved(a))));
    let more = pairs.len().saturating_sub(MOST_ROWS);
    let largest = if more > 0 { "; those that changed most" } else { "" };
    let sides = format!("base is {}, new is {}{largest}", names(request.base), names(request.new));
    page.heading("Costs", &sides);
    pairs.truncate(MOST_ROWS);
    page.grid(&grid(&pairs));
    if more > 0 {
        page.prose(&format!("and {more} more: --details"));
    }
    if pairs.iter().any(|pair| pair.is_suspect) {
        page.prose("* suspect in one of the records: see its own report");
    }
}

/// How far it moved for sure: nothing where the interval covers 1.
fn moved(pair: &Pair) -> f64 {
    let Outcome::Compared { ratio, .. } = &pair.outcome else { return 0.0 };
    let nearest = if ratio.low > 1.0 { ratio.low } else { ratio.high.min(1.0) };
    nearest.ln().abs()
}

fn grid(pairs: &[&Pair]) -> Grid {
    let mut grid = Grid::with_one_line_a_row(2);
    grid.column("", Side::Left);
    grid.column("of", Side::Left);
    for name in ["base", "new", "new/base", "interval"] {
        grid.column(name, Side::Right);
    }
    grid.column("difference", Side::Left);
    let subjects = subjects(pairs);
    for (pair, subject) in pairs.iter().zip(subjects) {
        let Outcome::Compared { ratio, verdict: change } = &pair.outcome else { continue };
        let star = if pair.is_suspect { " *" } else { "" };
        let side = |cost: &Option<_>| Entry::from(cost.as_ref().map(|cost| bare(cost, pair)).unwrap_or_default());
        let word = if moved(pair) == 0.0 { "none shown" } else { verdict(*change, pair.quantity) };
        grid.row(vec![
            format!("{subject}{star}").into(),
            unit_of(pair).into(),
            side(&pair.base),
            side(&pair.new),
            format!("{:.3}", ratio.ratio).into(),
            format!("{:.3} to {:.3}", ratio.low, ratio.high).into(),
            Entry::new(word, tone(*change)),
        ]);
    }
    grid
}

/// A number without a unit that stands beside it.
fn bare(cost: &analysis::compare::Cost, pair: &Pair) -> String {
    match pair.quantity.unit() {
        Unit::Cycles => rounded(cost.value),
        unit => value(cost, unit),
    }
}

/// The quantity, with its unit where the numbers have none.
fn unit_of(pair: &Pair) -> String {
    match pair.quantity.unit() {
        Unit::Cycles => "cycles".to_owned(),
        Unit::PerInstruction => "MPKI".to_owned(),
        Unit::Ns | Unit::Share => quantity(pair.quantity).to_owned(),
    }
}

/// What each pair is about, in the words that tell it from the others.
fn subjects(pairs: &[&Pair]) -> Vec<String> {
    let cases: Vec<&Case> = pairs.iter().filter_map(|pair| pair.case()).collect();
    let designs: Vec<String> = pairs
        .iter()
        .filter_map(|pair| match &pair.subject {
            Subject::Simulated(place) => Some(design(place)),
            Subject::Case(_) => None,
        })
        .collect();
    let has_one_design = designs.iter().all(|name| Some(name) == designs.first());
    let name = |pair: &&Pair| match &pair.subject {
        Subject::Case(case) => conditions::label_among(case, &cases),
        Subject::Simulated(place) if has_one_design => part(&place.part),
        Subject::Simulated(place) => format!("{}, {}", design(place), part(&place.part)),
    };
    pairs.iter().map(name).collect()
}
