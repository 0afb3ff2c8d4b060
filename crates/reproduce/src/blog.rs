//! The blog post: two threads, a mutex and a condition variable, taking turns on one CPU.

use analysis::{CaseFinding, Estimate};
use record::{MeasureRecord, Mechanism};

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
    observed.watched_by =
        "perf stat -e context-switches,task-clock -o WORDS --".split(' ').map(str::to_owned).collect();
    vec![Step::new(STEP, &line), observed]
}

pub(crate) fn exhibits(records: &Records) -> Vec<Exhibit> {
    vec![counts(records), observer(records)]
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

/// Time in user mode over time in the kernel, of all cycles: in both of their arms the same calls are made.
fn user_over_system(records: &Records) -> Result<f64, String> {
    let (record, number, _) = case(records, STEP, Mechanism::MutexCondvar)?;
    let mut sums = (0, 0);
    for window in record.cycles.iter().filter(|window| window.case == number as u32) {
        sums.0 += window.evidence.task_user_ns.ok_or("the record does not separate user mode from the kernel")?.0;
        sums.1 += window.evidence.task_system_ns.ok_or("the record does not separate user mode from the kernel")?.0;
    }
    // The kernel counts in steps of 10 ms.
    if sums.1 < 200_000_000 {
        Err("less than 200 ms in the kernel were counted, in steps of 10 ms".to_owned())
    } else {
        Ok(sums.0 as f64 / sums.1 as f64)
    }
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
        ("user mode over kernel, %", USER_S / SYSTEM_S * 100.0, None, 1, "see the claims"),
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

/// The tasks work in user mode between the batches, too, which a kernel that counts by ticks does not tell apart: so the
/// time counted is the most that it can be.
fn at_most_user(records: &Records) -> Result<Found, String> {
    let most = user_over_system(records)?;
    let term = Term::new("user mode over the kernel", most, 0.0, most);
    Ok(Found::new(vec![term], "an upper bound: probes between the batches are in it"))
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
        ("mostly-kernel", at_most_user),
        ("observer-slows", |r| {
            let (alone, watched) = (iteration(r, STEP)?, watched(r)?);
            Ok(Found::new(vec![ratio("under perf stat over alone", &watched, &alone)], ""))
        }),
    ]
}
