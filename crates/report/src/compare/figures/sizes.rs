use switchcost_analysis::compare::{Pair, Unit};
use switchcost_record::Case;
use switchcost_units::Bytes;

use super::series::Series;
use super::{about_intervals, table};
use crate::figure::{Drawing, Figure, layout, size_axis, time_axis};
use crate::measure::conditions::{placement, walk};

/// Pairs that differ in the size of the working set alone.
pub(super) struct Curve<'a> {
    pub(super) name: String,
    like: &'a Case,
    pairs: Vec<(u64, &'a Pair)>,
}

/// The curves of measured pairs, each in ascending order of size, and the measured pairs that belong to none.
pub(super) fn curves(pairs: &[Pair]) -> (Vec<Curve<'_>>, Vec<&Pair>) {
    let measured: Vec<(&Case, &Pair)> = pairs
        .iter()
        .filter_map(|pair| Some((pair.case()?, pair)))
        .collect();
    let (with_set, others): (Vec<_>, Vec<_>) = measured
        .into_iter()
        .partition(|(case, _)| !case.working_set.is_empty());
    let mut others: Vec<&Pair> = others.into_iter().map(|(_, pair)| pair).collect();
    let mut curves: Vec<Curve<'_>> = Vec::new();
    for (case, pair) in with_set {
        let point = (case.working_set.size_bytes.0, pair);
        match curves.iter_mut().find(|curve| is_alike(curve.like, case)) {
            Some(curve) => curve.pairs.push(point),
            None => curves.push(Curve {
                name: name(case),
                like: case,
                pairs: vec![point],
            }),
        }
    }
    let (mut curves, single): (Vec<_>, Vec<_>) =
        curves.into_iter().partition(|curve| curve.pairs.len() > 1);
    others.extend(
        single
            .into_iter()
            .flat_map(|curve| curve.pairs)
            .map(|(_, pair)| pair),
    );
    for curve in &mut curves {
        curve.pairs.sort_by_key(|(size, _)| *size);
    }
    (curves, others)
}

fn is_alike(a: &Case, b: &Case) -> bool {
    let mut resized = b.clone();
    resized.working_set.size_bytes = a.working_set.size_bytes;
    resized.switches = a.switches;
    *a == resized
}

fn name(case: &Case) -> String {
    let tasks = if case.tasks == 2 {
        String::new()
    } else {
        format!(", {} tasks", case.tasks)
    };
    let place = if case.placement.is_one_cpu() {
        String::new()
    } else {
        format!(", {}", placement(case))
    };
    format!(
        "{} {}{tasks}, {}{place}",
        case.name(),
        case.between,
        walk(&case.working_set)
    )
}

/// Cost over size on both sides.
pub(super) fn draw(curve: &Curve<'_>, number: usize, confidence: f64) -> Option<Figure> {
    let sizes: Vec<u64> = curve.pairs.iter().map(|(size, _)| *size).collect();
    let [mut base, mut new] = Series::both(Unit::Ns);
    for (size, pair) in &curve.pairs {
        let (x, about) = (*size as f64, Bytes(*size).to_string());
        base.push(x, pair.base.as_ref(), &about);
        new.push(x, pair.new.as_ref(), &about);
    }
    let traces: Vec<_> = [base, new]
        .into_iter()
        .filter_map(|series| series.trace(true))
        .collect();
    if traces.is_empty() {
        return None;
    }
    let layout = layout()
        .x_axis(size_axis("size of each task's array", &sizes))
        .y_axis(time_axis("cost of a switch"));
    let rows = curve
        .pairs
        .iter()
        .map(|(size, pair)| (Bytes(*size).to_string(), *pair));
    Some(Figure {
        name: format!("sizes-{}", number + 1),
        title: format!("Total cost by size: {}", curve.name),
        caption: about_intervals(confidence),
        drawing: Drawing::new(traces, layout),
        table: Some(table("size", rows)),
    })
}
