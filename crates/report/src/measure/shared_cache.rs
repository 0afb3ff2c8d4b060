//! Shows a cache that two tasks time-share or use concurrently, and which of the two costs more.

use itertools::Itertools;
use switchcost_analysis::{Findings, Interval, LosesMore, SharedCache};
use switchcost_units::Bytes;

use super::conditions::walk;
use super::figures;
use super::row::loses_more;
use crate::quantity::{centre, number, time, times, with_bound, with_interval};
use crate::{Grid, Page};

/// Returns sentences on which way of sharing costs more at each size, and on the largest
/// difference; `None` if no sharing was measured.
pub(super) fn describe_sharing(findings: &Findings) -> Option<String> {
    let all = &findings.shared_cache;
    if all.is_empty() {
        return None;
    }
    let sizes =
        |wanted: LosesMore| sizes_of(all, |one| one.why.is_none() && one.loses_more == wanted);
    let mut parts = Vec::new();
    parts.extend(sizes(LosesMore::InTurn).map(|sizes| {
        format!("Time-sharing one CPU loses more than running concurrently on two with {sizes}")
    }));
    parts.extend(sizes(LosesMore::AtOnce).map(|sizes| {
        format!("Running concurrently on two CPUs loses more than time-sharing one with {sizes}")
    }));
    parts.extend(
        sizes(LosesMore::Inconclusive)
            .map(|sizes| format!("Which of the two loses more is undecided with {sizes}")),
    );
    let withheld = all
        .iter()
        .find_map(|one| Some((one.working_set.size_bytes, one.why.as_ref()?)));
    parts.extend(withheld.map(|(size, why)| match parts.is_empty() {
        true => format!("Time-sharing and concurrent use were not compared: {why}"),
        false => format!("Not compared with {size}: {why}"),
    }));
    parts.extend(largest(all));
    Some(parts.iter().map(|part| format!("{part}.")).join(" "))
}

/// Formats the sizes for which `is_wanted` is true, such as `16 KiB, 512 KiB and 2 MiB`; `None` if
/// there are none.
fn sizes_of(all: &[SharedCache], is_wanted: impl Fn(&SharedCache) -> bool) -> Option<String> {
    let mut sizes: Vec<Bytes> = all
        .iter()
        .filter(|one| is_wanted(one))
        .map(|one| one.working_set.size_bytes)
        .collect();
    sizes.dedup();
    let words: Vec<String> = sizes.iter().map(Bytes::to_string).collect();
    let (last, rest) = words.split_last()?;
    let each = "of data each";
    Some(if rest.is_empty() {
        format!("{last} {each}")
    } else {
        format!("{} and {last} {each}", rest.join(", "))
    })
}

/// Returns a sentence on the array size at which time-sharing a cache and using it concurrently
/// differ most, as a share of a traversal without sharing; `None` if no difference is significant.
fn largest(all: &[SharedCache]) -> Option<String> {
    let share = |one: &SharedCache| {
        let reported = one
            .in_turn_less_at_once_ns
            .filter(|_| one.loses_more != LosesMore::Inconclusive)?;
        Some(reported.estimate.abs() / one.alone_ns.as_ref()?.estimate)
    };
    let (one, _) = all
        .iter()
        .filter_map(|one| Some((one, share(one)?)))
        .max_by(|(_, a), (_, b)| a.total_cmp(b))?;
    let (in_turn, at_once) = (one.in_turn_ns.as_ref()?, one.at_once_ns.as_ref()?);
    let difference = one.in_turn_less_at_once_ns?;
    let alone = time(one.alone_ns.as_ref()?.estimate);
    Some(format!(
        "With {} ({}) a traversal takes {alone} alone, {} more after a switch, and {} more next to the other task: a difference of {}",
        one.working_set.size_bytes,
        walk(&one.working_set),
        with_bound(in_turn),
        with_bound(at_once),
        apart(difference)
    ))
}

/// Formats a difference without its sign, because the sentence names the side that costs more.
fn apart(difference: Interval) -> String {
    let [estimate, a, b] = [difference.estimate, difference.low, difference.high].map(f64::abs);
    times(Interval::new(estimate, a.min(b), a.max(b)))
}

/// Adds the table and the figure of shared caches; nothing if no sharing was measured.
pub(super) fn add(page: &mut Page, findings: &Findings) {
    let all = &findings.shared_cache;
    if all.is_empty() {
        return;
    }
    page.heading(
        "A time-shared and a concurrently used cache",
        "time per traversal alone, and extra time if shared",
    );
    page.figure(|| figures::shared_cache(findings));
    page.grid(grid(all, page.is_detailed()));
    page.prose("time-shared: two tasks on one CPU, one traversal per time slice; concurrent: each on its own CPU; difference: time-shared \
         minus concurrent; even at: traversals per time slice at which both lose the same");
    if page.is_detailed() {
        page.items(all.iter().filter_map(|one| {
            let (size, why) = (one.working_set.size_bytes, one.why.as_ref()?);
            Some(format!("{size}: not compared: {why}"))
        }));
    }
    page.method(["shared-cache"]);
}

/// Creates a table with a row for each size. A detailed table has intervals and differences. A
/// short table has estimates or upper limits.
fn grid(all: &[SharedCache], is_detailed: bool) -> Grid {
    let text = if is_detailed {
        with_interval
    } else {
        with_bound
    };
    let row = |one: &SharedCache| {
        let difference = one.in_turn_less_at_once_ns.filter(|_| is_detailed);
        entries![
            one.working_set.size_bytes.to_string(),
            walk(&one.working_set),
            one.alone_ns.as_ref().map(centre),
            one.in_turn_ns.as_ref().map(text),
            one.at_once_ns.as_ref().map(text),
            difference.map(times),
            even_at(one),
            loses_more(one)
        ]
    };
    Grid::new(2)
        .right(["size"])
        .left(["access"])
        .right([
            "alone",
            "time-shared",
            "concurrent",
            "difference",
            "even at",
        ])
        .left(["loses more"])
        .with_rows(all.iter().map(row))
}

/// Returns the number of traversals per time slice at which time-sharing a cache and using it
/// concurrently cost the same; `None` if this number is at most 1, if an interval of the two costs
/// is not above 0, or if the costs were not compared.
fn even_at(one: &SharedCache) -> Option<String> {
    let (in_turn, at_once) = (one.in_turn_ns.as_ref()?, one.at_once_ns.as_ref()?);
    let is_reported = one.why.is_none() && in_turn.low > 0.0 && at_once.low > 0.0;
    let walks = in_turn.estimate / at_once.estimate;
    // A time slice has at least one walk.
    (is_reported && walks > 1.0).then(|| number(walks))
}
