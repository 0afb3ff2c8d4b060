//! Simulated costs of a switch by access, stride and array size, on the committed design.

use switchcost_analysis::simulation::DesignFinding;
use switchcost_units::Bytes;
use switchcost_workload::Access;

use super::super::steps::simulated_step;
use crate::records::collect_known;
use crate::{Outcome, Records, Series, Style};

/// Costs of a switch: array size in KiB, and cost in ns.
pub(super) type Points = Vec<(u64, f64)>;

/// Returns the cost of a switch in ns: the excess cycles of the shared hierarchy at the 2 GHz of
/// the paper's machine.
pub(super) fn cost(records: &Records, access: Access, stride: u64, kib: u64) -> Outcome<f64> {
    let step = simulated_step(access, stride, kib);
    cost_ns(records.design(&step, 0, "the record has no design")?)
}

/// Returns the cost in ns of a switch on a design: the excess cycles of the shared hierarchy.
pub(super) fn cost_ns(design: &DesignFinding) -> Outcome<f64> {
    let cycles = design
        .excess_cycles_per_switch
        .ok_or("the record has no switches")?;
    let [cycle_ns, _] = design
        .cycle_ns
        .ok_or("the design does not say how long a cycle is")?;
    Ok(cycles * cycle_ns)
}

/// Returns the costs of the simulated sizes, or the reason why none was simulated.
pub(super) fn points(
    records: &Records,
    access: Access,
    stride: u64,
    kibs: &[u64],
) -> Outcome<Points> {
    collect_known(kibs, 1, |kib| cost(records, access, stride, kib))
}

pub(super) fn bytes(kib: u64) -> String {
    Bytes::kib(kib).to_string()
}

/// Returns the costs as a curve over the array size. Costs of 0 or less cannot be drawn.
pub(super) fn series(name: &str, points: &Points) -> Series {
    let above = points.iter().filter(|(_, ns)| *ns > 0.0);
    Series::new(
        name,
        Style::Found,
        above.map(|(kib, ns)| ((kib * 1024) as f64, *ns)),
    )
}
