//! Pairs as a table of one line each, for a screen.

use switchcost_analysis::compare::{Change, Cost, Outcome, Pair, Quantity, Subject, Unit};
use switchcost_record::Case;

use super::words::{
    across, design, interval, is_of_all, part_of, quantity, tone, touching, value, verdict, who,
};
use crate::entry::{Entry, Tone};
use crate::grid::Grid;
use crate::measure::conditions;
use crate::quantity::NO_NUMBER;
use crate::simulate::amount::rounded;

pub(super) fn grid(pairs: &[&Pair], has_several_designs: bool) -> Grid {
    let mut grid = Grid::with_one_line_a_row(2)
        .left(["", "of"])
        .right(["base", "new", "new/base", "interval"])
        .left(["difference"]);
    let subjects = subjects(pairs, has_several_designs);
    for (pair, subject) in pairs.iter().zip(subjects) {
        let star = if pair.is_suspect { " *" } else { "" };
        let side = |cost: &Option<_>| {
            Entry::from(
                cost.as_ref()
                    .map(|cost| bare(cost, pair))
                    .unwrap_or_default(),
            )
        };
        grid.row(vec![
            format!("{subject}{star}").into(),
            unit_of(pair).into(),
            side(&pair.base),
            side(&pair.new),
            pair.ratio()
                .map_or(NO_NUMBER.to_owned(), |ratio| format!("{ratio:.3}"))
                .into(),
            interval(pair).into(),
            difference(pair),
        ]);
    }
    grid
}

fn difference(pair: &Pair) -> Entry {
    match &pair.outcome {
        Outcome::Compared {
            verdict: Change::NoDifferenceShown,
            ..
        } => "none shown".into(),
        Outcome::Compared {
            verdict: change, ..
        } => Entry::new(verdict(*change, pair.quantity), tone(*change)),
        Outcome::NotJudged { .. } => Entry::new("no verdict", Tone::Suspect),
        Outcome::NotComparable { .. } => Entry::new("no ratio", Tone::Suspect),
    }
}

/// A number without a unit that stands beside it.
fn bare(cost: &Cost, pair: &Pair) -> String {
    match pair.quantity.unit() {
        Unit::Cycles | Unit::PerSecond => rounded(cost.value),
        unit => value(cost, unit),
    }
}

/// The quantity, with its unit where the numbers have none.
fn unit_of(pair: &Pair) -> String {
    match pair.quantity {
        Quantity::AverageCost | Quantity::ExcessPerSwitch => "cycles".to_owned(),
        Quantity::LostToProcesses | Quantity::LostToKernel => {
            format!("cycles {}", quantity(pair.quantity))
        }
        Quantity::MissesPerInstruction => "MPKI".to_owned(),
        other => quantity(other).to_owned(),
    }
}

/// What each pair is about, in the words that distinguish it from others.
fn subjects(pairs: &[&Pair], has_several_designs: bool) -> Vec<String> {
    let cases: Vec<&Case> = pairs.iter().filter_map(|pair| pair.case()).collect();
    let name = |pair: &&Pair| match &pair.subject {
        Subject::Case(case) => conditions::label_among(case, &cases) + &across(pair),
        Subject::Simulated(place) if !has_several_designs => part_of(place, pair.quantity),
        Subject::Simulated(place) if is_of_all(pair.quantity) => design(place),
        Subject::Simulated(place) => {
            format!("{}, {}", design(place), part_of(place, pair.quantity))
        }
        Subject::Observed(of) => who(of),
        Subject::Injected {
            footprint_bytes,
            period_ns,
        } => touching(*footprint_bytes, *period_ns),
    };
    pairs.iter().map(name).collect()
}
