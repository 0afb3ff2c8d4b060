//! Renders the system calls of a hand-off, as sentences and as rows. The cost of a switch does not
//! include these calls.

use switchcost_analysis::compare::{CALLS_OF_A_CASE, Change, Comparison, Pair, Quantity};

use super::pairs::{changed, grid};
use super::words::{judged, shown_change, side};
use crate::Page;

/// Maximum number of cases with changed system calls that get rows on one screen.
const MOST_CASES: usize = 4;

/// Selects the cases whose system calls get rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    /// Cases whose system calls differ significantly, up to the number that fits on one screen.
    Changed,
    /// All cases whose system calls were measured.
    All,
}

pub(super) fn add(page: &mut Page, comparison: &Comparison, which: Which) {
    let is_wanted = |case: &&[Pair]| which == Which::All || case.iter().any(is_changed);
    let mut cases: Vec<&[Pair]> = comparison
        .calls
        .chunks(CALLS_OF_A_CASE)
        .filter(is_wanted)
        .collect();
    let most = if which == Which::All {
        usize::MAX
    } else {
        MOST_CASES
    };
    let all = cases.len();
    cases.truncate(most);
    if cases.is_empty() {
        return;
    }
    page.table(
        "System calls per hand-off",
        "in both arms, so not included above",
        grid(&cases.concat().iter().collect::<Vec<_>>(), true),
    );
    page.more(all, most);
}

/// Returns a sentence on the system calls of a hand-off; empty if no significant difference was
/// found.
pub(super) fn sentence(comparison: &Comparison) -> String {
    let calls: Vec<&[Pair]> = comparison.calls.chunks(CALLS_OF_A_CASE).collect();
    match calls[..] {
        [[calls, with_calls]] if is_changed(calls) => call_sentence(calls, with_calls),
        _ => calls_sentence(comparison),
    }
}

fn call_sentence(calls: &Pair, with_calls: &Pair) -> String {
    format!(
        " Per hand-off, system calls (in both arms, so not included) take {}. A hand-off with them takes {}.",
        said(calls),
        said(with_calls)
    )
}

fn calls_sentence(comparison: &Comparison) -> String {
    let calls: Vec<&Pair> = comparison
        .calls
        .iter()
        .filter(|pair| pair.quantity == Quantity::Calls)
        .collect();
    let count = |change| {
        calls
            .iter()
            .filter(|pair| shown_change(&pair.outcome) == Some(change))
            .count()
    };
    let (slower, faster) = (count(Change::Slower), count(Change::Faster));
    if slower + faster == 0 {
        return String::new();
    }
    let found = changed(slower, faster, &format!("{} cases", calls.len()));
    format!(" System calls per hand-off (in both arms, so not included) are {found}.")
}

/// Formats a pair, such as `545 ns instead of 412 ns: 1.323 times (1.301 to 1.346), slower`.
fn said(pair: &Pair) -> String {
    let [base, new] = [&pair.base, &pair.new].map(|cost| side(cost.as_ref(), pair));
    let found = judged(pair, "times").map_or(String::new(), |words| format!(": {words}"));
    format!("{new} instead of {base}{found}")
}

fn is_changed(pair: &Pair) -> bool {
    shown_change(&pair.outcome).is_some()
}
