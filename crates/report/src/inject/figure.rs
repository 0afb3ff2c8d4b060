use switchcost_analysis::Estimate;
use switchcost_analysis::injection::{Findings, FootprintFinding, PeriodFinding};

use super::periods;
use super::tables::costs;
use crate::figure::{Axis, Chart, Look, Point, Scale, Series};
use crate::quantity::{time, with_interval};

/// Draws the cost of a preemption as a function of the other task's footprint.
pub(super) fn draw(findings: &Findings) -> Chart {
    let found: Vec<&FootprintFinding> = findings.footprints.iter().collect();
    let names = found.iter().map(|found| found.footprint_bytes);
    let caption = if findings.service.is_some() {
        "Extra cost compared with a pause of the same length, by the memory that the preempting task touches, with 90 % intervals."
    } else {
        "By the memory that the preempting task touches, with 90 % intervals. Cold caches: the extra cost compared with no touched \
         memory, in the same runs."
    };
    let axis = Axis::names("the preempting task touches", names);
    chart(
        "preemption",
        "What a preemption costs",
        axis,
        &found,
        findings,
    )
    .caption(caption)
    .numbers(costs(findings))
}

/// Draws the cost of a preemption as a function of the period; `None` if only one period was
/// measured.
pub(super) fn over_periods(findings: &Findings) -> Option<Chart> {
    let mut periods: Vec<&PeriodFinding> = findings.periods.iter().collect();
    periods.sort_by_key(|period| period.period_ns);
    let (names, found): (Vec<String>, Vec<&FootprintFinding>) = periods
        .into_iter()
        .filter_map(|period| Some((time(period.period_ns.0 as f64), period.headline(findings)?)))
        .unzip();
    let touched = found.first()?.footprint_bytes;
    let (axis, title) = (
        Axis::names("preempted every", names),
        "Cost of a preemption by period",
    );
    Some(chart("period", title, axis, &found, findings)
        .caption(format!(
            "By the CPU time between preemptions, if the preempting task touches {touched}, with 90 % intervals. A rising curve: a \
             longer time slice loads more data to lose."
        ))
        .numbers(periods::table(findings)))
}

/// Creates a chart of the whole cost of a preemption and of its part for cold caches. For a service
/// the chart has only the part for cold caches.
fn chart(
    name: &str,
    title: &str,
    axis: Axis,
    found: &[&FootprintFinding],
    findings: &Findings,
) -> Chart {
    let series = |name: &str, cost: fn(&FootprintFinding) -> Option<&Estimate>| {
        let points = found.iter().enumerate().filter_map(|(place, found)| {
            let cost = cost(found)?;
            let point = Point::new(place as f64, cost.estimate, with_interval(cost));
            Some(point.between(cost.low, cost.high))
        });
        Series::new(Look::Line, name, points)
    };
    let all = series("a preemption", |found| found.cost_ns.as_ref());
    let caches = series("cold caches alone", FootprintFinding::reload);
    let is_service = findings.service.is_some();
    Chart::new(name, title, axis, Axis::new(Scale::Span, "cost"))
        .with((!is_service).then_some(all))
        .with([caches])
}
