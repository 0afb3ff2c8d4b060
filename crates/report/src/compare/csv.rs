use switchcost_analysis::compare::{
    Basis, Comparison, Cost, Outcome, Pair, Place, Ratio, Subject, Who,
};

use switchcost_units::{Bytes, Nanos};

use super::words;
use crate::case::CASE_COLUMNS;
use crate::for_programs::{Column, Table};

const PLACE_COLUMNS: [Column<Place>; 4] = [
    ("base_design", |place| {
        place.base_design.clone().unwrap_or_default()
    }),
    ("new_design", |place| {
        place.new_design.clone().unwrap_or_default()
    }),
    ("kind", |place| place.part.kind_and_name().kind.to_owned()),
    ("name", |place| {
        place
            .part
            .kind_and_name()
            .name
            .unwrap_or_default()
            .into_owned()
    }),
];

const WHO_COLUMNS: [Column<Who>; 2] = [
    ("kind", |of| of.kind_and_name().kind.to_owned()),
    ("name", |of| {
        of.kind_and_name().name.unwrap_or_default().into_owned()
    }),
];

const INJECTED_COLUMNS: [Column<(Bytes, Option<Nanos>)>; 2] = [
    ("footprint_bytes", |(size, _)| size.0.to_string()),
    ("period_ns", |(_, period)| {
        period
            .map(|period| period.0.to_string())
            .unwrap_or_default()
    }),
];

const COLUMNS: [Column<Pair>; 14] = [
    ("quantity", |p| p.quantity.name().to_owned()),
    ("unit", |p| p.quantity.unit().to_string()),
    ("is_suspect", |p| p.is_suspect.to_string()),
    ("base", |p| float(p.base.map(|cost| cost.value))),
    ("base_low", |p| float(low(p.base))),
    ("base_high", |p| float(high(p.base))),
    ("new", |p| float(p.new.map(|cost| cost.value))),
    ("new_low", |p| float(low(p.new))),
    ("new_high", |p| float(high(p.new))),
    ("ratio", |p| {
        p.ratio().map(|ratio| ratio.to_string()).unwrap_or_default()
    }),
    ("ratio_low", |p| end(p, |ratio| ratio.low)),
    ("ratio_high", |p| end(p, |ratio| ratio.high)),
    ("verdict", verdict),
    ("why", missing_reason),
];

/// A table for programs with a row for each pair. First come the subject's columns: those of cases, of simulations or of observations.
pub(super) fn table(comparison: &Comparison) -> Table {
    let names = |subject: &mut dyn Iterator<Item = &'static str>| -> Vec<String> {
        subject
            .chain(COLUMNS.iter().map(|(name, _)| *name))
            .map(str::to_owned)
            .collect()
    };
    let names = match comparison.basis {
        Basis::Runs => {
            let mut names = names(&mut CASE_COLUMNS.iter().map(|(name, _)| *name));
            names.push("across".to_owned());
            names
        }
        Basis::Injections => names(&mut INJECTED_COLUMNS.iter().map(|(name, _)| *name)),
        Basis::Observations => names(&mut WHO_COLUMNS.iter().map(|(name, _)| *name)),
        Basis::SameTrace | Basis::SameTraces | Basis::OtherTraces | Basis::SingleTrace => {
            names(&mut PLACE_COLUMNS.iter().map(|(name, _)| *name))
        }
    };
    std::iter::once(names)
        .chain(comparison.pairs.iter().chain(&comparison.calls).map(row))
        .collect()
}

fn row(pair: &Pair) -> Vec<String> {
    let mut row: Vec<String> = match &pair.subject {
        Subject::Case(case) => CASE_COLUMNS.iter().map(|(_, field)| field(case)).collect(),
        Subject::Simulated(place) => PLACE_COLUMNS
            .iter()
            .map(|(_, field)| field(place))
            .collect(),
        Subject::Injected {
            footprint_bytes,
            period_ns,
        } => INJECTED_COLUMNS
            .iter()
            .map(|(_, field)| field(&(*footprint_bytes, *period_ns)))
            .collect(),
        Subject::Observed(who) => WHO_COLUMNS.iter().map(|(_, field)| field(who)).collect(),
    };
    row.extend(COLUMNS.iter().map(|(_, field)| field(pair)));
    // In what the sides of a measured case differ.
    row.extend(
        pair.case()
            .map(|_| words::across(pair).trim_start_matches(", ").to_owned()),
    );
    row
}

fn low(cost: Option<Cost>) -> Option<f64> {
    Some(cost?.interval?.0)
}

fn high(cost: Option<Cost>) -> Option<f64> {
    Some(cost?.interval?.1)
}

fn float(value: Option<f64>) -> String {
    value
        .filter(|value| value.is_finite())
        .map(|value| value.to_string())
        .unwrap_or_default()
}

fn end(pair: &Pair, part: fn(&Ratio) -> f64) -> String {
    match &pair.outcome {
        Outcome::Compared { ratio, .. } => part(ratio).to_string(),
        Outcome::NotJudged { .. } | Outcome::NotComparable { .. } => String::new(),
    }
}

fn verdict(pair: &Pair) -> String {
    match &pair.outcome {
        Outcome::Compared { verdict, .. } => words::verdict(*verdict, pair.quantity).to_owned(),
        Outcome::NotJudged { .. } => "not judged".to_owned(),
        Outcome::NotComparable { .. } => "not comparable".to_owned(),
    }
}

fn missing_reason(pair: &Pair) -> String {
    match &pair.outcome {
        Outcome::Compared { .. } => String::new(),
        Outcome::NotJudged { why, .. } | Outcome::NotComparable { why } => why.clone(),
    }
}
