use analysis::compare::{Comparison, Outcome, Pair};

use super::words;
use crate::case::CASE_COLUMNS;
use crate::for_programs::{Column, csv};

const COLUMNS: [Column<Pair>; 9] = [
    ("quantity", |p| p.quantity.to_owned()),
    ("is_suspect", |p| p.is_suspect.to_string()),
    ("base_ns", |p| p.base.map(|cost| cost.ns.to_string()).unwrap_or_default()),
    ("new_ns", |p| p.new.map(|cost| cost.ns.to_string()).unwrap_or_default()),
    ("ratio", |p| ratio(p, |ratio| ratio.ratio)),
    ("ratio_low", |p| ratio(p, |ratio| ratio.low)),
    ("ratio_high", |p| ratio(p, |ratio| ratio.high)),
    ("verdict", verdict),
    ("why", why),
];

pub(super) fn render(comparison: &Comparison) -> String {
    let case_names = CASE_COLUMNS.iter().map(|(name, _)| (*name).to_owned());
    let names = case_names.chain(COLUMNS.iter().map(|(name, _)| (*name).to_owned())).collect();
    let row = |pair: &Pair| {
        let case = CASE_COLUMNS.iter().map(|(_, field)| field(&pair.case));
        case.chain(COLUMNS.iter().map(|(_, field)| field(pair))).collect()
    };
    csv(std::iter::once(names).chain(comparison.pairs.iter().map(row)))
}

fn ratio(pair: &Pair, part: fn(&analysis::compare::Ratio) -> f64) -> String {
    match &pair.outcome {
        Outcome::Compared { ratio, .. } => part(ratio).to_string(),
        Outcome::NotComparable { .. } => String::new(),
    }
}

fn verdict(pair: &Pair) -> String {
    match &pair.outcome {
        Outcome::Compared { verdict, .. } => words(*verdict).to_owned(),
        Outcome::NotComparable { .. } => "not comparable".to_owned(),
    }
}

fn why(pair: &Pair) -> String {
    match &pair.outcome {
        Outcome::Compared { .. } => String::new(),
        Outcome::NotComparable { why } => why.clone(),
    }
}
