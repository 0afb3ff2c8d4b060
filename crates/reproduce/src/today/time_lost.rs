//! Time to reload what Timesharing loses in this machine's caches at a switch, compared with other
//! costs of a switch.

use switchcost_record::Mechanism;

use super::results;
use super::validated::{likely_over_measured, lost_ns, priced};
use crate::claims::{Found, Quantities, Term};
use crate::exhibit::Cell;
use crate::interval::Interval;
use crate::mogul1990::timesharing_line;
use crate::text::microseconds;
use crate::{Exhibit, Outcome, Records, Site, Step};

pub(super) const DIRECT: &str = "today-direct";
pub(super) const TIMESHARING: &str = "today-timesharing";

pub(super) fn steps(site: &Site<'_>) -> [Step; 2] {
    let direct = site.effort.choose("15s", "3s");
    let cpu = site.quiet_cpu;
    let measure = "measure --mechanism pipe,fiber --no-counters";
    let simulate = timesharing_line(site);
    [
        Step::new(DIRECT, &format!("{measure} --budget {direct} --cpu {cpu}")),
        Step::new(TIMESHARING, &format!("{simulate} {}", priced())),
    ]
}

/// Returns the time in ns to reload the lines that were lost per switch. The interval covers the
/// range of the estimate, and the ratios of likely to measured times of this run's arrays. It has
/// no upper end if lines without a price are left out.
fn time_lost(records: &Records) -> Outcome<Interval> {
    let lost = lost_ns(records, TIMESHARING)?;
    let likely = lost.estimate;
    let [least, most] = likely_over_measured(records)?;
    Ok(Interval::new(
        likely,
        lost.low.min(likely / most),
        lost.high.max(likely / least),
    ))
}

/// Returns the direct cost of a switch in ns.
fn direct(records: &Records, mechanism: Mechanism) -> Outcome<Interval> {
    let found = results(records, DIRECT, mechanism)?;
    let cost = found.iter().find_map(|finding| finding.direct_ns.as_ref());
    cost.map(Interval::from)
        .ok_or_else(|| "the direct cost could not be measured".to_owned())
}

pub(super) fn exhibit(records: &Records) -> Exhibit {
    let title = "Time per switch in Timesharing: lost lines, kernel, registers";
    let mut exhibit = Exhibit::new(
        "Caches in time",
        title,
        ["part of a switch", "us", "low", "high"],
    );
    exhibit.steps = [DIRECT, TIMESHARING].map(str::to_owned).into();
    for (part, ns) in [
        ("lost lines", time_lost(records)),
        ("kernel (pipe)", direct(records, Mechanism::Pipe)),
        ("registers (fiber)", direct(records, Mechanism::Fiber)),
    ] {
        let us = |end: fn(&Interval) -> f64| Cell::new(&ns, 3, |ns| end(ns) / 1e3);
        exhibit.row(vec![
            part.into(),
            us(|ns| ns.estimate),
            us(|ns| ns.low),
            us(|ns| ns.high),
        ]);
    }
    exhibit.add_note("The first trial of Table 4 on the design `host`, with the prices of `measure --prices`, without TLBs and the \
         kernel's lines.");
    exhibit
}

/// Returns the ratio of a time in ns to the time to reload the lost lines.
pub(super) fn over_time_lost(records: &Records, ns: Interval) -> Outcome {
    let lost = time_lost(records)?;
    let note = [ns, lost].map(|time| microseconds(time.estimate));
    Ok(Found::number(
        Term::new("over lost lines", ns / lost),
        note.join(" and "),
    ))
}

pub(super) fn quantities() -> Quantities {
    vec![
        ("dominates-since", |records| {
            over_time_lost(records, direct(records, Mechanism::Pipe)?)
        }),
        ("registers-small", |records| {
            over_time_lost(records, direct(records, Mechanism::Fiber)?)
        }),
    ]
}
