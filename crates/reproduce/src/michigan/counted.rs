//! Claims on Figure 4 of the poster, by hardware counters: the misses of measured switches, on a
//! machine that has such counters.

use switchcost_analysis::CounterFinding;
use switchcost_record::{Mechanism, SelfTestOutcome};
use switchcost_units::Bytes;

use super::measured::{AtSize, changes_alike, curve};
use super::{KERNEL, SIZES_KIB, USER, first_level, is_about};
use crate::claims::{Found, Quantities, Term};
use crate::exhibit::Cell;
use crate::interval::{Interval, largest};
use crate::records::{collect_known, require};
use crate::text::number;
use crate::{Axis, Chart, Exhibit, Outcome, Records, Series, Style};

/// perf's name of the counter of L1 data load misses.
const L1D: &str = "L1-dcache-load-misses";
const COUNTERS: [&str; 3] = [L1D, "L1-icache-load-misses", DTLB];
const DTLB: &str = "dTLB-load-misses";

/// Compared switches, in the kernel and at user level: name, step and mechanism.
const ARMS: [(&str, &str, Mechanism); 2] = [
    ("kernel", KERNEL, Mechanism::Pipe),
    ("user", USER, Mechanism::Ucontext),
];

pub(super) fn figure_4(records: &Records) -> Exhibit {
    let mut exhibit = Exhibit::new(
        "Figure 4, counted",
        "Misses of one task alone and of two alternating tasks, by this machine's counters",
        [
            "size",
            "counter",
            "kernel, alone",
            "kernel, two",
            "user level, alone",
            "user level, two",
        ],
    );
    exhibit
        .steps
        .extend(ARMS.map(|(_, step, _)| step.to_owned()));
    let mut lines = Vec::new();
    for counter in COUNTERS {
        for kib in SIZES_KIB {
            let mut row: Vec<Cell> = vec![Bytes::kib(kib).into(), counter.into()];
            for (_, step, mechanism) in ARMS {
                let found = counted(records, step, mechanism, counter, kib);
                row.extend(
                    [
                        |c: &CounterFinding| c.baseline,
                        |c: &CounterFinding| c.switching,
                    ]
                    .map(|of| Cell::new(&found, 2, of)),
                );
            }
            exhibit.row(row);
        }
        for (name, step, mechanism) in ARMS {
            let gaps = gaps(records, step, mechanism, counter).unwrap_or_default();
            let points = gaps
                .into_iter()
                .map(|(kib, gap)| ((kib * 1024) as f64, gap.estimate));
            lines.push(Series::new(
                format!("{counter}, {name}"),
                Style::Found,
                points,
            ));
        }
    }
    exhibit.chart = Chart::draw(
        "size of each task's array",
        Axis::Size,
        "more misses per hand-off than alone",
        Axis::Linear,
        lines,
    );
    exhibit.add_note("Mean counts of separate batches. As on the poster, they include the kernel, if this machine allows it. *Figure \
         4 with the kernel* simulates the same misses in a guest.");
    exhibit
}

/// Returns the finding of a counter at one array size, or the reason why it was not counted.
fn counted(
    records: &Records,
    step: &str,
    mechanism: Mechanism,
    counter: &str,
    kib: u64,
) -> Outcome<CounterFinding> {
    let (record, findings) = records.measured(step)?;
    let why = || {
        let test = record
            .self_tests
            .iter()
            .find(|test| test.instrument == counter);
        match test.map(|test| &test.outcome) {
            Some(SelfTestOutcome::Unavailable { why }) => why.clone(),
            Some(SelfTestOutcome::Wrong { .. }) => {
                "this machine's counter failed its known answer".to_owned()
            }
            _ => "not counted".to_owned(),
        }
    };
    let at_size = |finding: &&switchcost_analysis::CaseFinding| {
        finding.case.mechanism == mechanism
            && finding.case.working_set.size_bytes == Bytes::kib(kib)
    };
    let counters = findings
        .results
        .iter()
        .find(at_size)
        .map(|finding| &finding.counters);
    // perf marks a counter that leaves out the kernel by the end of its name.
    let is_it =
        |found: &&CounterFinding| found.name.strip_suffix(":u").unwrap_or(&found.name) == counter;
    counters
        .and_then(|all| all.iter().find(is_it))
        .cloned()
        .ok_or_else(why)
}

