//! Renders pairs as table rows. A pair is one number on both sides.

use switchcost_analysis::compare::{
    Change, Comparison, Cost, Outcome, Pair, Part, Quantity, Subject,
};
use switchcost_record::Case;

use super::words::{
    across, bare, describe_who, design, interval, is_of_all, part_of, quantity, shown_change,
    shown_verdict, tone, touching,
};
use crate::listing::{first_few, grouped};
use crate::measure::conditions;
use crate::quantity::NO_NUMBER;
use crate::{Entry, Grid, Page, Tone};

/// Maximum number of subjects (cases, designs, tasks) that a terminal names for each reason why
/// pairs have no verdict or are not compared.
const MOST_NAMED: usize = 4;

/// Maximum number of records with a suspect number that are named.
const SUSPECTS_NAMED: usize = 3;

/// Headings of the columns with the numbers of a pair, in every table of pairs.
pub(super) const NUMBERS: [&str; 5] = ["base", "new", "new/base", "interval", "difference"];

/// Returns a table with a row for each pair. If `is_short`, each row takes one line.
pub(super) fn grid(pairs: &[&Pair], is_short: bool) -> Grid {
    let grid = if is_short {
        Grid::single_line_rows(2)
    } else {
        Grid::new(2)
    };
    let [base, new, ratio, interval, difference] = NUMBERS;
    let names = subjects(pairs);
    grid.left([subject_head(pairs), "quantity"])
        .right([base, new, ratio, interval])
        .left([difference])
        .with_rows(pairs.iter().zip(names).map(|(pair, name)| {
            let star = if pair.is_suspect { " *" } else { "" };
            let about = [format!("{name}{star}"), unit_of(pair)].map(Entry::from);
            about.into_iter().chain(numbers(pair))
        }))
}

/// Returns the heading of the column that names the pairs' subjects.
fn subject_head(pairs: &[&Pair]) -> &'static str {
    match pairs.first().map(|pair| &pair.subject) {
        Some(Subject::Case(_)) => "case",
        Some(Subject::Simulated(_)) if has_several_designs(pairs) => "design",
        Some(Subject::Simulated(_)) => "part",
        Some(Subject::Observed(_)) => "tasks",
        Some(Subject::Injected { .. }) => "other task",
        None => "",
    }
}

/// Returns five cells: both sides, their ratio, its interval, and the verdict.
pub(super) fn numbers(pair: &Pair) -> [Entry; 5] {
    let unit = pair.quantity.unit();
    let side = |cost: &Option<Cost>| Entry::from(cost.map(|cost| bare(cost.value, unit)));
    let ratio = pair
        .ratio()
        .map_or(NO_NUMBER.to_owned(), |ratio| format!("{ratio:.3}"));
    let difference = match &pair.outcome {
        Outcome::Compared { .. } => match shown_change(&pair.outcome) {
            Some(change) => Entry::new(shown_verdict(change, pair.quantity), tone(change)),
            None => "none shown".into(),
        },
        Outcome::NotJudged { .. } => Entry::new("no verdict", Tone::Suspect),
        Outcome::NotComparable { .. } => Entry::new("no ratio", Tone::Suspect),
    };
    [
        side(&pair.base),
        side(&pair.new),
        ratio.into(),
        interval(pair).into(),
        difference,
    ]
}

/// Returns the name of the pair's quantity, with its unit if the numbers are printed without a
/// unit.
pub(super) fn unit_of(pair: &Pair) -> String {
    match pair.quantity {
        Quantity::AverageCost | Quantity::ExcessPerSwitch => "cycles/switch".to_owned(),
        Quantity::Overhead => "share of cycles".to_owned(),
        Quantity::LostToProcesses | Quantity::LostToKernel => {
            format!("cycles {}", quantity(pair.quantity))
        }
        Quantity::MissesPerInstruction => "MPKI".to_owned(),
        other => quantity(other).to_owned(),
    }
}

/// Returns the names of the pairs' subjects, in the words that distinguish the pairs.
fn subjects(pairs: &[&Pair]) -> Vec<String> {
    let cases: Vec<&Case> = pairs.iter().filter_map(|pair| pair.case()).collect();
    let has_several_designs = has_several_designs(pairs);
    let name = |pair: &&Pair| match &pair.subject {
        Subject::Case(case) => conditions::label_among(case, &cases) + &across(pair),
        Subject::Simulated(place) if !has_several_designs => part_of(place, pair.quantity),
        Subject::Simulated(place) if is_of_all(pair.quantity) || place.part == Part::All => {
            design(place)
        }
        Subject::Simulated(place) => {
            format!("{}, {}", design(place), part_of(place, pair.quantity))
        }
        Subject::Observed(of) => describe_who(of),
        Subject::Injected {
            footprint_bytes,
            period_ns,
        } => touching(*footprint_bytes, *period_ns),
    };
    pairs.iter().map(name).collect()
}

/// Adds all pairs except those of kernel functions, and the reasons for missing verdicts. In a
/// terminal, parts of a simulation without a ratio are only listed with their reason.
pub(super) fn add(page: &mut Page, comparison: &Comparison) {
    let is_simulated = |pair: &Pair| matches!(pair.subject, Subject::Simulated(_));
    let is_left_out = |pair: &Pair| {
        let is_open = is_simulated(pair) && !page.has_figures();
        is_open && !pair.is_main() && pair.ratio().is_none()
    };
    let shown: Vec<&Pair> = comparison
        .pairs
        .iter()
        .filter(|pair| !pair.is_of_a_function() && !is_left_out(pair))
        .collect();
    page.grid(grid(&shown, false));
    suspects(comparison)
        .iter()
        .for_each(|whose| page.prose(whose));
    let most = if page.has_figures() {
        usize::MAX
    } else {
        MOST_NAMED
    };
    for (why, pairs) in reasons(&comparison.pairs) {
        let mut names = subjects(&pairs);
        names.dedup();
        let what = if pairs.iter().all(|pair| pair.ratio().is_none()) {
            "not compared"
        } else {
            "no verdict"
        };
        page.item(format!("{}: {what} ({why})", first_few(&names, most, "; ")));
    }
}

