use switchcost_analysis::Conditions;
use switchcost_analysis::compare::{Basis, Comparison, Outcome, Pair};

use super::words;
use crate::Table;
use crate::for_programs::{Column, field, fields, value};

const COLUMNS: [Column; 12] = [
    ("quantity", "/quantity"),
    ("unit", "/unit"),
    ("is_suspect", "/is_suspect"),
    ("base", "/base/value"),
    ("base_low", "/base/low"),
    ("base_high", "/base/high"),
    ("new", "/new/value"),
    ("new_low", "/new/low"),
    ("new_high", "/new/high"),
    ("ratio", "/ratio"),
    ("ratio_low", "/low"),
    ("ratio_high", "/high"),
];

/// Returns the columns that identify the subject of a pair.
fn subject_columns(basis: Basis) -> &'static [&'static str] {
    match basis {
        Basis::Runs => Conditions::NAMES,
        Basis::Injections => &["footprint_bytes", "period_ns"],
        Basis::Observations => &["kind", "name"],
        Basis::SameTrace | Basis::SameTraces | Basis::OtherTraces | Basis::SingleTrace => {
            &["base_design", "new_design", "kind", "name"]
        }
    }
}

/// Returns a table with a row for each pair. The first columns identify the case, the simulation or
/// the observed tasks.
pub(super) fn table(comparison: &Comparison) -> Table {
    let subject = subject_columns(comparison.basis);
    let names = subject.iter().copied();
    let names = names.chain(COLUMNS.map(|(name, _)| name));
    let names = names.chain(["verdict", "why"]);
    let across = (comparison.basis == Basis::Runs).then_some("across");
    let mut table = vec![names.chain(across).map(str::to_owned).collect()];
    let pairs = comparison.pairs.iter().chain(&comparison.calls);
    table.extend(pairs.map(|pair| row(subject, pair)));
    table
}

fn row(subject: &[&str], pair: &Pair) -> Vec<String> {
    let found = value(pair);
    let mut row = fields(subject, &found);
    row.extend(COLUMNS.map(|(_, path)| field(&found, path)));
    row.extend([verdict(pair), field(&found, "/why")]);
    row.extend(
        pair.case()
            .map(|_| words::across(pair).trim_start_matches(", ").to_owned()),
    );
    row
}

fn verdict(pair: &Pair) -> String {
    match &pair.outcome {
        Outcome::Compared { verdict, .. } => words::verdict(*verdict, pair.quantity).to_owned(),
        Outcome::NotJudged { .. } => "not judged".to_owned(),
        Outcome::NotComparable { .. } => "not comparable".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::for_programs::tests::assert_known;

    #[test]
    fn columns_are_fields_of_findings() {
        assert_known::<Pair>(COLUMNS.map(|(_, path)| path));
    }
}
