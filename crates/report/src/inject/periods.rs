//! Shows the cost of a preemption as a function of the period, which tells whether longer time
//! slices lose more.

use switchcost_analysis::Estimate;
use switchcost_analysis::injection::{Findings, PeriodFinding};

use super::tables::{cell, cost_text};
use crate::quantity::{interval, is_below_zero, is_cost, rounded, share, time, with_interval};
use crate::{Entry, Grid, Page};

/// Returns a sentence that compares the first period with the period that differs most from it;
/// `None` if only one period was measured, or if the difference of the costs is unknown.
pub(super) fn answer(findings: &Findings) -> Option<String> {
    let (first, others) = findings.periods.split_first()?;
    let ratio = |other: &&PeriodFinding| {
        (other.period_ns.0 as f64 / first.period_ns.0.max(1) as f64)
            .ln()
            .abs()
    };
    let other = others.iter().max_by(|a, b| ratio(a).total_cmp(&ratio(b)))?;
    let more = other.more_than_first_ns.as_ref()?.as_ref().ok()?;
    let instead = format!(
        "Preempted every {} instead of every {}",
        describe_period(other),
        describe_period(first)
    );
    Some(format!(
        "{instead}, {}.",
        compared(findings, more, other.period_ns > first.period_ns)
    ))
}

fn describe_period(period: &PeriodFinding) -> String {
    time(period.period_ns.0 as f64)
}

fn compared(findings: &Findings, more: &Estimate, is_longer: bool) -> String {
    let what = if is_of_caches(findings) {
        " for cold caches"
    } else {
        ""
    };
    if is_cost(more) {
        let why = if is_longer {
            ", since a longer time slice loads more data to lose"
        } else {
            ""
        };
        return format!(
            "it pays {} more{what} each time ({}){why}",
            time(more.estimate),
            interval(more)
        );
    }
    if is_below_zero(more) {
        let less = Estimate {
            estimate: -more.estimate,
            low: -more.high,
            high: -more.low,
            ..more.clone()
        };
        let why = if is_longer {
            ""
        } else {
            ", since a shorter time slice loads less data to lose"
        };
        return format!(
            "it pays {} less{what} each time ({}){why}",
            time(less.estimate),
            interval(&less)
        );
    }
    let difference = with_interval(more);
    if findings.is_in_proportion(more) {
        return format!(
            "the difference{what} per preemption is {difference}: the total cost is proportional to the number of preemptions"
        );
    }
    format!(
        "the difference{what} per preemption is {difference}; a narrower interval takes more time (--budget)"
    )
}

/// Returns true if periods are compared by the cost of cold caches, and false if they are compared
/// by the whole cost of a preemption.
fn is_of_caches(findings: &Findings) -> bool {
    findings
        .first()
        .is_some_and(|first| first.footprint_bytes.0 > 0)
        || findings.service.is_some()
}

/// Adds a table with a row for each period; nothing if only one period was measured.
pub(super) fn add(page: &mut Page, findings: &Findings) {
    if findings.periods.is_empty() {
        return;
    }
    let touched = findings.first().map_or(0, |first| first.footprint_bytes.0);
    let what = if touched == 0 {
        "nothing".to_owned()
    } else {
        switchcost_units::Bytes(touched).to_string()
    };
    page.table(
        "Cost by period",
        format!("the preempting task touches {what}; with 90 % confidence intervals"),
        table(findings),
    );
}

pub(super) fn table(findings: &Findings) -> Grid {
    let is_service = findings.service.is_some();
    let first = findings
        .periods
        .first()
        .map_or(String::new(), describe_period);
    let more = format!("difference to {first} (interval)");
    let of_all = ["cost (interval)", "share of time"];
    let mut columns = vec!["preempted every", "per second"];
    columns.extend(of_all.iter().filter(|_| !is_service));
    columns.extend([
        "cold caches (interval)",
        &more,
        if is_service { "groups" } else { "runs" },
    ]);
    Grid::new(1).right(columns).with_rows(
        findings
            .periods
            .iter()
            .map(|period| row(findings, period, is_service)),
    )
}

fn row(findings: &Findings, period: &PeriodFinding, is_service: bool) -> Vec<Entry> {
    let mut row: Vec<Entry> = entries![
        describe_period(period),
        rounded(period.preemptions_per_second)
    ];
    let Some(found) = period.headline(findings) else {
        return row;
    };
    if !is_service {
        let loss = found
            .cost_ns
            .as_ref()
            .map(|cost| cost.estimate * period.preemptions_per_second / 1e9);
        row.extend(entries![cost_text(found.cost_ns.as_ref()), share(loss)]);
    }
    row.extend(entries![
        cell(&found.reload_ns),
        cell(&period.more_than_first_ns),
        found.runs.to_string(),
    ]);
    row
}
