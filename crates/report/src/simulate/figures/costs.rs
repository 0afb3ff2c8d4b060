use analysis::simulation::{DesignFinding, Findings, Group, GroupFinding};
use plotly::common::{Marker, MarkerSymbol, Mode, Orientation};
use plotly::layout::BarMode;
use plotly::{Bar, Scatter, Trace};

use super::name;
use crate::entry::{Entry, Side};
use crate::figure::{Drawing, Figure, GREY, colour, interval_bars, label, layout, linear_axis, rows_axis};
use crate::grid::Grid;
use crate::simulate::amount::{ends, rounded, with_bound};

/// More designs than this are not told from each other in a figure.
const MOST_DESIGNS: usize = 24;

/// Height of the figure without its rows, and of a row, in pixels.
const FRAME: usize = 150;
const ROW: usize = 44;

/// What a switch costs on each design, and after which causes: the first figure of a page.
pub(in crate::simulate) fn draw(findings: &Findings) -> Option<Figure> {
    let designs = &findings.designs[..findings.designs.len().min(MOST_DESIGNS)];
    let has_cost = |design: &DesignFinding| design.average_cost_cycles.estimate.is_some();
    if !designs.iter().any(has_cost) {
        return None;
    }
    let classes: Vec<&Group> = classes(&designs[0]).map(|group| &group.group).collect();
    let mut traces: Vec<Box<dyn Trace>> =
        classes.iter().enumerate().map(|(place, class)| bars(designs, class, place)).collect();
    traces.push(costs(designs));
    let names: Vec<&str> = designs.iter().map(|design| design.name.as_str()).collect();
    let layout = layout()
        .bar_mode(BarMode::Relative)
        .x_axis(linear_axis("simulated excess cycles a switch"))
        .y_axis(rows_axis(&names))
        .height(FRAME + ROW * names.len());
    let left_out = findings.designs.len() - designs.len();
    let more = if left_out > 0 { format!(" {left_out} more designs are in the tables.") } else { String::new() };
    Some(Figure {
        name: "costs".to_owned(),
        title: "Cost of a switch by design and cause".to_owned(),
        caption: format!(
            "Bars: all excess cycles of the shared hierarchy over private ones, by why the task had left the CPU; to the left \
             of 0 are gains. Dots: the cost up to the cut-off, with its interval.{more}"
        ),
        drawing: Drawing::new(traces, layout),
        table: Some(table(designs, &classes)),
    })
}

fn classes(design: &DesignFinding) -> impl Iterator<Item = &GroupFinding> {
    design.groups.iter().filter(|group| matches!(group.group, Group::Class(_)))
}

/// Excess cycles after switches of one class, over all switches.
fn per_switch(design: &DesignFinding, class: &Group) -> f64 {
    let group = classes(design).find(|group| group.group == *class);
    group.and_then(|group| design.excess_cycles_per_switch_of(group)).unwrap_or_default()
}

fn bars(designs: &[DesignFinding], class: &Group, place: usize) -> Box<dyn Trace> {
    let cycles: Vec<f64> = designs.iter().map(|design| per_switch(design, class)).collect();
    let class = name(class);
    let hover = designs.iter().zip(&cycles).map(|(design, cycles)| {
        format!("{}<br>after {class}: {} cycles a switch", label(&design.name), rounded(*cycles))
    });
    Bar::new(cycles.clone(), (0..designs.len()).collect())
        .orientation(Orientation::Horizontal)
        .name(&class)
        .marker(Marker::new().color(colour(place)))
        .hover_text_array(hover.collect())
        .hover_template("%{hovertext}<extra></extra>")
}

fn costs(designs: &[DesignFinding]) -> Box<dyn Trace> {
    let told = designs.iter().enumerate().filter_map(|(place, design)| {
        let cost = &design.average_cost_cycles;
        let estimate = cost.estimate?;
        Some((place, estimate, (cost.low.unwrap_or(estimate), cost.high.unwrap_or(estimate)), cost))
    });
    let told: Vec<_> = told.collect();
    let cycles: Vec<f64> = told.iter().map(|(_, estimate, ..)| *estimate).collect();
    let intervals: Vec<(f64, f64)> = told.iter().map(|(_, _, ends, _)| *ends).collect();
    let hover = told.iter().map(|(place, _, _, cost)| {
        format!("{}<br>cost: {} cycles {}", label(&designs[*place].name), with_bound(cost), ends(cost))
    });
    Scatter::new(cycles.clone(), told.iter().map(|(place, ..)| *place).collect())
        .name("cost, with its interval")
        .mode(Mode::Markers)
        .marker(Marker::new().color(GREY).size(9).symbol(MarkerSymbol::Diamond))
        .error_x(interval_bars(&cycles, &intervals, GREY))
        .hover_text_array(hover.collect())
        .hover_template("%{hovertext}<extra></extra>")
}

fn table(designs: &[DesignFinding], classes: &[&Group]) -> Grid {
    let mut grid = Grid::new(1);
    grid.column("design", Side::Left);
    for name in ["cost", "interval"] {
        grid.column(name, Side::Right);
    }
    classes.iter().for_each(|class| grid.column(format!("after {}", name(class)), Side::Right));
    for design in designs {
        let cost = &design.average_cost_cycles;
        let mut row: Vec<Entry> = vec![design.name.as_str().into(), with_bound(cost).into(), ends(cost).into()];
        row.extend(classes.iter().map(|class| Entry::from(rounded(per_switch(design, class)))));
        grid.row(row);
    }
    grid
}
