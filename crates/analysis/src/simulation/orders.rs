//! Compares simulations of the same references in several orders of time slices: the cost of
//! switches for each order and design.

use schemars::JsonSchema;
use serde::Serialize;
use switchcost_design::result::Simulation;

use super::findings::{Cost, Findings};

/// Findings for one design under one order of time slices.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct OrderFinding {
    /// Name of the design.
    pub design: String,
    /// Name of the order of time slices (schedule).
    pub order: String,
    /// Quantum in instructions; `None` if the schedule has no quantum.
    pub quantum_instructions: Option<u64>,
    /// Shortest and longest duration of a cycle in nanoseconds; `None` if the design has none.
    pub cycle_ns: Option<[f64; 2]>,
    /// Number of switches, voluntary and involuntary.
    pub switches: u64,
    /// Number of involuntary switches.
    pub involuntary_switches: u64,
    /// Net cost of a switch in cycles: lost minus gained plus state.
    pub average_cost_cycles: Cost,
    /// Cycles lost to other processes per switch.
    pub lost_cycles: Cost,
    /// Excess cycles as a share of all cycles, without a cut-off; `None` if unknown.
    pub excess_share: Option<f64>,
    /// Number of all cycles of the shared hierarchy.
    pub cycles: u64,
    /// Relative difference to the smallest number of cycles that the design needs in any of the
    /// orders: 0.1 is 10 % more.
    pub over_fewest: Option<f64>,
}

/// Whether the records simulate the same work in several orders: source, instructions, loads and
/// stores are equal.
pub fn are_orders(records: &[&Simulation]) -> bool {
    let work = |head: &Simulation| {
        let trace = &head.trace;
        (
            trace.source.clone(),
            trace.instructions,
            trace.loads,
            trace.stores,
        )
    };
    let order = |head: &Simulation| (head.trace.order.clone(), head.trace.quantum_instructions);
    records
        .windows(2)
        .all(|pair| work(pair[0]) == work(pair[1]))
        && records
            .windows(2)
            .any(|pair| order(pair[0]) != order(pair[1]))
}

/// Returns one finding for each design of each record, sorted by design and order (by first
/// occurrence), then by quantum.
pub fn over_orders(records: &[(&Simulation, &Findings)]) -> Vec<OrderFinding> {
    let mut all: Vec<OrderFinding> = records
        .iter()
        .flat_map(|(head, findings)| order_findings(head, findings))
        .collect();
    let place = |names: &[String], name: &String| names.iter().position(|other| other == name);
    let designs: Vec<String> = all.iter().map(|finding| finding.design.clone()).collect();
    let orders: Vec<String> = all.iter().map(|finding| finding.order.clone()).collect();
    all.sort_by_key(|one| {
        (
            place(&designs, &one.design),
            place(&orders, &one.order),
            one.quantum_instructions,
        )
    });
    let cycles: Vec<(String, u64)> = all
        .iter()
        .map(|finding| (finding.design.clone(), finding.cycles))
        .collect();
    for finding in &mut all {
        let of_design = cycles
            .iter()
            .filter(|(design, _)| *design == finding.design)
            .map(|(_, cycles)| *cycles);
        let fewest = of_design.min().filter(|fewest| *fewest > 0);
        finding.over_fewest = fewest.map(|fewest| finding.cycles as f64 / fewest as f64 - 1.0);
    }
    all
}

fn order_findings<'a>(
    head: &'a Simulation,
    findings: &'a Findings,
) -> impl Iterator<Item = OrderFinding> + 'a {
    let trace = &head.trace;
    findings.designs.iter().map(move |design| OrderFinding {
        design: design.name.clone(),
        order: trace.order.clone(),
        quantum_instructions: trace.quantum_instructions,
        cycle_ns: design.cycle_ns,
        switches: trace
            .voluntary_switches
            .saturating_add(trace.involuntary_switches),
        involuntary_switches: trace.involuntary_switches,
        average_cost_cycles: design.average_cost_cycles.clone(),
        lost_cycles: design.lost_cycles.clone(),
        excess_share: design.overhead,
        cycles: design.hierarchies.shared.cycles,
        over_fewest: None,
    })
}
