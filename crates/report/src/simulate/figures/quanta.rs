//! Cost and share lost over the length of a turn: the question behind a scheduler's time slice.

use std::collections::BTreeMap;

use switchcost_analysis::simulation::{Findings, OrderFinding, are_orders, over_orders};
use switchcost_design::result::Simulation;

use super::series::{Point, line};
use crate::figure::{Drawing, Figure, layout, log_axis, share_axis};
use crate::page::Page;
use crate::simulate::amount::share;
use crate::simulate::orders::{add as add_table, cycles_in_words, hover};

/// What a curve shows of an order, and how a pointer says it.
type Height = fn(&OrderFinding) -> Option<(f64, String)>;

/// The table of orders and the curves, where several records are of the same work.
pub(crate) fn add_of_all(page: &mut Page, records: &[(&str, &Simulation, &Findings)]) {
    let heads: Vec<&Simulation> = records.iter().map(|(_, head, _)| *head).collect();
    let Some(first) = heads.first().filter(|_| are_orders(&heads)) else {
        return;
    };
    let all: Vec<_> = records
        .iter()
        .map(|(_, head, findings)| (*head, *findings))
        .collect();
    let orders = over_orders(&all);
    add_table(page, &first.trace.source, &orders);
    page.figure(|| {
        let height: Height = |order| {
            let cycles = order
                .average_cost_cycles
                .estimate
                .filter(|cycles| *cycles > 0.0)?;
            Some((cycles, cycles_in_words(cycles)))
        };
        let axis = log_axis("cycles a switch (simulated)");
        draw(
            &orders,
            height,
            axis,
            "cost-by-quantum",
            "Cost of a switch by quantum",
            "What an average switch costs, net.",
        )
    });
    page.figure(|| {
        let height: Height = |order| Some((order.overhead?, share(order.overhead)));
        let axis = share_axis("of all cycles (simulated)");
        let caption = "What all switches cost of all cycles, without what the kernel takes.";
        draw(
            &orders,
            height,
            axis,
            "share-by-quantum",
            "Share of time lost by quantum",
            caption,
        )
    });
}

fn draw(
    orders: &[OrderFinding],
    height: Height,
    y_axis: plotly::layout::Axis,
    name: &str,
    title: &str,
    caption: &str,
) -> Option<Figure> {
    let mut lines: BTreeMap<(&str, &str), Vec<Point>> = BTreeMap::new();
    for order in orders {
        if let (Some(quantum), Some((height, text))) = (order.quantum_instructions, height(order)) {
            let point = (quantum as f64, height, hover(order, &text));
            lines
                .entry((&order.design, &order.order))
                .or_default()
                .push(point);
        }
    }
    lines.retain(|_, points| points.len() > 1);
    let curve = |(number, ((design, order), points)): (usize, ((&str, &str), Vec<Point>))| {
        line(number, &format!("{design}, {order}"), points.into_iter())
    };
    let traces: Vec<_> = lines.into_iter().enumerate().map(curve).collect();
    (!traces.is_empty()).then(|| Figure {
        name: name.to_owned(),
        title: title.to_owned(),
        caption: format!(
            "{caption} The same references in other orders, by the instructions of a turn."
        ),
        drawing: Drawing::new(
            traces,
            layout()
                .x_axis(log_axis("quantum, instructions"))
                .y_axis(y_axis),
        ),
        table: None,
    })
}
