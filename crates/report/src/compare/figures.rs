//! Charts that compare the costs of both sides.

use switchcost_analysis::compare::{
    Comparison, Cost, Curve, Pair, Part, Place, Quantity, Subject, Unit,
};
use switchcost_record::Case;

use super::words::{design, label, part_of, with_interval};
use crate::figure::{Axis, Chart, Look, Point, Scale, Series};
use crate::measure::conditions::{placement, walk};
use crate::{Page, quantity};

/// Adds the figures: measured costs by mechanism and by size, and simulated costs by design and by
/// the instructions since a switch.
pub(super) fn add(page: &mut Page, comparison: &Comparison) {
    if !page.has_figures() {
        return;
    }
    let intervals = about_intervals(comparison.confidence);
    add_measured(page, &comparison.pairs, &intervals);
    add_designs(page, &comparison.pairs, &intervals);
    for (number, curve) in comparison.curves.iter().enumerate() {
        add_curve(page, curve, number);
    }
}

/// Returns sentences on the drawn intervals, for captions.
fn about_intervals(share: f64) -> String {
    let percent = quantity::confidence(share);
    format!(
        "Bars: the interval of each side ({percent}). The verdict comes from the interval of the ratio, in the table."
    )
}

/// Returns the cost of one side as a point with its interval; a gap if the cost is not above 0.
pub(super) fn point(x: f64, cost: Option<&Cost>, unit: Unit) -> Point {
    let Some(cost) = cost else {
        return Point::gap(x, "");
    };
    let text = with_interval(cost, unit);
    match cost.interval {
        _ if cost.value <= 0.0 => Point::gap(x, text),
        Some((low, high)) if high > 0.0 => Point::new(x, cost.value, text).between(low, high),
        _ => Point::new(x, cost.value, text),
    }
}

fn sides(look: Look, pairs: &[(f64, &Pair)]) -> [Series; 2] {
    let side = |name: &str, cost: fn(&Pair) -> Option<&Cost>| {
        let points = pairs
            .iter()
            .map(|(x, pair)| point(*x, cost(pair), pair.quantity.unit()));
        Series::new(look, name, points)
    };
    [
        side("base", |pair| pair.base.as_ref()),
        side("new", |pair| pair.new.as_ref()),
    ]
}

/// Draws a chart with both costs of each pair at the pair's name.
fn chart_by_name(name: &str, title: &str, pairs: Vec<(String, &Pair)>, y: Axis) -> Chart {
    let (names, pairs): (Vec<String>, Vec<&Pair>) = pairs.into_iter().unzip();
    let pairs: Vec<(f64, &Pair)> = pairs
        .into_iter()
        .enumerate()
        .map(|(place, pair)| (place as f64, pair))
        .collect();
    Chart::new(name, title, Axis::names("", names), y).with(sides(Look::Dots, &pairs))
}

/// Pairs that differ only in the size of the working set, with that size in bytes.
struct Sizes<'a> {
    like: &'a Case,
    pairs: Vec<(f64, &'a Pair)>,
}

fn add_measured(page: &mut Page, pairs: &[Pair], intervals: &str) {
    let (curves, others) = curves(pairs);
    if !others.is_empty() {
        page.heading("Both sides by mechanism", "");
        let named = others
            .iter()
            .map(|pair| (format!("{} ({})", label(pair), pair.quantity.name()), *pair))
            .collect();
        let y = Axis::new(Scale::Time, "cost");
        page.figure(|| {
            chart_by_name("mechanisms", "Mechanisms side by side", named, y).caption(intervals)
        });
    }
    for (number, curve) in curves.iter().enumerate() {
        let name = conditions(curve.like);
        page.heading("Both sides by size", &name);
        page.figure(|| chart_by_size(curve, &name, number, intervals));
    }
}

fn chart_by_size(curve: &Sizes<'_>, name: &str, number: usize, intervals: &str) -> Chart {
    let x = Axis::new(Scale::Size, "size of each task's array");
    let y = Axis::new(Scale::Time, "cost of a switch");
    Chart::new(
        format!("sizes-{}", number + 1),
        format!("Total cost by size: {name}"),
        x,
        y,
    )
    .with(sides(Look::Line, &curve.pairs))
    .caption(intervals)
}

