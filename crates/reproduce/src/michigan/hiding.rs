//! Whether switching hides a latency of microseconds, as the poster's introduction asks: what a CPU spends for each access that it
//! waits for, if it waits, and if another task has it meanwhile.

use switchcost_analysis::{CaseFinding, Estimate};
use switchcost_record::{Between, Mechanism};

use crate::claims::{Found, Quantities, Term};
use crate::exhibit::Cell;
use crate::{Axis, Chart, Exhibit, Records, Series, Site, Step, Style, Table};

const STEP: &str = "michigan-hiding";

/// Latencies in microseconds: flash, networks, and what lies between.
const LATENCIES_US: [f64; 7] = [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0];
/// Tasks that share the CPU in the figure.
const TASKS: f64 = 16.0;

/// A way to give the CPU to another task.
type Way = (&'static str, Mechanism, Between);

const OF_KERNEL: [Way; 2] = [
    ("processes", Mechanism::Pipe, Between::Process),
    ("threads", Mechanism::Futex, Between::Thread),
];
const OF_USER: [Way; 2] = [
    ("fibers", Mechanism::Fiber, Between::User),
    ("async", Mechanism::Async, Between::User),
];

pub(super) fn step(site: &Site<'_>) -> Step {
    let line = "measure --mechanism pipe,futex,fiber,async --between process,thread --no-counters --precision 0.5% --budget 40s";
    Step::new(STEP, &format!("{line} --cpu {}", site.quiet_cpu))
}

/// A hand-off with its system calls, in nanoseconds.
fn handoff(records: &Records, (_, mechanism, between): Way) -> Result<Estimate, String> {
    let (_, findings) = records.measured(STEP)?;
    let is_it = |finding: &&CaseFinding| {
        finding.case.mechanism == mechanism && finding.case.between == between
    };
    let finding = findings
        .results
        .iter()
        .find(is_it)
        .ok_or("the record lacks the mechanism")?;
    let round = finding
        .round_trip_ns
        .as_ref()
        .ok_or("the round trip could not be measured: see the record")?;
    Ok(round.scaled(1.0 / f64::from(finding.case.tasks.max(1))))
}

/// What the CPU spends for an access with so many tasks: the switch to the next one, or a share of the latency that all wait for.
fn spent_ns(latency_us: f64, handoff_ns: f64) -> f64 {
    handoff_ns.max((latency_us * 1e3 + handoff_ns) / TASKS)
}

pub(super) fn exhibit(records: &Records) -> Exhibit {
    let mut exhibit = Exhibit::new(
        "Hiding a latency",
        "Time of the CPU for each access: waiting, and switching among 16 tasks",
    );
    exhibit.steps.push(STEP.to_owned());
    let ways: Vec<_> = OF_KERNEL
        .into_iter()
        .chain(OF_USER)
        .map(|way| (way.0, handoff(records, way)))
        .collect();
    let mut columns = vec!["latency, us".to_owned(), "waiting, us".to_owned()];
    columns.extend(ways.iter().map(|(name, _)| format!("{name}, us")));
    let mut table = Table::new(&columns.iter().map(String::as_str).collect::<Vec<_>>());
    for us in LATENCIES_US {
        let mut row = vec![Cell::number(us, 0), Cell::number(us, 0)];
        row.extend(
            ways.iter()
                .map(|(_, cost)| Cell::of(cost, 3, |cost| spent_ns(us, cost.estimate) / 1e3)),
        );
        table.row(row);
    }
    exhibit.table = table;
    let place = |us: f64| us * 1e3;
    let mut lines = vec![Series::new(
        "waiting",
        Style::Found,
        LATENCIES_US.map(|us| (place(us), place(us))),
    )];
    for (name, cost) in &ways {
        let Ok(cost) = cost else { continue };
        lines.push(Series::new(
            *name,
            Style::Found,
            LATENCIES_US.map(|us| (place(us), spent_ns(us, cost.estimate))),
        ));
    }
    exhibit.chart = (lines.len() > 1).then(|| {
        Chart::new(
            "latency of an access",
            Axis::Time,
            "time of the CPU for each",
            Axis::Time,
            lines,
        )
    });
    exhibit.notes.push(
        "Computed from measured hand-offs, system calls and wake-ups included: a CPU with enough tasks spends one hand-off for each \
         access instead of the latency, so that switching pays from a latency on that is as long. What an interrupt of the device takes \
         comes on top, and so does what the others leave of the caches."
            .into(),
    );
    exhibit
}

/// The latency from which on switching pays, in microseconds.
fn pays_from(records: &Records, ways: &[Way]) -> Result<Found, String> {
    let term = |way: &Way| {
        let cost = handoff(records, *way)?;
        let [value, low, high] = [cost.estimate, cost.low, cost.high].map(|ns| ns / 1e3);
        Ok::<_, String>(Term::new(format!("{}, us", way.0), value, low, high))
    };
    Ok(Found::new(
        ways.iter().map(term).collect::<Result<_, _>>()?,
        "",
    ))
}

pub(super) fn quantities() -> Quantities {
    vec![
        ("kernel-hides-no-microsecond", |r| pays_from(r, &OF_KERNEL)),
        ("user-level-hides-a-microsecond", |r| pays_from(r, &OF_USER)),
    ]
}
