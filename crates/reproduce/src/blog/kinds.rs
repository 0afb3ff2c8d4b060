//! Compares the cost of voluntary and involuntary switches, by a task that waits for a futex and a
//! task that yields.

use switchcost_analysis::{CaseFinding, Estimate};
use switchcost_record::Mechanism;

use crate::claims::{Found, ratio};
use crate::exhibit::Cell;
use crate::text::microseconds;
use crate::{Exhibit, Records, Site, Step, Table};

const STEP: &str = "blog-kinds";

/// Least share of one kind, voluntary or involuntary, among a mechanism's switches. With a lower
/// share, the two kinds cannot be compared.
const MOSTLY: f64 = 0.9;

pub(super) fn step(site: &Site<'_>) -> Step {
    let line = format!(
        "measure --mechanism futex,yield --between thread --no-counters --precision 0.5% --budget 20s --cpu {}",
        site.quiet_cpu
    );
    Step::new(STEP, &line)
}

/// Returns the direct cost of a mechanism's switch, and the share of involuntary switches.
fn cost(records: &Records, mechanism: Mechanism) -> Result<(Estimate, f64), String> {
    let (_, findings) = records.measured(STEP)?;
    let is_it = |finding: &&CaseFinding| finding.case.mechanism == mechanism;
    let finding = findings
        .results
        .iter()
        .find(is_it)
        .ok_or("the record lacks the mechanism")?;
    let cost = finding
        .direct_ns
        .clone()
        .ok_or("the direct cost could not be measured: see the record")?;
    Ok((
        cost,
        finding
            .involuntary_share
            .ok_or("the kinds of switches were not counted")?,
    ))
}

pub(super) fn exhibit(records: &Records) -> Exhibit {
    let mut exhibit = Exhibit::new(
        "both kinds",
        "Direct cost of a voluntary and of an involuntary switch",
    );
    exhibit.steps.push(STEP.to_owned());
    let mut table = Table::new(&["kind", "direct cost, us", "involuntary, %"]);
    for (kind, mechanism) in [
        ("waits for a futex", Mechanism::Futex),
        ("yields", Mechanism::Yield),
    ] {
        let found = cost(records, mechanism);
        table.row(vec![
            kind.into(),
            Cell::new(&found, 3, |(cost, _)| cost.estimate / 1e3),
            Cell::new(&found, 1, |(_, share)| share * 100.0),
        ]);
    }
    exhibit.table = table;
    exhibit.notes.push(
        "A waiting task leaves the run queue and must be woken. A yielding task, which the kernel counts as \
         involuntary, stays in the run queue."
            .into(),
    );
    exhibit
}

pub(super) fn voluntary_over_involuntary(records: &Records) -> Result<Found, String> {
    let (waits, share_of_waits) = cost(records, Mechanism::Futex)?;
    let (yields, share_of_yields) = cost(records, Mechanism::Yield)?;
    if share_of_waits > 1.0 - MOSTLY || share_of_yields < MOSTLY {
        return Err("the switches of either mechanism are of both kinds".to_owned());
    }
    let note = format!(
        "{} waiting, {} yielding",
        microseconds(waits.estimate),
        microseconds(yields.estimate)
    );
    Ok(Found::new(
        vec![ratio("voluntary over involuntary", &waits, &yields)],
        note,
    ))
}
