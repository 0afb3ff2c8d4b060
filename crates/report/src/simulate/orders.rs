//! Renders several orders of the same references: a table, the same for programs, and the curve of
//! cost over quantum.

use schemars::JsonSchema;
use serde::Serialize;
use switchcost_analysis::simulation::OrderFinding;
use switchcost_design::result::Simulation;

use super::amount::{as_time, ends, known, time_note, with_bound};
use crate::for_programs::{self, Column, Document, OutputFormat, Table};
use crate::format::{InEveryFormat, written};
use crate::grid::Grid;
use crate::page::Page;
use crate::quantity::{count, number, rounded, share};
use crate::{Format, Style};

/// Report on several orders of the same references.
#[derive(Clone, Copy, JsonSchema, Serialize)]
pub(crate) struct Orders<'a> {
    /// Name of the trace.
    source: &'a str,
    /// Findings of each design under each order.
    orders: &'a [OrderFinding],
}

impl OutputFormat for Orders<'_> {
    /// Schema name; version 1 is the first.
    const NAME: &'static str = "switchcost.simulate-orders/1";
}

/// Renders the findings of [`switchcost_analysis::simulation::over_orders`] for simulations of one source, as text that ends in a
/// newline.
pub fn render_orders(
    source: &str,
    orders: &[OrderFinding],
    format: Format,
    style: Style,
) -> String {
    written(&Orders { source, orders }, format, style)
}

impl InEveryFormat for Orders<'_> {
    fn add_to(&self, page: &mut Page, _: Style) {
        page.paragraph(&answer(self.orders));
        add(page, self.source, self.orders);
    }

    fn document(&self) -> impl Serialize + JsonSchema {
        Document::new(*self)
    }

    fn tables(&self) -> Vec<Table> {
        vec![for_programs::table(&COLUMNS, self.orders)]
    }
}

/// Returns the title of a record: its difference from others of the same work, then its file.
pub(crate) fn title(head: &Simulation, name: &str) -> String {
    let trace = &head.trace;
    let quantum = trace
        .quantum_instructions
        .map(|quantum| format!(", quantum {} instructions", count(quantum)));
    format!("{}{} ({name})", trace.order, quantum.unwrap_or_default())
}

/// Adds the table of orders.
pub(super) fn add(page: &mut Page, source: &str, orders: &[OrderFinding]) {
    page.heading(
        "Cost by schedule",
        &format!("{source}, cycles per switch; each task's references are the same"),
    );
    page.grid(&table(orders));
    page.item(
        "net: cost per switch, up to the cut-off; share: of all cycles, by all switches; lost: cycles spent reloading lines \
         that others evicted (net also subtracts what their loads save); more: extra cycles relative to the best schedule; \
         the kernel's own work for a switch is not included",
    );
    if let Some(words) = time_note(orders.iter().map(|order| order.cycle_ns)) {
        page.item(words);
    }
    page.method(&["reordering", "simulated-cost"]);
}

/// Returns a sentence on the orders of the first design.
fn answer(orders: &[OrderFinding]) -> String {
    let Some(first) = orders.first() else {
        return "No order was simulated.".to_owned();
    };
    let of_design: Vec<&OrderFinding> = orders
        .iter()
        .filter(|order| order.design == first.design)
        .collect();
    let by_cycles = |a: &&&OrderFinding, b: &&&OrderFinding| a.cycles.cmp(&b.cycles);
    let (Some(best), Some(worst)) = (
        of_design.iter().min_by(by_cycles),
        of_design.iter().max_by(by_cycles),
    ) else {
        return "No order was simulated.".to_owned();
    };
    let of = |order: &OrderFinding| {
        let switches = if order.switches == 1 {
            "switch"
        } else {
            "switches"
        };
        format!(
            "{} ({} {switches}, {} of all cycles)",
            name(order),
            count(order.switches),
            share(order.excess_share)
        )
    };
    if best.cycles == worst.cycles {
        return format!(
            "On {} all schedules take the same number of cycles: {}.",
            first.design,
            of(best)
        );
    }
    format!(
        "The best schedule on {} is {}. The worst takes {} more cycles: {}.",
        first.design,
        of(best),
        share(worst.over_fewest),
        of(worst)
    )
}

/// Returns the name of an order: the choice of the next task, and the quantum.
fn name(order: &OrderFinding) -> String {
    let quantum = order
        .quantum_instructions
        .map(|quantum| format!(", {} instructions", count(quantum)));
    format!("{}{}", order.order, quantum.unwrap_or_default())
}

fn table(orders: &[OrderFinding]) -> Grid {
    let mut grid = Grid::new(2).left(["design", "order"]).right([
        "quantum", "switches", "net", "interval", "time", "share", "lost", "more",
    ]);
    for order in orders {
        let cost = &order.average_cost_cycles;
        let reported = cost
            .estimate
            .filter(|cycles| *cycles != 0.0 && !cost.is_covering_zero());
        grid.row(entries![
            &order.design,
            &order.order,
            order.quantum_instructions.map(count),
            count(order.switches),
            with_bound(cost),
            ends(cost),
            reported.map(|cycles| as_time(cycles, order.cycle_ns)),
            share(order.excess_share),
            known(&order.lost_cycles),
            share(order.over_fewest),
        ]);
    }
    grid
}

const COLUMNS: [Column; 15] = [
    ("design", "/design"),
    ("order", "/order"),
    ("quantum_instructions", "/quantum_instructions"),
    ("switches", "/switches"),
    ("involuntary_switches", "/involuntary_switches"),
    ("average_cost_cycles", "/average_cost_cycles/estimate"),
    ("average_cost_cycles_low", "/average_cost_cycles/low"),
    ("average_cost_cycles_high", "/average_cost_cycles/high"),
    ("lost_cycles", "/lost_cycles/estimate"),
    ("lost_cycles_low", "/lost_cycles/low"),
    ("lost_cycles_high", "/lost_cycles/high"),
    ("overhead", "/overhead"),
    ("excess_share", "/excess_share"),
    ("cycles", "/cycles"),
    ("over_fewest", "/over_fewest"),
];

/// Formats a number of cycles in words.
pub(super) fn cycles_in_words(cycles: f64) -> String {
    if cycles.abs() < 1000.0 {
        format!("{} cycles per switch", number(cycles))
    } else {
        format!("{} cycles per switch", rounded(cycles))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_fields_of_findings() {
        crate::for_programs::tests::assert_known::<OrderFinding>(COLUMNS.map(|(_, path)| path));
    }
}
