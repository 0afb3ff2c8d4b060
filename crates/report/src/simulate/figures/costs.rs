use plotly::common::{Marker, MarkerSymbol, Mode, Orientation};
use plotly::layout::BarMode;
use plotly::{Bar, Scatter, Trace};
use switchcost_analysis::simulation::{DesignFinding, Findings};

use crate::entry::Entry;
use crate::figure::{
    Drawing, Figure, GREY, colour, interval_bars, label, layout, linear_axis, rows_axis,
};
use crate::grid::Grid;
use crate::simulate::amount::{ends, known, perhaps, rounded, with_bound};

/// More designs than this are hard to distinguish in a figure.
const MOST_DESIGNS: usize = 24;

/// Height of the figure without its rows, and of a row, in pixels.
const FRAME: usize = 150;
const ROW: usize = 44;

/// A part of the cost of a switch, as the figure draws it.
struct Party {
    name: &'static str,
    cycles: fn(&DesignFinding) -> Option<f64>,
}

/// To the right of 0 what costs, to the left what saves.
const PARTIES: [Party; 3] = [
    Party {
        name: "lost to others",
        cycles: |design| design.lost_cycles.estimate,
    },
    Party {
        name: "gained from others",
        cycles: |design| design.gained_cycles.estimate.map(|cycles| -cycles),
    },
    Party {
        name: "state of replacement and prefetch",
        cycles: |design| design.state_cycles.estimate,
    },
];

/// What a switch costs on each design, and what that is made of: the first figure of a page.
pub(in crate::simulate) fn draw(findings: &Findings) -> Option<Figure> {
    let designs: Vec<&DesignFinding> = findings.designs.iter().take(MOST_DESIGNS).collect();
    let designs = designs.as_slice();
    let has_cost = |design: &&DesignFinding| design.average_cost_cycles.estimate.is_some();
    if !designs.iter().any(has_cost) {
        return None;
    }
    let bars = PARTIES
        .iter()
        .enumerate()
        .map(|(place, party)| bars(designs, party, place));
    let mut traces: Vec<Box<dyn Trace>> = bars.collect();
    traces.push(costs(designs));
    let left_out = findings.designs.len() - designs.len();
    let more = if left_out > 0 {
        format!(" {left_out} more designs are in the tables.")
    } else {
        String::new()
    };
    Some(Figure {
        name: "costs".to_owned(),
        title: "Cost of a switch by design".to_owned(),
        caption: format!(
            "Bars: what a switch costs, to the right of 0, and what it saves, to the left, up to the cut-off. Dots: the net cost with \
             its interval. What processes find at their first touches, once, is not in it.{more}"
        ),
        drawing: Drawing::new(
            traces,
            frame(designs, "simulated cycles a switch").bar_mode(BarMode::Relative),
        ),
        table: Some(table(designs)),
    })
}

/// What others had loaded for a process that asked for it the first time: once, beside the cost of switches.
pub(in crate::simulate) fn draw_first_touches(findings: &Findings) -> Option<Figure> {
    let has_some =
        |design: &&DesignFinding| design.first_touch_cycles.is_some_and(|cycles| cycles > 0.0);
    let designs: Vec<&DesignFinding> = findings
        .designs
        .iter()
        .filter(has_some)
        .take(MOST_DESIGNS)
        .collect();
    if designs.is_empty() {
        return None;
    }
    let party = Party {
        name: "once, at first touches",
        cycles: |design| design.first_touch_cycles,
    };
    let grid = Grid::new(1)
        .left(["design"])
        .right(["saved once"])
        .with_rows(designs.iter().map(|design| {
            vec![
                design.name.as_str().into(),
                perhaps(design.first_touch_cycles).into(),
            ]
        }));
    Some(Figure {
        name: "first-touches".to_owned(),
        title: "Saved once, at first touches".to_owned(),
        caption: "All cycles saved where a process first asked for lines that others had loaded, such as code of a library. It happens \
                  once, and is no property of switches."
            .to_owned(),
        drawing: Drawing::new(vec![bars(&designs, &party, PARTIES.len())], frame(&designs, "simulated cycles in all")),
        table: Some(grid),
    })
}

/// A row for each design.
fn frame(designs: &[&DesignFinding], axis: &str) -> plotly::Layout {
    let names: Vec<&str> = designs.iter().map(|design| design.name.as_str()).collect();
    layout()
        .x_axis(linear_axis(axis))
        .y_axis(rows_axis(&names))
        .height(FRAME + ROW * names.len())
}

fn bars(designs: &[&DesignFinding], party: &Party, place: usize) -> Box<dyn Trace> {
    let cycles: Vec<f64> = designs
        .iter()
        .map(|design| (party.cycles)(design).unwrap_or_default())
        .collect();
    let hover = designs.iter().zip(&cycles).map(|(design, cycles)| {
        format!(
            "{}<br>{}: {} cycles",
            label(&design.name),
            party.name,
            rounded(*cycles)
        )
    });
    Bar::new(cycles.clone(), (0..designs.len()).collect())
        .orientation(Orientation::Horizontal)
        .name(party.name)
        .marker(Marker::new().color(colour(place)))
        .hover_text_array(hover.collect())
        .hover_template("%{hovertext}<extra></extra>")
}

fn costs(designs: &[&DesignFinding]) -> Box<dyn Trace> {
    let reported = designs.iter().enumerate().filter_map(|(place, design)| {
        let cost = &design.average_cost_cycles;
        let estimate = cost.estimate?;
        Some((
            place,
            estimate,
            (cost.low.unwrap_or(estimate), cost.high.unwrap_or(estimate)),
            cost,
        ))
    });
    let reported: Vec<_> = reported.collect();
    let cycles: Vec<f64> = reported.iter().map(|(_, estimate, ..)| *estimate).collect();
    let intervals: Vec<(f64, f64)> = reported.iter().map(|(_, _, ends, _)| *ends).collect();
    let hover = reported.iter().map(|(place, _, _, cost)| {
        format!(
            "{}<br>net: {} cycles {}",
            label(&designs[*place].name),
            with_bound(cost),
            ends(cost)
        )
    });
    Scatter::new(
        cycles.clone(),
        reported.iter().map(|(place, ..)| *place).collect(),
    )
    .name("net, with its interval")
    .mode(Mode::Markers)
    .marker(
        Marker::new()
            .color(GREY)
            .size(9)
            .symbol(MarkerSymbol::Diamond),
    )
    .error_x(interval_bars(&cycles, &intervals, GREY))
    .hover_text_array(hover.collect())
    .hover_template("%{hovertext}<extra></extra>")
}

fn table(designs: &[&DesignFinding]) -> Grid {
    let mut grid = Grid::new(1)
        .left(["design"])
        .right(["net", "interval", "lost", "gained", "state"]);
    for design in designs {
        let cost = &design.average_cost_cycles;
        let parties = [
            &design.lost_cycles,
            &design.gained_cycles,
            &design.state_cycles,
        ];
        let mut row: Vec<Entry> = vec![
            design.name.as_str().into(),
            with_bound(cost).into(),
            ends(cost).into(),
        ];
        row.extend(parties.map(|part| Entry::from(known(part))));
        grid.row(row);
    }
    grid
}
