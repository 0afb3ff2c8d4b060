//! Renders one screen: the answer, other differences between the sides, the costs with the largest
//! change, and their basis. `--details` and the page have the rest.

use std::cmp::Ordering;

use switchcost_analysis::compare::{Basis, Comparison, Difference, Pair, Subject};

use super::calls::Which;
use super::pairs::{grid, reasons, suspects};
use super::{answer, calls, environment, functions, observed, sides, title};
use crate::entry::Tone;
use crate::grid::Grid;
use crate::page::Page;

/// Lines of the screen, without the line that refers to the rest.
const MOST_LINES: usize = 43;

/// Maximum number of costs with a row.
const MOST_ROWS: usize = 20;

/// Maximum number of functions of the kernel with a row.
const MOST_FUNCTIONS: usize = 8;

/// Maximum number of costs beyond the limit that are named.
const MOST_NAMED: usize = 3;

/// Maximum number of reasons for missing verdicts.
const MOST_REASONS: usize = 2;

/// Maximum number of facts of the environment with a row.
const MOST_FACTS: usize = 4;

pub(super) fn add(page: &mut Page, comparison: &Comparison) {
    add_with(page, comparison, Which::Changed, &[]);
    page.gap();
    page.line("full report: --details; figures: -o page.html", Tone::Usual);
}

/// Adds the whole screen with further notes, except the reference to `--details`.
pub(super) fn add_with(page: &mut Page, comparison: &Comparison, calls: Which, further: &[String]) {
    page.paragraph(&answer::answer(comparison));
    add_facts(page, "Designs", &comparison.designs);
    if !answer::names_all(&comparison.environment) {
        add_facts(page, "Environment", &comparison.environment);
    }
    add_costs(page, comparison);
    calls::add(page, comparison, calls);
    functions::add(page, comparison, MOST_FUNCTIONS);
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
    let reasons = reasons(&comparison.pairs);
    let (named, others) = reasons.split_at(reasons.len().min(MOST_REASONS));
    notes.extend(
        named
            .iter()
            .map(|(why, pairs)| describe_incomparable(why, pairs)),
    );
    let more: usize = others.iter().map(|(_, pairs)| pairs.len()).sum();
    if more > 0 {
        notes.push(format!("{more} more numbers without a verdict: --details"));
    }
    notes.extend(further.iter().cloned());
    if !notes.is_empty() {
        page.gap();
    }
    page.items_up_to(MOST_LINES, &notes);
}

/// Adds a table of the facts; nothing if there are none.
fn add_facts(page: &mut Page, title: &str, facts: &[Difference]) {
    if facts.is_empty() {
        return;
    }
    let more = facts.len().saturating_sub(MOST_FACTS);
    let rest = if more > 0 {
        format!("what differs; {more} more: --details")
    } else {
        "what differs".to_owned()
    };
    page.heading(title, &rest);
    page.grid(&environment(
        Grid::single_line_rows(1),
        &facts[..facts.len().min(MOST_FACTS)],
    ));
}

fn describe_incomparable(why: &str, pairs: &[&Pair]) -> String {
    let costs = if pairs.len() == 1 {
        "1 number".to_owned()
    } else {
        format!("{} numbers", pairs.len())
    };
    let is_judged = pairs.iter().all(|pair| pair.ratio().is_none());
    if is_judged {
        format!("{costs} not comparable ({why})")
    } else {
        format!("{costs} without a verdict ({why})")
    }
}

/// Adds changed costs, the largest change first, then the other costs in their order.
fn add_costs(page: &mut Page, comparison: &Comparison) {
    let is_observed = comparison.basis == Basis::Observations;
    let mut pairs: Vec<&Pair> = comparison
        .pairs
        .iter()
        .filter(|pair| pair.ratio().is_some() || is_observed)
        .collect();
    pairs.retain(|pair| !pair.is_of_a_function());
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
    let more = pairs.len().saturating_sub(rows);
    let largest = if more > 0 {
        "; those that changed most"
    } else {
        ""
    };
    page.heading(
        title(comparison),
        &format!("{}{largest}", sides(comparison)),
    );
    pairs.truncate(rows);
    page.grid(&grid(&pairs, true));
    if more > 0 {
        page.prose(&format!("and {more} more: --details"));
    }
    if let Some(whose) = suspects(comparison) {
        page.prose(&whose);
    }
}

/// Orders pairs by the part of the change that is certain, then by the measured change. The few
/// numbers of all observed tasks together have a fixed order.
fn order_by_change(a: &Pair, b: &Pair) -> Ordering {
    if a.is_main() && matches!(a.subject, Subject::Observed(_)) {
        return Ordering::Equal;
    }
    let seeming = |pair: &Pair| pair.ratio().map_or(0.0, |ratio| ratio.ln().abs());
    b.least_change()
        .total_cmp(&a.least_change())
        .then(seeming(b).total_cmp(&seeming(a)))
}
