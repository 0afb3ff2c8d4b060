//! The answer in a few sentences, and what it stands on.

use analysis::compare::{Basis, Change, Comparison, Origin, Outcome, Pair, Part, Quantity, Subject};

use super::observed;
use super::words::{design, in_percent, label, quantity, verdict};

/// More designs than this are not named in the answer.
const DESIGNS_NAMED: usize = 4;

/// What the reader wants to know first.
pub(super) fn answer(comparison: &Comparison) -> String {
    let shown = match comparison.basis {
        Basis::Runs => of_runs(comparison),
        Basis::Observations => observed::answer(comparison),
        Basis::SameTrace | Basis::SameTraces | Basis::OtherTraces | Basis::SingleTrace => of_simulations(comparison),
    };
    let facts = comparison.environment.len();
    match facts {
        0 => shown,
        1 => format!("{shown} One fact of the environment differs, too: it may be the cause."),
        _ => format!("{shown} {facts} facts of the environment differ, too: they may be the cause."),
    }
}

pub(super) fn count(comparison: &Comparison, change: Change) -> usize {
    let is = |pair: &&Pair| matches!(pair.outcome, Outcome::Compared { verdict, .. } if verdict == change);
    comparison.pairs.iter().filter(is).count()
}

const NOTHING: &str = "Nothing could be compared; the table says why.";

fn of_runs(comparison: &Comparison) -> String {
    let (slower, faster) = (count(comparison, Change::Slower), count(comparison, Change::Faster));
    let costs = |number: usize| if number == 1 { "1 cost".to_owned() } else { format!("{number} costs") };
    let of = costs(comparison.compared);
    match (slower, faster) {
        _ if comparison.compared == 0 => NOTHING.to_owned(),
        (0, 0) => format!("No difference was shown in {of}: this does not mean that there is none: see the intervals."),
        (slower, 0) => format!("New is slower in {slower} of {of}; no difference was shown in the others."),
        (0, faster) => format!("New is faster in {faster} of {of}; no difference was shown in the others."),
        (slower, faster) => format!("New is slower in {slower} and faster in {faster} of {of}."),
    }
}

/// The cost of a switch under each design, then how many of all numbers differ.
fn of_simulations(comparison: &Comparison) -> String {
    if comparison.compared == 0 {
        return NOTHING.to_owned();
    }
    let sentences: Vec<String> = comparison.pairs.iter().filter_map(of_design).collect();
    let more = sentences.len().saturating_sub(DESIGNS_NAMED);
    let mut text: String = sentences.into_iter().take(DESIGNS_NAMED).collect();
    if more > 0 {
        text += &format!("The table has {more} more. ");
    }
    let (slower, faster) = (count(comparison, Change::Slower), count(comparison, Change::Faster));
    text + &format!(
        "Of {} numbers compared, {slower} are shown to be higher and {faster} to be lower.",
        comparison.compared
    )
}

fn of_design(pair: &Pair) -> Option<String> {
    let Subject::Simulated(place) = &pair.subject else { return None };
    let Outcome::Compared { ratio, verdict: change } = &pair.outcome else { return None };
    if place.part != Part::All || pair.quantity != Quantity::AverageCost {
        return None;
    }
    Some(format!(
        "{}: a switch costs {:.3} times as many cycles ({:.3} to {:.3}), {}. ",
        design(place),
        ratio.ratio,
        ratio.low,
        ratio.high,
        verdict(*change, pair.quantity)
    ))
}

/// Why the intervals are as wide as they are.
pub(super) fn basis(comparison: &Comparison) -> Option<String> {
    let text = match comparison.basis {
        Basis::Runs => return of_run_spread(comparison),
        Basis::Observations => return Some(observed::basis(comparison)),
        Basis::SameTrace => {
            "Both sides simulate the same trace: intervals are from batches of its switches, in pairs. They hold for this \
             trace only; give several traces for a general result."
        }
        Basis::SameTraces => "Both sides simulate the same traces: intervals are from the traces, in pairs.",
        Basis::OtherTraces => "Each side has its own traces: intervals are from the spread between them.",
        Basis::SingleTrace => {
            "A side has one trace, and the other has others: the spread between traces cannot be seen, so intervals are from \
             batches of switches within it and may be too narrow. Give the same trace to both sides, or several to each."
        }
    };
    Some(text.to_owned())
}

fn of_run_spread(comparison: &Comparison) -> Option<String> {
    let spread = comparison.run_spread?;
    // Two digits of it are more than is known.
    let share = in_percent((spread.share * 1000.0).round() / 1000.0);
    let origin = match spread.origin {
        Origin::Records => "by these records and what is usual",
        Origin::EarlierRecords => "by earlier records of this machine and what is usual",
        Origin::Given => "as given with --run-spread",
        Origin::Assumed => "which is assumed; give several records of each side to measure it",
    };
    let clock = comparison.hertz.map(|hertz| format!(" Costs are given for a core at {:.2} GHz.", hertz / 1e9));
    Some(format!(
        "Runs differ by {share} (standard deviation) beyond their own intervals, {origin}.{}",
        clock.unwrap_or_default()
    ))
}

/// What `--fail-above` found, with so many costs by name.
pub(super) fn limit(comparison: &Comparison, share: f64, most_named: usize) -> String {
    let mut over: Vec<String> = comparison
        .slower_by_more_than(share)
        .map(|pair| format!("{} ({})", label(pair), quantity(pair.quantity)))
        .collect();
    let more = over.len().saturating_sub(most_named);
    over.truncate(most_named);
    if more > 0 {
        over.push(format!("and {more} more"));
    }
    let percent = in_percent(share);
    if over.is_empty() && comparison.basis == Basis::Observations {
        format!("No number is shown to be higher, with a ratio above the limit of {percent}.")
    } else if over.is_empty() {
        format!("No cost is shown to be slower, with a ratio above the limit of {percent}.")
    } else {
        format!("Grown by more than {percent}: {}.", over.join("; "))
    }
}