/// Returns the difference in misses per hand-off between two tasks and one, by array size in KiB.
fn gaps(
    records: &Records,
    step: &str,
    mechanism: Mechanism,
    counter: &str,
) -> Outcome<Vec<(u64, Interval)>> {
    collect_known(&SIZES_KIB[1..], 3, |kib| {
        Ok(gap(&counted(records, step, mechanism, counter, kib)?))
    })
}

/// Returns the difference in counts between the two arms, with its interval. A single batch has no
/// interval.
fn gap(found: &CounterFinding) -> Interval {
    let half = found
        .difference_error
        .map_or(f64::NAN, |error| NORMAL * error);
    Interval::symmetric(found.switching - found.baseline, half)
}

/// Half-width of a 90 % interval over many batches, in standard errors.
const NORMAL: f64 = 1.645;

/// Returns the largest difference in L1 misses per hand-off between two tasks and one at array
/// sizes near the first-level cache's size, minus the largest difference at other sizes.
fn first_maximum(records: &Records) -> Outcome {
    let gaps = gaps(records, KERNEL, Mechanism::Pipe, L1D)?;
    let first = first_level(&records.measured(KERNEL)?.0.header.host)?;
    let most = |about: bool| {
        let those = gaps
            .iter()
            .filter(|(kib, _)| is_about(Bytes::kib(*kib), first) == about);
        largest(&those.map(|(_, gap)| *gap).collect::<Vec<_>>())
            .ok_or("no size about the first level's was counted, or no neighbour of it")
    };
    let (there, elsewhere) = (most(true)?, most(false)?);
    let note = format!(
        "{} misses per hand-off about {first}, at most {} elsewhere",
        number(there.estimate),
        number(elsewhere.estimate)
    );
    Ok(Found::number(
        Term::new(
            "gap about the first level's capacity minus the largest elsewhere",
            there - elsewhere,
        ),
        note,
    ))
}

fn tlb(records: &Records) -> Outcome {
    let at_largest = |step, mechanism| -> Outcome<Interval> {
        let gaps = gaps(records, step, mechanism, DTLB)?;
        Ok(gaps[gaps.len() - 1].1)
    };
    let (kernel, user) = (
        at_largest(KERNEL, Mechanism::Pipe)?,
        at_largest(USER, Mechanism::Ucontext)?,
    );
    let note = format!(
        "{} dTLB misses per hand-off in the kernel, {} at user level",
        number(kernel.estimate),
        number(user.estimate)
    );
    Ok(Found::number(
        Term::new("the kernel's gap minus that at user level", kernel - user),
        note,
    ))
}

/// Returns a number for each step from an array size above 64 KiB to the next, which is positive if
/// the cost and the dTLB misses change in the same direction.
fn follows(records: &Records) -> Outcome {
    let gaps = gaps(records, KERNEL, Mechanism::Pipe, DTLB)?;
    let costs = curve(records, KERNEL, Mechanism::Pipe)?;
    let at = |kib: u64| {
        costs
            .iter()
            .find(|(size, _)| *size == kib << 10)
            .map(|(_, cost)| Interval::from(cost))
    };
    let above: Vec<AtSize> = gaps
        .iter()
        .filter(|(kib, _)| *kib > 64)
        .filter_map(|(kib, gap)| Some((Bytes::kib(*kib), *gap, at(*kib)?)))
        .collect();
    let terms = changes_alike(&above);
    Ok(Found::new(
        require(terms, 1, "fewer than two sizes above 64 KiB were counted")?,
        "",
    ))
}

pub(super) fn quantities() -> Quantities {
    vec![
        ("counted-maximum-at-l1", first_maximum),
        ("counted-dtlb-kernel", tlb),
        ("counted-follows-dtlb", follows),
    ]
}
