//! The blog post: two threads, a mutex and a condition variable, taking turns on one CPU.

mod perf;
#[cfg(test)]
pub(crate) mod tests;
mod user_mode;

use switchcost_analysis::{CaseFinding, Estimate};
use switchcost_record::{MeasureRecord, Mechanism};

use crate::claims::{Found, Quantities, Term, exact, ratio};
use crate::exhibit::Cell;
use crate::text::{number, percent};
use crate::{Effort, Exhibit, Records, Site, Step, Table};

const STEP: &str = "blog-condvar";
const OBSERVED: &str = "blog-observed";

/// Iterations of each side, elapsed time, voluntary and involuntary switches of both.
const ITERATIONS: f64 = 20_000.0;
const ELAPSED_MS: f64 = 107.993;
const VOLUNTARY: f64 = 39_999.0;
const INVOLUNTARY: f64 = 40_000.0;
/// Elapsed time under `perf stat`, and the time in user mode and in the kernel that it showed.
const OBSERVED_MS: f64 = 132.224;
const USER_S: f64 = 0.012_264;
const SYSTEM_S: f64 = 0.122_640;
/// What it counted, by event.
const COUNTED: [(&str, f64); 8] = [
    ("context-switches", 79_999.0),
    ("cpu-migrations", 1.0),
    ("page-faults", 199.0),
    ("task-clock", 133.81),
    ("cycles", 327_280_691.0),
    ("instructions", 479_283_260.0),
    ("branches", 112_246_105.0),
    ("branch-misses", 1_114_687.0),
];

/// Two hand-offs make an iteration: there and back.
const HANDOFFS: f64 = 2.0;

pub(crate) fn steps(site: &Site<'_>) -> Vec<Step> {
    // More than the intervals need: the time in user mode is counted in steps of 10 ms.
    let budget = if site.effort == Effort::Quick { "4s" } else { "30s" };
    let line = format!(
        "measure --mechanism mutex-condvar,mutex-condvar-unlocked --no-rt --no-counters --precision 0.1% --budget {budget} \
         --cpu {}",
        site.quiet_cpu
    );
    let mut observed = Step::new(OBSERVED, &line);
    let events: Vec<&str> = COUNTED.iter().map(|(event, _)| *event).collect();
    let watcher = format!("perf stat -x , -e {} -o WORDS --", events.join(","));
    observed.watched_by = watcher.split(' ').map(str::to_owned).collect();
    vec![Step::new(STEP, &line), observed]
}

pub(crate) fn exhibits(records: &Records) -> Vec<Exhibit> {
    vec![counts(records), observer(records), counted_by_perf(records)]
}

fn case<'a>(
    records: &'a Records,
    step: &str,
    mechanism: Mechanism,
) -> Result<(&'a MeasureRecord, usize, &'a CaseFinding), String> {
    let (record, findings) = records.measured(step)?;
    let is_wanted = |(_, finding): &(usize, &CaseFinding)| finding.case.mechanism == mechanism;
    let (number, finding) =
        findings.results.iter().enumerate().find(is_wanted).ok_or("the record lacks the mechanism")?;
    Ok((record, number, finding))
}

/// An iteration in nanoseconds: a round through both threads.
fn iteration(records: &Records, step: &str) -> Result<Estimate, String> {
    let (_, _, finding) = case(records, step, Mechanism::MutexCondvar)?;
    finding.round_trip_ns.clone().ok_or_else(|| "the round trip could not be measured: see the record".to_owned())
}

/// Switches an iteration, and the share of them that was involuntary.
fn switches(records: &Records, mechanism: Mechanism) -> Result<(f64, f64), String> {
    let (_, _, finding) = case(records, STEP, mechanism)?;
    let each = finding.switches_per_handoff.ok_or("the switches were not counted")?;
    let share = finding.involuntary_share.ok_or("the kinds of switches were not counted")?;
    Ok((each * HANDOFFS, share))
}

/// Time in user mode over time in the kernel.
fn user_over_system(records: &Records) -> Result<Term, String> {
    let (record, number, _) = case(records, STEP, Mechanism::MutexCondvar)?;
    user_mode::over_kernel(record, number)
}

fn counts(records: &Records) -> Exhibit {
    let mut exhibit = Exhibit::new("the program", "Condition variable ping-pong: time and counted switches");
    exhibit.steps.push(STEP.to_owned());
    let mut table = Table::new(&["what", "published", "here"]);
    let time = iteration(records, STEP).map(|round| round.estimate);
    let under_lock = switches(records, Mechanism::MutexCondvar);
    let why = |of: &Result<(f64, f64), String>| of.clone().err().unwrap_or_default();
    let lost = why(&under_lock);
    let counted = under_lock.as_ref().ok().copied();
    let missing = time.clone().err().unwrap_or_default();
    let user = user_over_system(records);
    let no_user = user.clone().err().unwrap_or_default();
    let each = time.as_ref().ok().zip(counted).map(|(ns, (switches, _))| ns / switches);
    let rows: [(&str, f64, Option<f64>, usize, &str); 6] = [
        ("20,000 iterations, ms", ELAPSED_MS, time.as_ref().ok().map(|ns| ns * ITERATIONS / 1e6), 1, &missing),
        (
            "voluntary switches of 20,000",
            VOLUNTARY,
            counted.map(|(all, share)| all * (1.0 - share) * ITERATIONS),
            0,
            &lost,
        ),
        ("involuntary switches of 20,000", INVOLUNTARY, counted.map(|(all, share)| all * share * ITERATIONS), 0, &lost),
        (
            "elapsed time a switch, us",
            ELAPSED_MS * 1e3 / (VOLUNTARY + INVOLUNTARY),
            each.map(|ns| ns / 1e3),
            3,
            &missing,
        ),
        (
            "elapsed time a hand-off, us",
            ELAPSED_MS * 1e3 / ITERATIONS / HANDOFFS,
            time.as_ref().ok().map(|ns| ns / HANDOFFS / 1e3),
            3,
            &missing,
        ),
        (
            "user mode over kernel, %",
            USER_S / SYSTEM_S * 100.0,
            user.as_ref().ok().map(|term| term.value * 100.0),
            1,
            &no_user,
        ),
    ];
    for (what, published, here, decimals, why) in rows {
        table.row(vec![what.into(), Cell::number(published, decimals), Cell::or_missing(here, decimals, why)]);
    }
    exhibit.table = table;
    exhibit.notes.push(
        "Elapsed time over counted switches is the post's figure; it holds system calls and the loop, too. What a switch \
         costs beyond those is the direct cost in the record."
            .into(),
    );
    exhibit
}

