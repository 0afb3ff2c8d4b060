use plotly::common::{DashType, Line, Mode};
use plotly::{Scatter, Trace};
use switchcost_analysis::compare::Curve;

use crate::entry::Entry;
use crate::figure::{Drawing, Figure, colour, label, layout, linear_axis};
use crate::grid::Grid;
use crate::page::Page;
use crate::simulate::amount::{count, rounded};

/// Instructions since the switch, and the excess cycles up to there.
type Points = Vec<(u64, f64)>;

/// Excess cycles since the switch on both sides, a line for each record.
pub(super) fn add(page: &mut Page, curve: &Curve, number: usize) {
    let name = if curve.base_design == curve.new_design {
        curve.base_design.clone()
    } else {
        format!("{} to {}", curve.base_design, curve.new_design)
    };
    page.heading("Both sides since the switch", &format!("{name}, simulated"));
    page.figure(|| draw(curve, &name, number));
}

fn draw(curve: &Curve, name: &str, number: usize) -> Option<Figure> {
    let sides = [("base", &curve.base), ("new", &curve.new)];
    let traces: Vec<Box<dyn Trace>> = sides
        .iter()
        .enumerate()
        .flat_map(|(side, (name, lines))| side_traces(side, name, lines))
        .collect();
    if traces.is_empty() {
        return None;
    }
    let x_axis = linear_axis("instructions since the switch");
    Some(Figure {
        name: format!("cumulative-{}", number + 1),
        title: format!("Cumulative excess cycles: {name}"),
        caption:
            "What a switch has cost up to there, in simulated cycles, up to the cut-off, where it is the cost of a \
                  switch. A line for each record; the new side is dashed."
                .to_owned(),
        drawing: Drawing::new(traces, layout().x_axis(x_axis).y_axis(linear_axis("simulated excess cycles"))),
        table: Some(table(&sides)),
    })
}

fn side_traces(side: usize, name: &'static str, lines: &[Points]) -> Vec<Box<dyn Trace>> {
    let drawn = lines.iter().filter(|line| !line.is_empty());
    let trace = |(place, line): (usize, &Points)| -> Box<dyn Trace> {
        let points = || std::iter::once(&(0, 0.0)).chain(line);
        let text = |(instructions, cycles): &(u64, f64)| {
            label(&format!(
                "{name}: {} cycles after {} instructions",
                rounded(*cycles),
                count(*instructions)
            ))
        };
        let dash = if side == 0 {
            DashType::Solid
        } else {
            DashType::Dash
        };
        Scatter::new(
            points().map(|point| point.0 as f64).collect(),
            points().map(|point| point.1).collect(),
        )
        .name(name)
        .legend_group(name)
        .show_legend(place == 0)
        .mode(Mode::Lines)
        .line(Line::new().color(colour(side)).width(1.5).dash(dash))
        .hover_text_array(points().map(text).collect())
        .hover_template("%{hovertext}<extra></extra>")
    };
    drawn.enumerate().map(trace).collect()
}

fn table(sides: &[(&'static str, &Vec<Points>); 2]) -> Grid {
    let mut grid = Grid::new(2).left(["side"]).right([
        "record",
        "instructions since the switch",
        "cumulative excess cycles",
    ]);
    for (name, lines) in sides {
        for (place, line) in lines.iter().enumerate() {
            for (instructions, cycles) in line {
                grid.row(vec![
                    Entry::from(*name),
                    (place + 1).to_string().into(),
                    count(*instructions).into(),
                    rounded(*cycles).into(),
                ]);
            }
        }
    }
    grid
}
