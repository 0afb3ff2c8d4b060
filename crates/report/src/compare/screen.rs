//! Renders a comparison on one screen: the answer, other differences between the sides, the costs
//! with the largest change, and the source of their intervals.

use std::cmp::Ordering;

use switchcost_analysis::compare::{Basis, Comparison, Outcome, Pair, Part, Quantity, Subject};

use super::calls::Which;
use super::functions::MOST_FUNCTIONS;
use super::pairs::{grid, reasons, suspects, unshared_designs};
use super::words::design;
use super::{add_facts, answer, calls, functions, observed, sides, title};
use crate::Page;

/// Maximum number of lines on the screen, without the last line, which refers to `--details`.
const MOST_LINES: usize = 43;

/// Maximum number of costs in the table on the screen.
const MOST_ROWS: usize = 20;

/// Maximum number of costs beyond the limit of `--fail-above` that are named on the screen.
const MOST_NAMED: usize = 3;

/// Maximum number of reasons for missing verdicts on the screen.
const MOST_REASONS: usize = 3;

/// Least change of a ratio that is shown in the table.
const SMALLEST_CHANGE: f64 = 0.0005;

pub(super) fn add(page: &mut Page, comparison: &Comparison) {
    add_with(page, comparison, Which::Changed, &[]);
    page.gap();
    page.line("full report: --details; figures: -o page.html");
}

/// Adds the whole screen and the `further` notes, without the line that refers to `--details`.
pub(super) fn add_with(page: &mut Page, comparison: &Comparison, calls: Which, further: &[String]) {
    page.paragraph(answer::answer(comparison));
    add_facts(page, "Designs", &comparison.designs);
    if !answer::names_all(&comparison.environment) {
        add_facts(page, "Environment", &comparison.environment);
    }
    add_costs(page, comparison);
    calls::add(page, comparison, calls);
    functions::add(page, comparison);
    let mut notes: Vec<String> = comparison
        .fail_above
        .map(|share| answer::limit(comparison, share, MOST_NAMED))
        .into_iter()
        .collect();
    if comparison.compared > 0 {
        notes.extend(answer::basis(comparison));
        notes.push(answer::intervals_hold(comparison));
    }
    notes.extend(observed::pricing(comparison).map(str::to_owned));
    notes.extend(missing_verdicts(comparison));
    notes.extend(further.iter().cloned());
    if !notes.is_empty() {
        page.gap();
    }
    page.items_up_to(MOST_LINES, &notes);
}

/// Returns sentences on the numbers without a verdict, with the reasons.
fn missing_verdicts(comparison: &Comparison) -> Vec<String> {
    // The answer already gives this reason.
    if unshared_designs(comparison).is_some() {
        return Vec::new();
    }
    let reasons = reasons(&comparison.pairs);
    let is_simulated = |pair: &&Pair| matches!(pair.subject, Subject::Simulated(_));
    if reasons
        .iter()
        .any(|(_, pairs)| pairs.iter().any(is_simulated))
    {
        return vec![missing_of_simulation(&reasons)];
    }
    let (named, others) = reasons.split_at(reasons.len().min(MOST_REASONS));
    let mut notes: Vec<String> = named
        .iter()
        .map(|(why, pairs)| format!("{} {}: {why}.", numbers(pairs.len()), verdict(pairs)))
        .collect();
    let more: usize = others.iter().map(|(_, pairs)| pairs.len()).sum();
    if more > 0 {
        notes.push(format!("{} without a verdict: --details.", numbers(more)));
    }
    notes
}

