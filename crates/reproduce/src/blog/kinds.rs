//! Compares the cost of voluntary and involuntary switches of one mechanism: a thread that waits
//! for a futex, and a thread that is preempted by the thread that it wakes.

use switchcost_analysis::{CaseFinding, Estimate};
use switchcost_record::Mechanism;

use crate::claims::{Found, Term};
use crate::exhibit::Cell;
use crate::interval::Interval;
use crate::text::{microseconds, percent};
use crate::{Exhibit, Outcome, Records, Site, Step};

/// Policy under which a woken thread does not preempt its waker, so that switches are voluntary.
const VOLUNTARY: &str = "batch";
/// Policy under which a woken thread preempts its waker.
const MIXED: &str = "other";

/// Largest share of involuntary switches under [`VOLUNTARY`].
const FEW: f64 = 0.1;
/// Least share of involuntary switches under [`MIXED`].
const MANY: f64 = 0.25;

fn name(policy: &str) -> String {
    format!("blog-kinds-{policy}")
}

pub(super) fn steps(site: &Site<'_>) -> [Step; 2] {
    [VOLUNTARY, MIXED].map(|policy| {
        let line = format!(
            "measure --mechanism futex --between thread --policy {policy} --no-counters --precision 0.5% --budget 20s --cpu {}",
            site.quiet_cpu
        );
        Step::new(name(policy), &line)
    })
}

/// Returns the direct cost of a switch under a policy, and the share of involuntary switches.
fn cost(records: &Records, policy: &str) -> Outcome<(Estimate, f64)> {
    let (_, findings) = records.measured(&name(policy))?;
    let is_it = |finding: &&CaseFinding| finding.case.mechanism == Mechanism::Futex;
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
        ["policy", "direct cost, us", "involuntary, %"],
    );
    for policy in [VOLUNTARY, MIXED] {
        exhibit.add_step(name(policy));
        let found = cost(records, policy);
        exhibit.row(vec![
            policy.into(),
            Cell::new(&found, 3, |(cost, _)| cost.estimate / 1e3),
            Cell::new(&found, 1, |(_, share)| share * 100.0),
        ]);
    }
    exhibit.add_note("Two threads over a futex. Under SCHED_OTHER a woken thread preempts its waker, under SCHED_BATCH it does not.");
    exhibit
}

/// Returns the ratio of the cost of a voluntary to that of an involuntary switch. With the share
/// *s* of involuntary switches under [`MIXED`], and the mean cost *q* there relative to the
/// voluntary cost, *q* = (1 - *s*) + *s* / ratio.
pub(super) fn voluntary_over_involuntary(records: &Records) -> Outcome {
    let (waits, of_waits) = cost(records, VOLUNTARY)?;
    let (mixed, share) = cost(records, MIXED)?;
    if of_waits > FEW || share < MANY {
        let shares = [of_waits, share].map(percent);
        return Err(format!(
            "{} of the switches under SCHED_BATCH were involuntary, {} under SCHED_OTHER",
            shares[0], shares[1]
        ));
    }
    let relative = Interval::from(&mixed) / Interval::from(&waits);
    if relative.low + share <= 1.0 {
        return Err("the cost of the involuntary switches is not clear of 0".to_owned());
    }
    let ratio = |relative: f64| share / (relative + share - 1.0);
    let ratio = Interval::new(
        ratio(relative.estimate),
        ratio(relative.high),
        ratio(relative.low),
    );
    let note = format!(
        "{} under SCHED_BATCH, {} under SCHED_OTHER with {} involuntary",
        microseconds(waits.estimate),
        microseconds(mixed.estimate),
        percent(share)
    );
    Ok(Found::number(
        Term::new("voluntary over involuntary", ratio),
        note,
    ))
}