/// Returns the curves of measured pairs over the size of the working set, in ascending order of
/// size, and the measured pairs that belong to no curve.
fn curves(pairs: &[Pair]) -> (Vec<Sizes<'_>>, Vec<&Pair>) {
    let (mut curves, mut others): (Vec<Sizes<'_>>, Vec<&Pair>) = (Vec::new(), Vec::new());
    for (case, pair) in pairs.iter().filter_map(|pair| Some((pair.case()?, pair))) {
        let point = (case.working_set.size_bytes.0 as f64, pair);
        if case.working_set.is_empty() {
            others.push(pair);
        } else if let Some(curve) = curves.iter_mut().find(|curve| is_alike(curve.like, case)) {
            curve.pairs.push(point);
        } else {
            curves.push(Sizes {
                like: case,
                pairs: vec![point],
            });
        }
    }
    let is_single = |curve: &Sizes<'_>| curve.pairs.len() == 1;
    others.extend(
        curves
            .iter()
            .filter(|curve| is_single(curve))
            .map(|curve| curve.pairs[0].1),
    );
    curves.retain(|curve| !is_single(curve));
    for curve in &mut curves {
        curve.pairs.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    }
    (curves, others)
}

fn is_alike(a: &Case, b: &Case) -> bool {
    let mut resized = b.clone();
    resized.working_set.size_bytes = a.working_set.size_bytes;
    resized.switches = a.switches;
    *a == resized
}

fn conditions(case: &Case) -> String {
    let mut words = vec![format!("{} {}", case.name(), case.between)];
    if case.tasks != 2 {
        words.push(format!("{} tasks", case.tasks));
    }
    words.push(walk(&case.working_set));
    if !case.placement.is_one_cpu() {
        words.push(placement(case));
    }
    words.join(", ")
}

/// Adds charts of the cost of a simulated switch on both sides: one chart of all designs, then
/// charts of each design by cause and by program.
fn add_designs(page: &mut Page, pairs: &[Pair], intervals: &str) {
    let drawn: Vec<(&Place, &Pair)> = pairs
        .iter()
        .filter_map(|pair| Some((place(pair)?, pair)))
        .collect();
    let caption = format!(
        "All switches and each cause: the cost up to the cut-off. Programs: the excess cycles to the end of each segment. Costs \
         of 0 or less are not drawn. {intervals}"
    );
    let figure = |name: &str, title: &str, pairs: Vec<(String, &Pair)>| {
        let y = Axis::new(Scale::Log, "simulated cycles a switch");
        chart_by_name(name, title, pairs, y).caption(&caption)
    };
    let designs: Vec<&[(&Place, &Pair)]> =
        drawn.chunk_by(|a, b| design(a.0) == design(b.0)).collect();
    if designs.len() > 1 {
        let all = drawn.iter().filter(|(place, _)| place.part == Part::All);
        let named = all.map(|(place, pair)| (design(place), *pair)).collect();
        page.heading("Both sides by design", "simulated");
        page.figure(|| figure("designs", "Cost of a simulated switch by design", named));
    }
    for (number, pairs) in designs.iter().enumerate() {
        let design = design(pairs[0].0);
        let part = |(place, pair): &(&Place, &'_ Pair)| part_of(place, pair.quantity);
        let named = pairs.iter().map(|pair| (part(pair), pair.1)).collect();
        page.heading(
            "Both sides by cause and program",
            format!("{design}, simulated"),
        );
        let title = format!("Cost of a simulated switch: {design}");
        page.figure(|| figure(&format!("parts-{}", number + 1), &title, named));
    }
}

/// Returns the part and the designs that a simulated cost belongs to; `None` for other numbers, or
/// if the cost is above 0 on neither side.
fn place(pair: &Pair) -> Option<&Place> {
    let is_cost = matches!(
        pair.quantity,
        Quantity::AverageCost | Quantity::ExcessPerSwitch
    );
    let is_drawable = [pair.base, pair.new]
        .iter()
        .flatten()
        .any(|cost| cost.value > 0.0);
    match &pair.subject {
        Subject::Simulated(place) if is_cost && is_drawable => Some(place),
        _ => None,
    }
}

/// Adds a chart of the excess cycles since the switch on both sides, with a line for each record.
fn add_curve(page: &mut Page, curve: &Curve, number: usize) {
    let name = if curve.base_design == curve.new_design {
        curve.base_design.clone()
    } else {
        format!("{} to {}", curve.base_design, curve.new_design)
    };
    page.heading("Both sides since the switch", format!("{name}, simulated"));
    let lines = |look, side: &'static str, lines: &'_ [Vec<(u64, f64)>]| {
        let line = move |line: &Vec<(u64, f64)>| {
            let points = std::iter::once(&(0, 0.0)).chain(line);
            let point = |(at, cycles): &(u64, f64)| {
                Point::new(
                    *at as f64,
                    *cycles,
                    format!("{} cycles", Scale::Linear.words(*cycles)),
                )
            };
            Series::new(look, side, points.map(point))
        };
        lines
            .iter()
            .filter(|line| !line.is_empty())
            .map(line)
            .collect::<Vec<_>>()
    };
    let x = Axis::new(Scale::Linear, "instructions since the switch");
    let y = Axis::new(Scale::Linear, "simulated excess cycles");
    let (id, title) = (
        format!("cumulative-{}", number + 1),
        format!("Cumulative excess cycles: {name}"),
    );
    page.figure(|| {
        Chart::new(id, title, x, y)
            .with(lines(Look::Line, "base", &curve.base))
            .with(lines(Look::Dashed, "new", &curve.new))
            .caption(
                "Cumulative simulated cycles of a switch, up to the cut-off, where the curve gives the cost of the switch. One \
                 line per record; the new side is dashed.",
            )
    });
}
