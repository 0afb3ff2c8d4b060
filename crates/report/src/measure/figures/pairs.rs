use std::collections::BTreeMap;

use plotly::HeatMap;
use plotly::common::{ColorBar, ColorScale, ColorScalePalette, ExponentFormat};
use switchcost_analysis::CaseFinding;
use switchcost_units::CpuId;

use super::NANOS;
use crate::figure::{Drawing, Figure, layout, list_axis};
use crate::measure::row::has_numbers;
use crate::quantity::{is_cost, with_interval};

/// Cells of more could not be distinguished.
const MOST_CPUS: usize = 256;

/// What a hand-off from one CPU to another costs. `title` distinguishes matrices of one record.
pub(in crate::measure) fn draw(
    title: &str,
    cells: &BTreeMap<(CpuId, CpuId), &CaseFinding>,
    cpus: &[CpuId],
) -> Option<Figure> {
    if cpus.len() > MOST_CPUS {
        return None;
    }
    let at = |row: &CpuId, column: &CpuId| cells.get(&(*row, *column)).copied();
    let cost = |finding: &CaseFinding| {
        finding
            .handoff_ns
            .as_ref()
            .filter(|e| has_numbers(finding) && is_cost(e))
            .map(|e| e.estimate / NANOS)
    };
    let rows = cpus.iter().map(|row| {
        cpus.iter()
            .map(|column| at(row, column).and_then(cost))
            .collect()
    });
    let costs: Vec<Vec<Option<f64>>> = rows.collect();
    let text = |row: &CpuId, column: &CpuId| {
        let found = at(row, column);
        let said = found
            .and_then(|finding| finding.handoff_ns.as_ref())
            .map(with_interval);
        let relation = found
            .map(|finding| finding.case.placement.relation.to_string())
            .unwrap_or_default();
        format!(
            "CPU {row} to CPU {column} {relation}<br>{}",
            said.unwrap_or("not measured".to_owned())
        )
    };
    let hover = cpus
        .iter()
        .map(|row| cpus.iter().map(|column| text(row, column)).collect())
        .collect();
    let trace = HeatMap::new_z(costs)
        .hover_text_matrix(hover)
        .hover_template("%{hovertext}<extra></extra>")
        .color_scale(ColorScale::Palette(ColorScalePalette::Viridis))
        .color_bar(
            ColorBar::new()
                .exponent_format(ExponentFormat::SI)
                .tick_suffix("s"),
        );
    let names: Vec<String> = cpus.iter().map(|cpu| format!("CPU {cpu}")).collect();
    Some(Figure {
        name: format!("pairs-{}", crate::slug::slug(title)),
        title: format!("Hand-off by CPUs: {title}"),
        caption:
            "From the CPU of the row to that of the column; on the diagonal both tasks share a CPU."
                .to_owned(),
        drawing: Drawing::new(
            vec![trace],
            layout()
                .x_axis(list_axis("to", &names))
                .y_axis(list_axis("from", &names)),
        ),
        table: None,
    })
}
