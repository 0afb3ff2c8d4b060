use plotly::common::{Line, Marker, MarkerSymbol, Mode, Orientation};
use plotly::{Bar, Scatter, Trace};
use switchcost_analysis::observation::{Bounds, Findings, Of, Part, Payer, payers};

use super::{MOST_ROWS, beside_its_row};
use crate::entry::Entry;
use crate::figure::{Drawing, Figure, GREY, colour, label, linear_axis, rows_axis, rows_of_bars};
use crate::grid::Grid;
use crate::observe::tables::label as program;
use crate::page::Page;
use crate::quantity::{NO_NUMBER, Scale, time};
use crate::simulate::amount::count;

/// What switching costs each program, by cause.
pub(super) fn add(page: &mut Page, findings: &Findings) {
    let all = payers(findings);
    if all.is_empty() {
        return;
    }
    page.heading("Cost by program and cause", "as CPU time a second");
    page.figure(|| draw(&all));
    page.method(&["observing"]);
}

fn draw(all: &[Payer<'_>]) -> Option<Figure> {
    let payers = &all[..all.len().min(MOST_ROWS)];
    let farthest = payers.iter().flat_map(ends).reduce(f64::max)?;
    let scale = Scale::of(farthest);
    // Beyond all ends that are known.
    let beyond = BEYOND * farthest;
    let mut traces: Vec<Box<dyn Trace>> = parts(payers)
        .into_iter()
        .enumerate()
        .map(|(place, of)| bars(payers, of, place, scale))
        .collect();
    traces.push(ranges(payers, scale, beyond));
    traces.extend(open_ends(payers, scale, beyond));
    traces.extend(likely(payers, scale));
    let names: Vec<String> = payers
        .iter()
        .map(|payer| beside_its_row(&program(payer.found)))
        .collect();
    let layout = rows_of_bars(names.len(), traces.len())
        .x_axis(linear_axis(&format!("{} a second", scale.unit)))
        .y_axis(rows_axis(&names));
    Some(Figure {
        name: "costs".to_owned(),
        title: "Cost of switching by program and cause".to_owned(),
        caption: caption(all, payers),
        drawing: Drawing::new(traces, layout),
        table: Some(table(all)),
    })
}

fn caption(all: &[Payer<'_>], drawn: &[Payer<'_>]) -> String {
    let mut text =
        "Bars: what is likely, as CPU time a second: the direct cost of the switches of each cause, and cold \
                    caches, which belong to no cause. Lines: from the least to the most that it all may be."
            .to_owned();
    if drawn.iter().any(|payer| payer.cost.high.is_none()) {
        text += " An arrow: what cold caches cost is not known, and the line has no end.";
    }
    if drawn.iter().any(|payer| payer.found.indirect_ns.is_none()) {
        text += " Without a part for cold caches: what they cost is not known there.";
    }
    if all.len() > drawn.len() {
        text += &format!(
            " {} more programs are in the table.",
            count((all.len() - drawn.len()) as u64)
        );
    }
    text
}

/// All ends that are known, of its parts, too.
fn ends<'a>(payer: &'a Payer<'_>) -> impl Iterator<Item = f64> + 'a {
    let costs = payer.parts.iter().map(|part| part.cost);
    costs
        .chain([payer.cost])
        .flat_map(|cost| [Some(cost.low), cost.likely, cost.high])
        .flatten()
}

/// What there is to pay for, in the order in which programs first pay for it; caches last.
fn parts(payers: &[Payer<'_>]) -> Vec<Of> {
    let mut found: Vec<Of> = Vec::new();
    for part in payers.iter().flat_map(|payer| &payer.parts) {
        if !found.contains(&part.of) {
            found.push(part.of);
        }
    }
    found.sort_by_key(|of| *of == Of::Reloading);
    found
}

fn name(of: Of) -> &'static str {
    match of {
        Of::Cause(why) => why.in_words(),
        Of::AnyCause => "directly, whatever the cause",
        Of::Reloading => "cold caches",
    }
}

fn bars(payers: &[Payer<'_>], of: Of, place: usize, scale: Scale) -> Box<dyn Trace> {
    let paid = payers.iter().enumerate().filter_map(|(row, payer)| {
        let part = payer.parts.iter().find(|part| part.of == of)?;
        Some((row, part.cost.likely?, hover(payer, name(of), part.cost)))
    });
    let (mut rows, mut costs, mut hovers) = (Vec::new(), Vec::new(), Vec::new());
    for (row, likely, hover) in paid {
        rows.push(row);
        costs.push(scale.value(likely));
        hovers.push(hover);
    }
    Bar::new(costs, rows)
        .orientation(Orientation::Horizontal)
        .name(name(of))
        .marker(Marker::new().color(colour(place)))
        .hover_text_array(hovers)
        .hover_template("%{hovertext}<extra></extra>")
}

fn hover(payer: &Payer<'_>, about: &str, cost: Bounds) -> String {
    format!(
        "{}<br>{about}: {} ({}) a second",
        label(&program(payer.found)),
        centre(cost),
        range(cost)
    )
}

fn centre(cost: Bounds) -> String {
    cost.likely.map_or(NO_NUMBER.to_owned(), time)
}

fn range(cost: Bounds) -> String {
    let low = time(cost.low);
    cost.high.map_or_else(
        || format!("{low} or more"),
        |high| format!("{low} to {}", time(high)),
    )
}

/// A line without an end goes so far beyond the farthest end of all.
const BEYOND: f64 = 1.1;

/// A line for each program from the lower to the upper end; beyond the ends of all where there is none.
fn ranges(payers: &[Payer<'_>], scale: Scale, beyond: f64) -> Box<dyn Trace> {
    let (mut x, mut y, mut hovers) = (Vec::new(), Vec::new(), Vec::new());
    for (row, payer) in payers.iter().enumerate() {
        let high = payer.cost.high.unwrap_or(beyond);
        let text = hover(payer, "together", payer.cost);
        x.extend([
            Some(scale.value(payer.cost.low)),
            Some(scale.value(high)),
            None,
        ]);
        y.extend([Some(row), Some(row), None]);
        hovers.extend([text.clone(), text, String::new()]);
    }
    Scatter::new(x, y)
        .name("range")
        .mode(Mode::LinesMarkers)
        .line(Line::new().color(GREY).width(2.0))
        .marker(
            Marker::new()
                .color(GREY)
                .size(12)
                .symbol(MarkerSymbol::LineNSOpen)
                .line(Line::new().width(2.0)),
        )
        .hover_text_array(hovers)
        .hover_template("%{hovertext}<extra></extra>")
}

fn open_ends(payers: &[Payer<'_>], scale: Scale, beyond: f64) -> Option<Box<dyn Trace>> {
    let open = |payer: &Payer<'_>| payer.cost.high.is_none().then_some(beyond);
    marks(
        payers,
        scale,
        open,
        "no upper end",
        MarkerSymbol::TriangleRight,
    )
}

fn likely(payers: &[Payer<'_>], scale: Scale) -> Option<Box<dyn Trace>> {
    marks(
        payers,
        scale,
        |payer| payer.cost.likely,
        "likely",
        MarkerSymbol::Diamond,
    )
}

fn marks(
    payers: &[Payer<'_>],
    scale: Scale,
    at: impl Fn(&Payer<'_>) -> Option<f64>,
    name: &str,
    symbol: MarkerSymbol,
) -> Option<Box<dyn Trace>> {
    let marked: Vec<_> = payers
        .iter()
        .enumerate()
        .filter_map(|(row, payer)| Some((row, at(payer)?, payer)))
        .collect();
    let x: Vec<f64> = marked.iter().map(|(_, x, _)| scale.value(*x)).collect();
    let y = marked.iter().map(|(row, ..)| *row).collect();
    let hovers = marked
        .iter()
        .map(|(_, _, payer)| hover(payer, "together", payer.cost))
        .collect();
    let trace = Scatter::new(x, y)
        .name(name)
        .mode(Mode::Markers)
        .marker(Marker::new().color(GREY).size(9).symbol(symbol))
        .hover_text_array(hovers)
        .hover_template("%{hovertext}<extra></extra>");
    (!marked.is_empty()).then_some(trace)
}

fn table(payers: &[Payer<'_>]) -> Grid {
    let mut grid =
        Grid::new(2)
            .left(["program", "for"])
            .right(["switches", "CPU time a second", "range"]);
    for payer in payers {
        let name_of_it = program(payer.found);
        let row = |about: &str, switches: u64, cost: Bounds| -> Vec<Entry> {
            let cells = [
                name_of_it.clone(),
                about.to_owned(),
                count(switches),
                centre(cost),
                range(cost),
            ];
            cells.into_iter().map(Entry::from).collect()
        };
        grid.row(row("all", payer.found.switches, payer.cost));
        payer
            .parts
            .iter()
            .for_each(|Part { of, switches, cost }| grid.row(row(name(*of), *switches, *cost)));
    }
    grid
}
