use switchcost_analysis::{Curve, CurvePoint, Findings, Knee, Region, Verdict};
use switchcost_record::MeasureRecord;
use switchcost_units::Bytes;

use super::figures;

use crate::Page;
use crate::quantity::{cost, is_cost, percent, time};
use crate::sparkline::sparkline;

/// Adds the figure of the first curve over the size of the working set, if there is one.
pub(super) fn add_first_figure(page: &mut Page, record: &MeasureRecord, findings: &Findings) {
    if let Some(curve) = findings.curves.first() {
        page.figure(|| figures::sizes(&record.header.host, findings, curve, 0));
    }
}

/// Adds each curve as a line of block characters, with its regions and knees in words, and the
/// machine's load latencies.
pub(super) fn add(page: &mut Page, record: &MeasureRecord, findings: &Findings) {
    for (number, curve) in findings.curves.iter().enumerate() {
        page.heading("Total cost by size", &curve.title);
        if number > 0 {
            page.figure(|| figures::sizes(&record.header.host, findings, curve, number));
        }
        page.figure(|| figures::parts(findings, curve, number));
        add_curve(page, findings, curve);
        page.method(["total-and-indirect-cost", "knees-and-bounds"]);
    }
    let points: Vec<_> = findings
        .latencies_ns
        .iter()
        .map(|load| (load.size_bytes, load.load_ns))
        .collect();
    if !points.is_empty() {
        page.heading("Load latency by size", "a pointer chase, timed in this run");
        page.figure(|| figures::latency(&record.header.host, &points));
        if !page.has_figures() {
            page.item(plot(&points));
        }
    }
}

fn add_curve(page: &mut Page, findings: &Findings, curve: &Curve) {
    let points: Vec<_> = curve
        .points
        .iter()
        .map(|point| (point.size_bytes, drawn(findings, point)))
        .collect();
    if !page.has_figures() {
        page.item(plot(&points));
    }
    for region in &curve.regions {
        page.item(describe_region(region));
    }
    for knee in &curve.knees {
        page.item(knee_in_words(knee));
    }
    let results = curve
        .points
        .iter()
        .filter_map(|point| findings.results.get(point.result));
    let suspect = results
        .filter(|finding| finding.verdict == Verdict::Suspect)
        .count();
    if suspect > 0 {
        page.item(format!(
            "suspect: {suspect} of {} sizes",
            curve.points.len()
        ));
    }
}

/// Returns the total cost of a curve's point in ns; NaN if the point is not a cost.
fn drawn(findings: &Findings, point: &CurvePoint) -> f64 {
    let total = findings
        .results
        .get(point.result)
        .and_then(|finding| finding.total_ns.as_ref());
    if total.is_some_and(is_cost) {
        point.total_ns
    } else {
        f64::NAN
    }
}

/// Formats a curve of sizes in bytes and costs in ns, such as `4 KiB ▁▂█ 4 MiB, 1.75 us to 52.1 us
/// (log scale)`.
fn plot(points: &[(u64, f64)]) -> String {
    let (Some((first, _)), Some((last, _))) = (points.first(), points.last()) else {
        return String::new();
    };
    let mut drawn: Vec<f64> = points.iter().map(|(_, ns)| *ns).collect();
    drawn.retain(|ns| ns.is_finite() && *ns > 0.0);
    drawn.sort_by(f64::total_cmp);
    let (low, range) = match (drawn.first(), drawn.last()) {
        (Some(low), Some(high)) => {
            let range = format!("{} to {} (log scale)", time(*low), time(*high));
            (low.ln(), range)
        }
        _ => (0.0, "no point above 0".to_owned()),
    };
    let logs: Vec<f64> = points.iter().map(|(_, ns)| ns.ln()).collect();
    let line = sparkline(&logs, low);
    format!("{} {line} {}, {range}", Bytes(*first), Bytes(*last))
}

fn describe_region(region: &Region) -> String {
    let (from, to) = (Bytes(region.from_bytes), Bytes(region.to_bytes));
    let sizes = if from == to {
        from.to_string()
    } else {
        format!("{from} to {to}")
    };
    format!(
        "{}: {sizes}, {} to {}",
        region.name,
        cost(region.low_ns),
        cost(region.high_ns)
    )
}

fn knee_in_words(knee: &Knee) -> String {
    let (after, before) = (Bytes(knee.after_bytes), Bytes(knee.before_bytes));
    let cause = knee
        .cause
        .as_deref()
        .unwrap_or("no cache or TLB of this machine ends there");
    format!(
        "knee between {after} and {before} (confidence {}): {cause}",
        percent(knee.confidence)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_that_cannot_be_drawn_is_seen() {
        let points = [1.0, -2.0, f64::NAN, 0.0, f64::INFINITY, 10.0, 1e4].map(|ns| (4096, ns));
        assert_eq!(
            plot(&points),
            "4 KiB ▁····▃█ 4 KiB, 1.00 ns to 10.0 us (log scale)"
        );
        assert_eq!(plot(&[(4096, -1.0)]), "4 KiB · 4 KiB, no point above 0");
        assert_eq!(plot(&[]), "");
    }
}
