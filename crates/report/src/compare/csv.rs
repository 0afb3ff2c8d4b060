use analysis::compare::{Comparison, Outcome, Pair};
use units::format_cpu_list;

use super::words;
use crate::for_programs::csv;

/// A name, and the field below it.
type Column = (&'static str, fn(&Pair) -> String);

const COLUMNS: [Column; 20] = [
    ("mechanism", |p| p.case.mechanism.to_string()),
    ("between", |p| p.case.between.to_string()),
    ("tasks", |p| p.case.tasks.to_string()),
    ("size_bytes", |p| p.case.working_set.size_bytes.0.to_string()),
    ("stride_bytes", |p| p.case.working_set.stride_bytes.0.to_string()),
    ("access", |p| p.case.working_set.access.to_string()),
    ("pattern", |p| p.case.working_set.pattern.to_string()),
    ("sharing", |p| p.case.working_set.sharing.to_string()),
    ("pages", |p| p.case.working_set.pages.to_string()),
    ("cpus", |p| format_cpu_list(&p.case.placement.cpus)),
    ("policy", |p| p.case.policy.to_string()),
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
    let names = COLUMNS.map(|(name, _)| name.to_owned()).to_vec();
    let row = |pair: &Pair| COLUMNS.map(|(_, field)| field(pair)).to_vec();
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
