use plotly::Bar;
use plotly::common::{Marker, Orientation};
use switchcost_analysis::simulation::{DesignFinding, Findings, PlaceFinding};

use crate::figure::{Drawing, Figure, colour, label, layout, linear_axis, list_axis};
use crate::grid::Grid;
use crate::page::Page;
use crate::simulate::amount::{rounded, share};
use crate::simulate::detailed;
use crate::simulate::programs::{place, with_place_columns};

/// Places that are drawn; the table has all.
const DRAWN: usize = 15;

/// Excess cycles attributed to code, for each design.
pub(super) fn add(page: &mut Page, findings: &Findings) {
    let designs: Vec<&DesignFinding> = detailed(findings)
        .iter()
        .filter(|design| !design.code.is_empty())
        .collect();
    if designs.is_empty() {
        return;
    }
    page.heading(
        "The code that pays, drawn",
        "excess cycles by place, simulated",
    );
    for (number, design) in designs.iter().enumerate() {
        page.figure(|| Some(draw(design, number)));
    }
    page.method(&["simulated-cost"]);
}

fn name(code: &PlaceFinding) -> String {
    format!("{}: {}", code.program, code.place)
}

fn draw(design: &DesignFinding, number: usize) -> Figure {
    // The first place stands at the top.
    let places: Vec<&PlaceFinding> = design.code.iter().take(DRAWN).rev().collect();
    let names: Vec<String> = places.iter().map(|code| name(code)).collect();
    let cycles: Vec<f64> = places
        .iter()
        .map(|code| code.excess_cycles as f64)
        .collect();
    let hover = places.iter().map(|code| {
        let line = code.line.as_deref().map(label).unwrap_or_default();
        let cycles = rounded(code.excess_cycles as f64);
        format!(
            "{}<br>{line}<br>after {}: {cycles} cycles ({})",
            label(&name(code)),
            label(&code.cause),
            share(code.share)
        )
    });
    let bars = Bar::new(
        cycles,
        (0..places.len()).map(|place| place as f64).collect(),
    )
    .orientation(Orientation::Horizontal)
    .marker(Marker::new().color(colour(0)))
    .hover_text_array(hover.collect())
    .hover_template("%{hovertext}<extra></extra>");
    let layout = layout()
        .x_axis(linear_axis("simulated excess cycles"))
        .y_axis(list_axis("", &names));
    Figure {
        name: format!("code-{}", number + 1),
        title: format!("{}: the code that pays", design.name),
        caption: "Simulated excess cycles by place in the code. Below 0: another process had brought the lines in."
            .to_owned(),
        drawing: Drawing::new(vec![bars], layout),
        table: Some(table(design)),
    }
}

fn table(design: &DesignFinding) -> Grid {
    with_place_columns(Grid::new(2)).with_rows(design.code.iter().map(place))
}
