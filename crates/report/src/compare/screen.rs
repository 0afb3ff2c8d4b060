//! One screen: the answer, what differs around the two sides, the costs that changed most, and on what that stands. Everything
//! else is behind `--details` and in the page.

use analysis::compare::{Change, Comparison, Cost, Outcome, Pair, Subject, Unit};
use record::Case;

use super::table::{has_several_designs, reasons};
use super::words::{design, part, quantity, tone, value, verdict};
use super::{Request, answer, environment, names};
use crate::entry::{Entry, Side, Tone};
use crate::grid::Grid;
use crate::measure::conditions;
use crate::page::Page;
use crate::simulate::amount::rounded;

/// Lines of the screen, less that of where the rest is.
const MOST_LINES: usize = 43;

/// Costs with a row.
const MOST_ROWS: usize = 20;

/// Costs beyond the limit that are named.
const MOST_NAMED: usize = 3;

/// Facts of the environment with a row.
const MOST_FACTS: usize = 4;

pub(super) fn add(page: &mut Page, comparison: &Comparison, request: &Request<'_>) {
    page.paragraph(&answer::answer(comparison));
    let facts = &comparison.environment;
    if !facts.is_empty() {
        let more = facts.len().saturating_sub(MOST_FACTS);
        let rest = if more > 0 { format!("what differs; {more} more: --details") } else { "what differs".to_owned() };
        page.heading("Environment", &rest);
        page.grid(&environment(Grid::with_one_line_a_row(1), &facts[..facts.len().min(MOST_FACTS)]));
    }
    add_costs(page, comparison, request);
    let mut notes: Vec<String> =
        request.fail_above.map(|share| answer::limit(comparison, share, MOST_NAMED)).into_iter().collect();
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

fn not_comparable(why: &str, pairs: &[&Pair]) -> String {
    let costs = if pairs.len() == 1 { "1 number".to_owned() } else { format!("{} numbers", pairs.len()) };
    format!("{costs} not comparable: {why}")
}

/// What changed, by how much first; then the others in their order.
fn add_costs(page: &mut Page, comparison: &Comparison, request: &Request<'_>) {
    let mut pairs: Vec<&Pair> =
        comparison.pairs.iter().filter(|pair| matches!(pair.outcome, Outcome::Compared { .. })).collect();
    if pairs.is_empty() {
        return;
    }
    pairs.sort_by(|a, b| b.is_main().cmp(&a.is_main()).then(b.least_change().total_cmp(&a.least_change())));
    let more = pairs.len().saturating_sub(MOST_ROWS);
    let largest = if more > 0 { "; those that changed most" } else { "" };
    let sides = format!("base is {}, new is {}{largest}", names(request.base), names(request.new));
    page.heading("Costs", &sides);
    pairs.truncate(MOST_ROWS);
    page.grid(&grid(&pairs, has_several_designs(pairs.iter().copied())));
    if more > 0 {
        page.prose(&format!("and {more} more: --details"));
    }
    if pairs.iter().any(|pair| pair.is_suspect) {
        page.prose("* suspect in one of the records: see its own report");
    }
}

fn grid(pairs: &[&Pair], has_several_designs: bool) -> Grid {
    let mut grid = Grid::with_one_line_a_row(2);
    grid.column("", Side::Left);
    grid.column("of", Side::Left);
    for name in ["base", "new", "new/base", "interval"] {
        grid.column(name, Side::Right);
    }
    grid.column("difference", Side::Left);
    let subjects = subjects(pairs, has_several_designs);
    for (pair, subject) in pairs.iter().zip(subjects) {
        let Outcome::Compared { ratio, verdict: change } = &pair.outcome else { continue };
        let star = if pair.is_suspect { " *" } else { "" };
        let side = |cost: &Option<_>| Entry::from(cost.as_ref().map(|cost| bare(cost, pair)).unwrap_or_default());
        let word = if *change == Change::NoDifferenceShown { "none shown" } else { verdict(*change, pair.quantity) };
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
fn bare(cost: &Cost, pair: &Pair) -> String {
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
fn subjects(pairs: &[&Pair], has_several_designs: bool) -> Vec<String> {
    let cases: Vec<&Case> = pairs.iter().filter_map(|pair| pair.case()).collect();
    let name = |pair: &&Pair| match &pair.subject {
        Subject::Case(case) => conditions::label_among(case, &cases),
        Subject::Simulated(place) if !has_several_designs => part(&place.part),
        Subject::Simulated(place) => format!("{}, {}", design(place), part(&place.part)),
    };
    pairs.iter().map(name).collect()
}
