//! Renders a comparison as Markdown, for a comment on a pull request: the answer, a table, and the
//! differing facts in a collapsed section.

use itertools::Itertools;
use switchcost_analysis::compare::{Comparison, Outcome, Pair};

use super::answer;
use super::pairs::{numbers, unit_of};
use super::words::{self, label};
use crate::plain::plain;

/// Maximum number of rows. Further rows are left out, and their number is given.
const MOST_ROWS: usize = 40;

/// Renders a comparison as a Markdown comment.
pub fn markdown(comparison: &Comparison) -> String {
    let mut parts = vec![inert(&answer::answer(comparison)), table(comparison)];
    parts.extend(
        comparison
            .fail_above
            .map(|share| inert(&answer::limit(comparison, share, usize::MAX))),
    );
    parts.extend(environment(comparison));
    parts.extend(method(comparison));
    parts.retain(|part| !part.is_empty());
    parts.join("\n\n") + "\n"
}

fn table(comparison: &Comparison) -> String {
    let pairs: Vec<&Pair> = comparison
        .pairs
        .iter()
        .filter(|pair| pair.is_main())
        .collect();
    let mut lines = vec![
        "| | of | base | new | new/base | interval | difference |".to_owned(),
        "|---|---|--:|--:|--:|--:|---|".to_owned(),
    ];
    lines.extend(pairs.iter().take(MOST_ROWS).map(|pair| line(row(pair))));
    let more = pairs.len().saturating_sub(MOST_ROWS);
    if more > 0 {
        lines.push(format!("\nand {more} more"));
    }
    lines.join("\n")
}

fn row(pair: &Pair) -> Vec<String> {
    let why = match &pair.outcome {
        Outcome::Compared { .. } => String::new(),
        Outcome::NotJudged { why, .. } | Outcome::NotComparable { why } => format!(": {why}"),
    };
    let [base, new, ratio, interval, difference] = numbers(pair).map(|entry| entry.text);
    let about = [label(pair), unit_of(pair)];
    about
        .into_iter()
        .chain([base, new, ratio, interval, difference + &why])
        .collect()
}

fn line(fields: impl IntoIterator<Item = String>) -> String {
    let fields = fields.into_iter().map(|field| inert(&field)).join(" | ");
    format!("| {fields} |")
}

fn environment(comparison: &Comparison) -> Option<String> {
    let facts = comparison.environment.iter();
    let rows: Vec<String> = facts
        .map(|fact| line([words::fact(fact), fact.base.join(", "), fact.new.join(", ")]))
        .collect();
    let head =
        "<details><summary>What else differs</summary>\n\n| fact | base | new |\n|---|---|---|";
    (!rows.is_empty()).then(|| format!("{head}\n{}\n\n</details>", rows.join("\n")))
}

fn method(comparison: &Comparison) -> Option<String> {
    let all = answer::intervals_hold(comparison);
    let basis = answer::basis(comparison)
        .map(|basis| format!(" {basis}"))
        .unwrap_or_default();
    (comparison.compared > 0).then(|| inert(&format!("{all}{basis}")))
}

/// Escapes text that could be markup or end a cell.
fn inert(text: &str) -> String {
    let mut inert = String::with_capacity(text.len());
    for c in plain(text).chars() {
        match c {
            '&' => inert.push_str("&amp;"),
            '<' => inert.push_str("&lt;"),
            '>' => inert.push_str("&gt;"),
            '|' | '`' | '*' | '_' | '[' | ']' | '\\' | '#' | '~' | '@' => inert.extend(['\\', c]),
            _ => inert.push(c),
        }
    }
    inert
}
