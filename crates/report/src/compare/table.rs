//! The pairs as a table, and the reasons of those that have no verdict.

use switchcost_analysis::compare::{Comparison, Outcome, Pair, Subject};

use super::answer;
use super::pairs::{has_several_designs, reasons};
use super::words::{design, label, part_of, quantity, side, tone, verdict};
use crate::entry::{Entry, Tone};
use crate::grid::Grid;
use crate::page::Page;
use crate::quantity::NO_NUMBER;

/// More subjects than this of one reason are counted.
const NAMED: usize = 4;

/// The table. Of a simulation in a terminal, reasons stand below it, put together, and with them the many parts that have
/// no verdict.
pub(super) fn add(page: &mut Page, comparison: &Comparison) {
    let is_simulated = comparison
        .pairs
        .iter()
        .any(|pair| matches!(pair.subject, Subject::Simulated(_)));
    let is_short = is_simulated && !page.has_figures();
    let is_shown = |pair: &&Pair| !is_short || pair.is_main() || pair.ratio().is_some();
    let shown: Vec<&Pair> = comparison
        .pairs
        .iter()
        .filter(is_shown)
        .filter(|pair| !pair.is_of_a_function())
        .collect();
    let look = Look {
        is_short,
        has_designs: has_several_designs(&comparison.pairs),
    };
    page.grid(&grid(&shown, look));
    if let Some(whose) = answer::suspects(comparison) {
        page.prose(&whose);
    }
    if is_short {
        add_reasons(page, comparison, look);
    }
}

/// What the table leaves out, since it stands elsewhere.
#[derive(Clone, Copy)]
struct Look {
    /// Reasons stand below it.
    is_short: bool,
    /// The one design of each side is named by the answer and the environment.
    has_designs: bool,
}

impl Look {
    /// What a pair is about, as far as the table has not said it.
    fn about(self, pair: &Pair) -> String {
        match &pair.subject {
            Subject::Simulated(place) if !self.has_designs => part_of(place, pair.quantity),
            _ => label(pair),
        }
    }
}

fn add_reasons(page: &mut Page, comparison: &Comparison, look: Look) {
    for (why, pairs) in reasons(&comparison.pairs) {
        let mut names: Vec<String> = Vec::new();
        for name in pairs.iter().map(|pair| look.about(pair)) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let more = names.len().saturating_sub(NAMED);
        names.truncate(NAMED);
        if more > 0 {
            names.push(format!("and {more} more"));
        }
        let what = if pairs.iter().all(|pair| pair.ratio().is_none()) {
            "not comparable"
        } else {
            "no verdict"
        };
        page.item(&format!("{what}: {}: {why}", names.join("; ")));
    }
}

fn grid(pairs: &[&Pair], look: Look) -> Grid {
    let is_simulated = pairs
        .iter()
        .any(|pair| matches!(pair.subject, Subject::Simulated(_)));
    let is_observed = pairs
        .iter()
        .any(|pair| matches!(pair.subject, Subject::Observed(_)));
    let keys: &[&str] = match (is_simulated, is_observed) {
        (true, _) => &["design", "of", "number"],
        (_, true) => &["of", "number"],
        _ => &["case", "cost"],
    };
    Grid::new(keys.len())
        .left(keys.iter().copied())
        .right(["base", "new", "new/base", "interval"])
        .left(["verdict"])
        .with_rows(pairs.iter().map(|pair| row(pair, look)))
}

fn row(pair: &Pair, look: Look) -> Vec<Entry> {
    let star = if pair.is_suspect { " *" } else { "" };
    let mut row: Vec<Entry> = match &pair.subject {
        Subject::Case(_) | Subject::Observed(_) | Subject::Injected { .. } => {
            vec![format!("{}{star}", label(pair)).into()]
        }
        Subject::Simulated(place) => {
            let name = if look.has_designs {
                design(place)
            } else {
                String::new()
            };
            vec![
                name.into(),
                format!("{}{star}", part_of(place, pair.quantity)).into(),
            ]
        }
    };
    row.push(quantity(pair.quantity).into());
    row.extend([&pair.base, &pair.new].map(|cost| Entry::from(side(cost.as_ref(), pair))));
    match &pair.outcome {
        Outcome::Compared {
            ratio,
            verdict: change,
        } => {
            row.push(Entry::from(format!("{:.3}", ratio.ratio)));
            row.push(Entry::from(format!(
                "{:.3} to {:.3}",
                ratio.low, ratio.high
            )));
            row.push(Entry::new(verdict(*change, pair.quantity), tone(*change)));
        }
        Outcome::NotJudged { ratio, why } => {
            row.extend([Entry::from(format!("{ratio:.3}")), Entry::from(NO_NUMBER)]);
            let text = if look.is_short {
                "no verdict".to_owned()
            } else {
                format!("not judged: {why}")
            };
            row.push(Entry::new(text, Tone::Suspect));
        }
        Outcome::NotComparable { why } => {
            row.extend([Entry::from(NO_NUMBER), Entry::from(NO_NUMBER)]);
            let text = if look.is_short {
                "not comparable".to_owned()
            } else {
                format!("not comparable: {why}")
            };
            row.push(Entry::new(text, Tone::Suspect));
        }
    }
    row
}
