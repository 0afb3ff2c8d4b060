//! A comparison as Markdown, for a comment on a pull request: the answer, a table, and what differs folded in.

use switchcost_analysis::compare::{Comparison, Outcome, Pair};

use super::answer;
use super::words::{interval, label, quantity, side, verdict};
use crate::plain::plain;
use crate::quantity::{NO_NUMBER, confidence};

/// More numbers than this are left out, and counted.
const MOST_ROWS: usize = 40;

/// The text of such a comment.
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

fn row(pair: &Pair) -> [String; 7] {
    let ratio = pair
        .ratio()
        .map_or(NO_NUMBER.to_owned(), |ratio| format!("{ratio:.3}"));
    let difference = match &pair.outcome {
        Outcome::Compared {
            verdict: change, ..
        } => verdict(*change, pair.quantity).to_owned(),
        Outcome::NotJudged { why, .. } => format!("not judged: {why}"),
        Outcome::NotComparable { why } => format!("not comparable: {why}"),
    };
    let [base, new] = [&pair.base, &pair.new].map(|cost| side(cost.as_ref(), pair));
    [
        label(pair),
        quantity(pair.quantity).to_owned(),
        base,
        new,
        ratio,
        interval(pair),
        difference,
    ]
}

fn line(fields: impl IntoIterator<Item = String>) -> String {
    let fields: Vec<String> = fields.into_iter().map(|field| inert(&field)).collect();
    format!("| {} |", fields.join(" | "))
}

fn environment(comparison: &Comparison) -> Option<String> {
    let facts = comparison.environment.iter();
    let rows: Vec<String> = facts
        .map(|fact| line([fact.what.clone(), fact.base.join(", "), fact.new.join(", ")]))
        .collect();
    let head =
        "<details><summary>What else differs</summary>\n\n| fact | base | new |\n|---|---|---|";
    (!rows.is_empty()).then(|| format!("{head}\n{}\n\n</details>", rows.join("\n")))
}

fn method(comparison: &Comparison) -> Option<String> {
    let percent = confidence(comparison.confidence);
    let all = format!(
        "All intervals ({}) together hold with {percent} confidence.",
        comparison.compared
    );
    let basis = answer::basis(comparison)
        .map(|basis| format!(" {basis}"))
        .unwrap_or_default();
    (comparison.compared > 0).then(|| inert(&format!("{all}{basis}")))
}

/// Text that is neither markup nor a cell's end.
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