/// An iteration under perf stat, where it counted.
fn watched(records: &Records) -> Result<Estimate, String> {
    if records.text(OBSERVED)?.contains("context-switches") {
        iteration(records, OBSERVED)
    } else {
        Err("perf stat counted no switches: see its words".to_owned())
    }
}

fn observer(records: &Records) -> Exhibit {
    let mut exhibit = Exhibit::new("the observer", "The same under perf stat");
    exhibit.steps.extend([STEP.to_owned(), OBSERVED.to_owned()]);
    let alone = iteration(records, STEP);
    let watched = watched(records);
    let mut table = Table::new(&["what", "published", "here"]);
    let rows = [
        ("alone, us an iteration", ELAPSED_MS * 1e3 / ITERATIONS, &alone),
        ("under perf stat, us an iteration", OBSERVED_MS * 1e3 / ITERATIONS, &watched),
    ];
    for (what, published, here) in rows {
        let why = here.clone().err().unwrap_or_default();
        table.row(vec![
            what.into(),
            Cell::number(published, 3),
            Cell::or_missing(here.clone().ok().map(|round| round.estimate / 1e3), 3, &why),
        ]);
    }
    exhibit.table = table;
    exhibit.notes.push(
        "Watched are the same measurements; perf counts the switches and the CPU time of all their tasks.".into(),
    );
    exhibit
}

fn switches_an_iteration(records: &Records, mechanism: Mechanism) -> Result<Found, String> {
    let (all, share) = switches(records, mechanism)?;
    Ok(Found::new(vec![exact("switches an iteration", all)], format!("{} of them involuntary", percent(share))))
}

/// All switches that perf saw, over those that the kernel counted for the tasks while the token went around.
fn perf_over_kernel(records: &Records) -> Result<Found, String> {
    let seen = perf::Counts::read(records.text(OBSERVED)?).of("context-switches")?;
    let (record, _) = records.measured(OBSERVED)?;
    let counted: u64 = record.cycles.iter().map(|window| window.kernel_switches.total()).sum();
    if counted == 0 {
        return Err("the record has no switches that the kernel counted".to_owned());
    }
    let note = format!("{} by perf, {} in the record", number(seen), number(counted as f64));
    Ok(Found::new(vec![exact("perf's switches over the record's", seen / counted as f64)], note))
}

/// Every event, and for each switch.
fn counted_by_perf(records: &Records) -> Exhibit {
    let mut exhibit = Exhibit::new("perf's counts", "What perf stat counts, in all and for each switch");
    exhibit.steps.push(OBSERVED.to_owned());
    let mut table = Table::new(&["event", "published", "a switch", "here", "a switch, here"]);
    let counts = records.text(OBSERVED).map(perf::Counts::read);
    let of = |event: &str| counts.as_ref().map_err(Clone::clone).and_then(|counts| counts.of(event));
    let switches = of("context-switches");
    for (event, published) in COUNTED {
        let here = of(event);
        let each = here.as_ref().ok().zip(switches.as_ref().ok()).map(|(count, switches)| count / switches);
        let why = here.clone().err().unwrap_or_default();
        let unit = if event == "task-clock" { "task-clock, ms" } else { event };
        let decimals = if event == "task-clock" { 2 } else { 0 };
        table.row(vec![
            unit.into(),
            Cell::number(published, decimals),
            Cell::number(published / COUNTED[0].1, 4),
            Cell::or_missing(here.ok(), decimals, &why),
            Cell::or_missing(each, 4, &why),
        ]);
    }
    exhibit.table = table;
    exhibit.notes.push(
        "Here perf watches a measurement, not the post's program: both mechanisms, the arms without switches, the probes and the \
         start of each repetition are in its counts, so that they are more for each switch than the post's."
            .into(),
    );
    exhibit
}

pub(crate) fn quantities() -> Quantities {
    vec![
        ("four-switches", |r| switches_an_iteration(r, Mechanism::MutexCondvar)),
        ("fewer-when-unlocked", |r| {
            let (locked, _) = switches(r, Mechanism::MutexCondvar)?;
            let (unlocked, share) = switches(r, Mechanism::MutexCondvarUnlocked)?;
            let note = format!("{} and {}, {} of them involuntary", number(locked), number(unlocked), percent(share));
            Ok(Found::new(
                vec![exact("switches notified after unlocking over those under the lock", unlocked / locked)],
                note,
            ))
        }),
        ("mostly-kernel", |r| Ok(Found::new(vec![user_over_system(r)?], "less the probes between the batches"))),
        ("perf-agrees", perf_over_kernel),
        ("observer-slows", |r| {
            let (alone, watched) = (iteration(r, STEP)?, watched(r)?);
            Ok(Found::new(vec![ratio("under perf stat over alone", &watched, &alone)], ""))
        }),
    ]
}