/// Returns a predicate on the number of changed costs, such as `slower in 2 of 5 costs`.
pub(super) fn changed(slower: usize, faster: usize, all: &str) -> String {
    match (slower, faster) {
        (slower, 0) => format!("slower in {slower} of {all}"),
        (0, faster) => format!("faster in {faster} of {all}"),
        (slower, faster) => format!("slower in {slower} and faster in {faster} of {all}"),
    }
}

/// Formats a number of costs: `1 cost`, `5 costs`.
pub(super) fn costs(number: usize) -> String {
    match number {
        1 => "1 cost".to_owned(),
        more => format!("{more} costs"),
    }
}

pub(super) fn count(comparison: &Comparison, change: Change) -> usize {
    let is = |pair: &&Pair| shown_change(&pair.outcome) == Some(change);
    comparison
        .pairs
        .iter()
        .filter(|pair| !pair.is_of_a_function())
        .filter(is)
        .count()
}

/// Returns a sentence on how many of the compared numbers changed.
pub(super) fn changed_numbers(comparison: &Comparison) -> String {
    let (higher, lower) = (
        count(comparison, Change::Slower),
        count(comparison, Change::Faster),
    );
    match (comparison.compared, higher, lower) {
        (0, ..) => "No number could be judged.".to_owned(),
        (1, 0, 0) => "The one number that was compared did not change significantly.".to_owned(),
        (all, 0, 0) => format!("None of the {all} numbers compared changed significantly."),
        (all, higher, lower) if higher == all || lower == all => {
            let numbers = match all {
                1 => "The one number".to_owned(),
                2 => "Both numbers".to_owned(),
                _ => format!("All {all} numbers"),
            };
            let changed = if lower == 0 { "rose" } else { "fell" };
            format!("{numbers} compared {changed} significantly.")
        }
        (all, higher, 0) => {
            format!("Of {all} numbers compared, {higher} rose significantly, and none fell.")
        }
        (all, 0, lower) => {
            format!("Of {all} numbers compared, {lower} fell significantly, and none rose.")
        }
        (all, higher, lower) => {
            format!("Of {all} numbers compared, {higher} rose significantly, and {lower} fell.")
        }
    }
}

/// Returns a sentence with the first reason why nothing could be compared. The tables give further
/// reasons.
pub(super) fn nothing(comparison: &Comparison) -> String {
    let across = comparison.joining_condition().map_or(String::new(), |of| {
        format!(" The cases differ in one condition: --across {of} compares them.")
    });
    if let Some((base, new)) = unshared_designs(comparison) {
        return format!(
            "Nothing could be compared, because the sides have no design in common: {} in base, {} in new. Simulate the same \
             --design on both sides, or one design on each.",
            base.join(", "),
            new.join(", ")
        );
    }
    match reasons(&comparison.pairs).first() {
        Some((why, _)) => format!("Nothing could be compared: {why}.{across}"),
        None => "Nothing could be compared: neither side has a number.".to_owned(),
    }
}

/// Returns the designs of base and of new; `None` if both sides share a design, or if the pairs are
/// not of simulations.
pub(super) fn unshared_designs(comparison: &Comparison) -> Option<(Vec<&str>, Vec<&str>)> {
    let (mut base, mut new) = (Vec::new(), Vec::new());
    for pair in &comparison.pairs {
        let Subject::Simulated(place) = &pair.subject else {
            return None;
        };
        match (&place.base_design, &place.new_design) {
            (Some(name), None) => base.push(name.as_str()),
            (None, Some(name)) => new.push(name.as_str()),
            _ => return None,
        }
    }
    base.dedup();
    new.dedup();
    (!base.is_empty() && !new.is_empty()).then_some((base, new))
}

/// Groups the pairs without a verdict by reason.
pub(super) fn reasons(pairs: &[Pair]) -> Vec<(&str, Vec<&Pair>)> {
    let pairs = pairs.iter().filter(|pair| !pair.is_of_a_function());
    grouped(pairs.filter_map(|pair| match &pair.outcome {
        Outcome::NotJudged { why, .. } | Outcome::NotComparable { why } => {
            Some((why.as_str(), pair))
        }
        Outcome::Compared { .. } => None,
    }))
}

/// Returns true if the pairs belong to more than one design.
fn has_several_designs(pairs: &[&Pair]) -> bool {
    let mut designs = pairs.iter().filter_map(|pair| match &pair.subject {
        Subject::Simulated(place) => Some(design(place)),
        _ => None,
    });
    let first = designs.next();
    designs.any(|design| Some(&design) != first.as_ref())
}

/// Returns a note on the stars of suspect numbers, with the names of their records; `None` if no
/// number is suspect.
pub(super) fn suspects(comparison: &Comparison) -> Option<String> {
    let is_one = |name: &&str| {
        comparison
            .pairs
            .iter()
            .any(|pair| pair.suspect_records.iter().any(|one| one == name))
    };
    let records = comparison
        .base_records
        .iter()
        .chain(&comparison.new_records)
        .map(String::as_str);
    let names: Vec<&str> = records.filter(is_one).collect();
    (!names.is_empty()).then(|| {
        format!(
            "* suspect: see switchcost report {}",
            first_few(&names, SUSPECTS_NAMED, ", ")
        )
    })
}
