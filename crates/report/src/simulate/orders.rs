//! Renders simulations of one trace in several orders: a table for people, JSON and CSV for
//! programs, and the curve of cost by quantum.

use schemars::JsonSchema;
use serde::Serialize;
use switchcost_analysis::simulation::OrderFinding;
use switchcost_design::result::Simulation;

use super::amount::{as_time, ends, known, time_note, with_bound};
use crate::for_programs::{self, Column};
use crate::format::written;
use crate::quantity::{count, number, rounded, share};
use crate::{Document, Entry, Format, Grid, InEveryFormat, OutputFormat, Page, Style, Table};

/// Report on several orders of the same references.
#[derive(Clone, Copy, JsonSchema, Serialize)]
pub(crate) struct Orders<'a> {
    /// Name of the trace.
    source: &'a str,
    /// Findings of each design under each order.
    orders: &'a [OrderFinding],
}

impl OutputFormat for Orders<'_> {
    /// Name of the JSON schema, with its version.
    const NAME: &'static str = "switchcost.simulate-orders/1";
}

/// Renders the findings of [`switchcost_analysis::simulation::over_orders`] for simulations of one
/// trace, as text that ends in a newline.
pub fn render_orders(
    source: &str,
    orders: &[OrderFinding],
    format: Format,
    style: Style,
) -> String {
    written(&Orders { source, orders }, format, style)
}

impl InEveryFormat for Orders<'_> {
    fn add_to(&self, page: &mut Page) {
        page.paragraph(answer(self.orders));
        add(page, self.source, self.orders, page.is_detailed());
    }

    fn document(&self) -> impl Serialize + JsonSchema {
        Document::new(*self)
    }

    fn tables(&self) -> Vec<Table> {
        vec![for_programs::table(&COLUMNS, self.orders)]
    }
}

/// Returns the title of a record among simulations of the same work: its order, its quantum and the
/// name of its file.
pub(crate) fn title(head: &Simulation, name: &str) -> String {
    let trace = &head.trace;
    let quantum = trace
        .quantum_instructions
        .map(|quantum| format!(", quantum {} instructions", count(quantum)));
    format!("{}{} ({name})", trace.order, quantum.unwrap_or_default())
}

/// Adds a table with a row for each order. A detailed table has the cycles lost to others, too.
pub(super) fn add(page: &mut Page, source: &str, orders: &[OrderFinding], is_detailed: bool) {
    let design = common_design(orders).map_or(String::new(), |design| format!(" on {design}"));
    page.heading(
        "Cost by schedule",
        format!("{source}{design}; each task has the same references under each schedule"),
    );
    page.grid(table(orders, is_detailed));
    let reloads = if is_detailed {
        " reloads: those for lines that others evicted;"
    } else {
        ""
    };
    page.item(format!(
        "time slice: in instructions; cycles per switch: in additional cache misses, without the kernel's own work;{reloads} all switches: \
         share of all cycles; more than best: extra cycles of the whole trace, compared with the design's best row",
    ));
    if let Some(words) = time_note(orders.iter().map(|order| order.cycle_ns)) {
        page.item(words);
    }
    page.method(["reordering", "simulated-cost"]);
}

/// Returns the design of all orders; `None` if they have different designs.
fn common_design(orders: &[OrderFinding]) -> Option<&str> {
    let first = orders.first()?.design.as_str();
    orders
        .iter()
        .all(|order| order.design == first)
        .then_some(first)
}

/// Returns a sentence that compares the orders on the first design.
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
    if best.cycles == worst.cycles {
        return format!(
            "The schedule makes no difference on {}: all need the same number of cycles.",
            first.design
        );
    }
    format!(
        "The schedule changes the number of cycles on {} by up to {}. The best is {}. The worst is {}.",
        first.design,
        share(worst.over_fewest),
        describe(best),
        describe(worst)
    )
}

/// Describes an order: the choice of the next task, the quantum, and the number and cost of
/// switches.
fn describe(order: &OrderFinding) -> String {
    let quantum = order
        .quantum_instructions
        .map(|quantum| format!(" with time slices of {} instructions", count(quantum)));
    let switches = if order.switches == 1 {
        "1 switch takes".to_owned()
    } else {
        format!("{} switches take", count(order.switches))
    };
    format!(
        "{}{}: {switches} {} of all cycles",
        order.order,
        quantum.unwrap_or_default(),
        share(order.excess_share)
    )
}

fn table(orders: &[OrderFinding], is_detailed: bool) -> Grid {
    let has_designs = common_design(orders).is_none();
    let mut grid = Grid::new(1 + usize::from(has_designs))
        .left(has_designs.then_some("design"))
        .left(["schedule"])
        .right([
            "time slice",
            "switches",
            "cycles per switch",
            "interval",
            "time per switch",
        ])
        .right(is_detailed.then_some("reloads"))
        .right(["all switches", "more than best"]);
    for order in orders {
        let cost = &order.average_cost_cycles;
        let reported = cost
            .estimate
            .filter(|cycles| *cycles != 0.0 && !cost.is_covering_zero());
        let mut row: Vec<Entry> = has_designs
            .then(|| Entry::from(&order.design))
            .into_iter()
            .collect();
        row.extend(entries![
            &order.order,
            order.quantum_instructions.map(count),
            count(order.switches),
            with_bound(cost),
            ends(cost),
            reported.map(|cycles| as_time(cycles, order.cycle_ns)),
        ]);
        row.extend(is_detailed.then(|| Entry::from(known(&order.lost_cycles))));
        row.extend(entries![
            share(order.excess_share),
            share(order.over_fewest)
        ]);
        grid.row(row);
    }
    grid
}

const COLUMNS: [Column; 14] = [
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
    ("excess_share", "/excess_share"),
    ("cycles", "/cycles"),
    ("over_fewest", "/over_fewest"),
];

/// Formats the cost of a switch in cycles with its unit.
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
