use analysis::compare::{Comparison, Cost, Outcome, Pair};

use super::words;
use crate::case::CASE_COLUMNS;
use crate::for_programs::{Column, csv};

const COLUMNS: [Column<Pair>; 13] = [
    ("quantity", |p| p.quantity.name().to_owned()),
    ("is_suspect", |p| p.is_suspect.to_string()),
    ("base_ns", |p| float(p.base.map(|cost| cost.value))),
    ("base_low_ns", |p| float(low(p.base))),
    ("base_high_ns", |p| float(high(p.base))),
    ("new_ns", |p| float(p.new.map(|cost| cost.value))),
    ("new_low_ns", |p| float(low(p.new))),
    ("new_high_ns", |p| float(high(p.new))),
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

fn low(cost: Option<Cost>) -> Option<f64> {
    Some(cost?.interval?.0)
}

fn high(cost: Option<Cost>) -> Option<f64> {
    Some(cost?.interval?.1)
}

fn float(value: Option<f64>) -> String {
    value.filter(|value| value.is_finite()).map(|value| value.to_string()).unwrap_or_default()
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