/// Returns a sentence on the numbers of a simulation without a verdict, with the reason why the
/// cost of a switch has no verdict.
fn missing_of_simulation(reasons: &[(&str, Vec<&Pair>)]) -> String {
    let all: usize = reasons.iter().map(|(_, pairs)| pairs.len()).sum();
    let mut designs: Vec<String> = Vec::new();
    let mut why_not = None;
    for (why, pairs) in reasons {
        for pair in pairs
            .iter()
            .filter(|pair| pair.quantity == Quantity::AverageCost)
        {
            let Subject::Simulated(place) = &pair.subject else {
                continue;
            };
            if place.part == Part::All && *why_not.get_or_insert(*why) == *why {
                designs.push(design(place));
            }
        }
    }
    let more = designs.len().saturating_sub(MOST_NAMED);
    designs.truncate(MOST_NAMED);
    if more > 0 {
        designs.push(format!("{more} more"));
    }
    let of_cost = why_not.map(|why| {
        format!(
            " The cost of a switch has no verdict on {}: {why}.",
            designs.join(", ")
        )
    });
    let numbers = match all {
        1 => "1 number has".to_owned(),
        more => format!("{more} other numbers have"),
    };
    format!(
        "{numbers} no verdict (--details).{}",
        of_cost.unwrap_or_default()
    )
}

fn numbers(number: usize) -> String {
    match number {
        1 => "1 number".to_owned(),
        more => format!("{more} numbers"),
    }
}

/// Returns the predicate of a sentence on pairs without a verdict.
fn verdict(pairs: &[&Pair]) -> &'static str {
    let has_no_ratio = pairs.iter().all(|pair| pair.ratio().is_none());
    match (has_no_ratio, pairs.len()) {
        (true, 1) => "is not compared",
        (true, _) => "are not compared",
        (false, 1) => "has no verdict",
        (false, _) => "have no verdict",
    }
}

/// Returns true if a row of a simulation has no verdict and repeats other rows: its ratio equals
/// the ratio of the CPI, or is 1.
fn is_repetition(pair: &Pair) -> bool {
    let (Subject::Simulated(place), Outcome::NotJudged { ratio, .. }) =
        (&pair.subject, &pair.outcome)
    else {
        return false;
    };
    match pair.quantity {
        Quantity::AverageCost | Quantity::CyclesPerInstruction => false,
        Quantity::Cycles => true,
        // Two designs may have different clock rates.
        Quantity::Time => place.base_design == place.new_design,
        _ => (ratio - 1.0).abs() < SMALLEST_CHANGE,
    }
}

/// Adds the rows of the costs: main numbers first ([`Pair::is_main`]), then by decreasing change.
fn add_costs(page: &mut Page, comparison: &Comparison) {
    let is_observed = comparison.basis == Basis::Observations;
    let mut pairs: Vec<&Pair> = comparison
        .pairs
        .iter()
        .filter(|pair| pair.ratio().is_some() || is_observed)
        .collect();
    pairs.retain(|pair| !pair.is_of_a_function() && !is_repetition(pair));
    if pairs.is_empty() {
        return;
    }
    pairs.sort_by(|a, b| {
        b.is_main()
            .cmp(&a.is_main())
            .then_with(|| order_by_change(a, b))
    });
    let has_functions = comparison.pairs.iter().any(Pair::is_of_a_function);
    let rows = if has_functions {
        MOST_ROWS - MOST_FUNCTIONS - 4
    } else {
        MOST_ROWS
    };
    let all = pairs.len();
    let largest = if all > rows {
        "; those that changed most"
    } else {
        ""
    };
    page.heading(title(comparison), format!("{}{largest}", sides(comparison)));
    pairs.truncate(rows);
    page.grid(grid(&pairs, true));
    page.more(all, rows);
    if let Some(whose) = suspects(comparison) {
        page.prose(whose);
    }
}

/// Orders pairs by the least change that their interval allows, then by the measured change.
/// Numbers of all observed tasks together, or of a whole simulation, keep their order.
fn order_by_change(a: &Pair, b: &Pair) -> Ordering {
    if a.is_main() && matches!(a.subject, Subject::Observed(_) | Subject::Simulated(_)) {
        return Ordering::Equal;
    }
    let seeming = |pair: &Pair| pair.ratio().map_or(0.0, |ratio| ratio.ln().abs());
    b.least_change()
        .total_cmp(&a.least_change())
        .then(seeming(b).total_cmp(&seeming(a)))
}
