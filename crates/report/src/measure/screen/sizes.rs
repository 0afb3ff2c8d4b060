use std::ops::RangeInclusive;

use itertools::Itertools;
use switchcost_analysis::{CaseFinding, Estimate, Findings};
use switchcost_record::Case;
use switchcost_workload::WorkingSet;

use crate::measure::answer::TYPICAL_SIZE;
use crate::measure::conditions::{Condition, MECHANISM, RUN, WALK, names, split, values};
use crate::measure::row::{bound, has_numbers, marked, unmeasured_cell};
use crate::quantity::{is_cost, plus_minus, with_bound};
use crate::{Entry, Grid, Page};

/// Least and largest number of sizes shown, if there are more.
const ROWS: RangeInclusive<usize> = 4..=7;

/// Number of lines above the first size: an empty line, the heading, the column names and a rule.
const LINES_ABOVE: usize = 4;

/// Length of the longest bar, in characters.
const LONGEST_BAR: f64 = 20.0;

/// Least ratio of costs between the two ends of a bar's scale. With this ratio a factor of two is
/// at most five characters, so that nearly equal costs look equal.
const LEAST_RANGE: f64 = 16.0;

const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// Adds a table of the total cost by size and its two parts. The table ends by line `last_line` of
/// the screen, if [`ROWS`] allows.
pub(super) fn add(page: &mut Page, findings: &Findings, last_line: usize) {
    let members: Vec<&CaseFinding> = match findings.curves.first() {
        Some(curve) => curve
            .points
            .iter()
            .filter_map(|point| findings.results.get(point.result))
            .collect(),
        None => {
            let is_compared = |f: &&CaseFinding| !f.case.working_set.is_empty();
            findings.results.iter().filter(is_compared).collect()
        }
    };
    let is_switch = |case: &Case| case.away.is_none() && case.mechanism.hands_over();
    let members: Vec<&CaseFinding> = members
        .into_iter()
        .filter(|finding| is_switch(&finding.case))
        .collect();
    if members.is_empty() {
        return;
    }
    let cases: Vec<_> = members.iter().map(|finding| &finding.case).collect();
    let conditions: Vec<Condition> = MECHANISM.iter().chain(&RUN).chain(&WALK).copied().collect();
    let (varying, common) = split(&conditions, &cases);
    let all = members.len();
    let has_parts = members
        .iter()
        .any(|member| member.indirect_kernel_ns.is_some());
    let room = last_line.saturating_sub(page.lines() + LINES_ABOVE + usize::from(has_parts));
    let rows = all.min(room.clamp(*ROWS.start(), *ROWS.end()));
    let shown = if all > rows {
        format!("{rows} of {all} sizes")
    } else {
        String::new()
    };
    let mut conditions = [unusual(&members, common), shown]
        .into_iter()
        .filter(|words| !words.is_empty());
    page.table(
        "Cost of a switch with data",
        conditions.join(", "),
        grid(&chosen(&members, rows), &varying),
    );
    if has_parts {
        page.prose("total = direct cost + kernel path (cold switch code) + reload; each is estimated separately");
    }
}

/// Formats the conditions that all results share, without default conditions; empty if there are
/// none.
fn unusual(members: &[&CaseFinding], common: Vec<String>) -> String {
    let case = &members[0].case;
    let usual = Case {
        working_set: WorkingSet {
            stride_bytes: case.working_set.stride_bytes,
            ..WorkingSet::NONE
        },
        tasks: 2,
        ..case.clone()
    };
    let said: Vec<String> = RUN
        .iter()
        .chain(&WALK[1..])
        .map(|condition| (condition.phrase)(&usual))
        .collect();
    common
        .into_iter()
        .filter(|phrase| !said.contains(phrase))
        .join(", ")
}

/// Selects up to `rows` results at even distances, including the first, the last, and the size that
/// the answer names.
fn chosen<'a>(members: &[&'a CaseFinding], rows: usize) -> Vec<&'a CaseFinding> {
    let last = members.len() - 1;
    if last < rows {
        return members.to_vec();
    }
    let mut places: Vec<usize> = (0..rows)
        .map(|row| (row * last + (rows - 1) / 2) / (rows - 1))
        .collect();
    let named = members
        .iter()
        .position(|finding| finding.case.working_set.size_bytes == TYPICAL_SIZE);
    if let Some(named) = named.filter(|named| !places.contains(named)) {
        let inner = &mut places[1..rows - 1];
        if let Some(nearest) = inner.iter_mut().min_by_key(|place| place.abs_diff(named)) {
            *nearest = named;
        }
    }
    places.into_iter().map(|place| members[place]).collect()
}

fn grid(members: &[&CaseFinding], varying: &[Condition]) -> Grid {
    let mut grid = Grid::new(varying.len() + 1)
        .left(names(varying))
        .right(["size", "total", "+-", "kernel path", "reload"])
        .left(["total, log scale"]);
    let totals = || {
        members
            .iter()
            .filter_map(|finding| total(finding))
            .filter(|total| is_cost(total))
    };
    let ends = totals().map(|total| total.estimate.ln());
    let (low, high) = ends.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), end| {
        (low.min(end), high.max(end))
    });
    for finding in members {
        let mut row: Vec<Entry> = values(varying, &finding.case).collect();
        row.push(finding.case.working_set.size_bytes.to_string().into());
        match total(finding) {
            None => row.push(unmeasured_cell(finding)),
            Some(total) => {
                row.extend(entries![
                    marked(finding, &with_bound(total)),
                    plus_minus(total),
                    bound(&finding.indirect_kernel_ns),
                    bound(&finding.indirect_reload_ns),
                    bar(total, low, high),
                ]);
            }
        }
        grid.row(row);
    }
    grid
}

fn total(finding: &CaseFinding) -> Option<&Estimate> {
    finding
        .total_ns
        .as_ref()
        .filter(|total| has_numbers(finding) && total.estimate.is_finite())
}

/// Draws a total cost as a bar on a logarithmic scale. The scale spans all totals, and at least
/// [`LEAST_RANGE`].
fn bar(total: &Estimate, low: f64, high: f64) -> String {
    if !is_cost(total) || high <= low {
        return String::new();
    }
    let range = (high - low).max(LEAST_RANGE.ln());
    let eighths =
        ((1.0 + (LONGEST_BAR - 1.0) * (total.estimate.ln() - low) / range) * 8.0).round() as usize;
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quantity::tests::estimate;

    fn bars(totals: &[f64]) -> Vec<usize> {
        let of = |ns: &f64| estimate(*ns * 0.99, *ns, *ns * 1.01);
        let logarithms = || totals.iter().map(|ns| ns.ln());
        let (low, high) = (
            logarithms().fold(f64::INFINITY, f64::min),
            logarithms().fold(0.0, f64::max),
        );
        totals
            .iter()
            .map(|ns| bar(&of(ns), low, high).chars().count())
            .collect()
    }

    #[test]
    fn costs_that_are_nearly_the_same_have_the_same_bars() {
        assert_eq!(bars(&[2_000.0, 2_004.0, 2_010.0]), [1, 1, 1]);
        assert_eq!(bars(&[1_000.0, 2_000.0, 4_000.0]), [1, 6, 11]);
        assert_eq!(
            bars(&[1_000.0, 1_000_000.0]),
            [1, 20],
            "a larger range has all of the width"
        );
    }
}
