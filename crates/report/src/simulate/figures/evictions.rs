use plotly::HeatMap;
use plotly::common::{ColorScale, ColorScalePalette};
use switchcost_analysis::simulation::{DesignFinding, EvictionTable, Findings};

use crate::figure::{Drawing, Figure, label, layout, list_axis};
use crate::page::Page;
use crate::simulate::amount::count;
use crate::simulate::detailed;

/// Who drives out whose lines: for each design the level where most lines are driven out. The tables have all levels.
pub(super) fn add(page: &mut Page, findings: &Findings) {
    let most = |design: &DesignFinding| {
        let lines = |table: &EvictionTable| {
            table
                .lines
                .iter()
                .flatten()
                .fold(0_u64, |sum, n| sum.saturating_add(*n))
        };
        design
            .evictions
            .iter()
            .filter(|table| lines(table) > 0)
            .max_by_key(|table| lines(table))
            .cloned()
    };
    let tables: Vec<_> = detailed(findings)
        .iter()
        .map(|design| (design, most(design)))
        .collect();
    if tables.iter().all(|(_, table)| table.is_none()) {
        return;
    }
    page.heading(
        "Evictions, drawn",
        "the level of each design where most lines are driven out",
    );
    for (number, (design, table)) in tables.iter().enumerate() {
        page.figure(|| Some(draw(design, table.as_ref()?, number)));
    }
    page.method(&["simulated-cost"]);
}

fn draw(design: &DesignFinding, table: &EvictionTable, number: usize) -> Figure {
    let names: Vec<String> = table.programs.iter().map(|name| label(name)).collect();
    let text = |evictor: &str, victim: &str, lines: u64| {
        format!("{evictor} drives out {} lines of {victim}", count(lines))
    };
    let rows = table.lines.iter().zip(&names);
    let hover = rows.map(|(lines, evictor)| {
        names
            .iter()
            .zip(lines)
            .map(|(victim, n)| text(evictor, victim, *n))
            .collect()
    });
    let hover: Vec<Vec<String>> = hover.collect();
    let heights: Vec<Vec<f64>> = table
        .lines
        .iter()
        .map(|lines| lines.iter().map(|lines| *lines as f64).collect())
        .collect();
    let trace = HeatMap::new_z(heights)
        .hover_text_matrix(hover)
        .hover_template("%{hovertext}<extra></extra>")
        .color_scale(ColorScale::Palette(ColorScalePalette::Viridis));
    let layout = layout()
        .x_axis(list_axis("victim", &table.programs).tick_angle(-30.0))
        .y_axis(list_axis("evictor", &table.programs));
    Figure {
        name: format!("evictions-{}", number + 1),
        title: format!("{}: evictions in {}", design.name, table.level),
        caption: "Simulated lines driven out of the shared hierarchy, by program.".to_owned(),
        drawing: Drawing::new(vec![trace], layout),
        table: None,
    }
}
