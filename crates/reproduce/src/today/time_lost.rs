//! Time to reload what Timesharing loses in this machine's caches at a switch, compared with other
//! costs of a switch.

use switchcost_record::Mechanism;

use super::results;
use crate::claims::{Found, Quantities, Term};
use crate::exhibit::Cell;
use crate::interval::Interval;
use crate::mogul1990::timesharing_line;
use crate::text::microseconds;
use crate::{Effort, Exhibit, Records, Site, Step, Table};

pub(super) const DIRECT: &str = "today-direct";
const PRICES: &str = "today-prices";
pub(super) const TIMESHARING: &str = "today-timesharing";

/// Smallest and largest ratio of the likely time to the measured time, of arrays on a Zen 3 guest
/// (docs/method/simulated-cost.md).
pub(super) const LIKELY_OVER_MEASURED: [f64; 2] = [0.39, 5.9];

pub(super) fn steps(site: &Site<'_>) -> [Step; 3] {
    let (direct, prices) = match site.effort {
        Effort::Usual => ("15s", "2min"),
        Effort::Quick => ("3s", "40s"),
    };
    let cpu = site.quiet_cpu;
    let measure = "measure --mechanism pipe,fiber --no-counters";
    let simulate = timesharing_line(site);
    [
        Step::new(DIRECT, &format!("{measure} --budget {direct} --cpu {cpu}")),
        Step::new(
            PRICES,
            &format!("measure --budget {prices} --cpu {cpu} --prices"),
        ),
        Step::new(
            TIMESHARING,
            &format!("{simulate} --design host --prices records/{PRICES}.json"),
        ),
    ]
}

/// Returns the time in ns to reload the lines that were lost per switch. The interval covers the
/// range of the estimate and the errors of earlier estimates. It has no upper end if lines without
/// a price are left out.
fn time_lost(records: &Records) -> Result<Interval, String> {
    let (_, findings) = records.simulated(TIMESHARING)?;
    let mut designs = findings.designs.iter();
    let lost = designs.find_map(|design| design.time_lost.as_ref());
    let lost = lost.ok_or("no lost lines were counted")?;
    let (Some(low), Some(likely), Some(high)) = (lost.low_ns, lost.likely_ns, lost.high_ns) else {
        return Err("no lost line has a price on this machine".to_owned());
    };
    let [least, most] = LIKELY_OVER_MEASURED;
    let high = match lost.unpriced_share {
        Some(0.0) => high.max(likely / least),
        _ => f64::INFINITY,
    };
    Ok(Interval::new(likely, low.min(likely / most), high))
}

/// Returns the direct cost of a switch in ns.
fn direct(records: &Records, mechanism: Mechanism) -> Result<Interval, String> {
    let found = results(records, DIRECT, mechanism)?;
    let cost = found.iter().find_map(|finding| finding.direct_ns.as_ref());
    cost.map(Interval::from)
        .ok_or_else(|| "the direct cost could not be measured".to_owned())
}

pub(super) fn exhibit(records: &Records) -> Exhibit {
    let title = "Time per switch in Timesharing: lost lines, kernel, registers";
    let mut exhibit = Exhibit::new("Caches in time", title);
    exhibit.steps = [DIRECT, PRICES, TIMESHARING].map(str::to_owned).into();
    let mut table = Table::new(&["part of a switch", "us", "low", "high"]);
    for (part, ns) in [
        ("lost lines", time_lost(records)),
        ("kernel (pipe)", direct(records, Mechanism::Pipe)),
        ("registers (fiber)", direct(records, Mechanism::Fiber)),
    ] {
        let us = |end: fn(&Interval) -> f64| Cell::new(&ns, 3, |ns| end(ns) / 1e3);
        table.row(vec![
            part.into(),
            us(|ns| ns.estimate),
            us(|ns| ns.low),
            us(|ns| ns.high),
        ]);
    }
    exhibit.table = table;
    exhibit.notes.push(
        "The first trial of Table 4 on the design `host`, with the prices of `measure --prices`, without TLBs and the \
         kernel's lines."
            .into(),
    );
    exhibit
}

/// Returns the ratio of a time in ns to the time to reload the lost lines.
pub(super) fn over_time_lost(records: &Records, ns: Interval) -> Result<Found, String> {
    let lost = time_lost(records)?;
    let note = [ns, lost].map(|time| microseconds(time.estimate));
    Ok(Found::new(
        vec![Term::new("over lost lines", ns / lost)],
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
