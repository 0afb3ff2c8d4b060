//! Claims of the blog post on threads: two threads alternate on one CPU, with a mutex and a
//! condition variable.

mod kinds;
mod perf;
#[cfg(test)]
pub(crate) mod tests;
mod user_mode;

use switchcost_analysis::{CaseFinding, Estimate, switches_of_repetitions};
use switchcost_record::{MeasureRecord, Mechanism};

use crate::claims::{Found, Quantities, Term, ratio};
use crate::exhibit::Cell;
use crate::interval::{Interval, mean_interval};
use crate::text::{number, percent};
use crate::{Effort, Exhibit, Outcome, Records, Site, Step};

const STEP: &str = "blog-condvar";
const OBSERVED: &str = "blog-observed";

/// Mechanism that makes the same system calls as the blog post's program.
const PROGRAM: Mechanism = Mechanism::MutexCondvarHeld;

/// Number of iterations of each thread in the blog post.
const ITERATIONS: f64 = 20_000.0;
const ELAPSED_MS: f64 = 107.993;
const VOLUNTARY: f64 = 39_999.0;
const INVOLUNTARY: f64 = 40_000.0;
/// Elapsed time of the blog post's run under `perf stat`, in ms.
const OBSERVED_MS: f64 = 132.224;
const USER_S: f64 = 0.012_264;
const SYSTEM_S: f64 = 0.122_640;
/// Counts that the blog post prints, by perf's name of the event.
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

/// Number of hand-offs per iteration: one to the other thread, and one back.
const HANDOFFS: f64 = 2.0;

pub(crate) fn steps(site: &Site<'_>) -> Vec<Step> {
    // The budget is longer than the intervals require, because the time in user mode is counted in
    // steps of 10 ms.
    let budget = site.effort.choose("30s", "4s");
    let line = format!(
        "measure --mechanism mutex-condvar-held,mutex-condvar-unlocked --between thread --no-rt --no-counters --precision 0.1% \
         --budget {budget} --cpu {}",
        site.quiet_cpu
    );
    let mut observed = Step::new(OBSERVED, &line);
    let events: Vec<&str> = COUNTED.iter().map(|(event, _)| *event).collect();
    let watcher = format!(
        "perf stat -x , -e {} -o records/{OBSERVED}.watched.txt --",
        events.join(",")
    );
    observed.watched_by = watcher.split(' ').map(str::to_owned).collect();
    let mut steps = vec![Step::new(STEP, &line), observed];
    if site.effort == Effort::Usual {
        steps.extend(kinds::steps(site));
    }
    steps
}

pub(crate) fn exhibits(records: &Records) -> Vec<Exhibit> {
    vec![
        counts(records),
        environment(records),
        kinds::exhibit(records),
        observer(records),
        counted_by_perf(records),
    ]
}

fn case<'a>(
    records: &'a Records,
    step: &str,
    mechanism: Mechanism,
) -> Outcome<(&'a MeasureRecord, usize, &'a CaseFinding)> {
    let (record, findings) = records.measured(step)?;
    let is_wanted = |(_, finding): &(usize, &CaseFinding)| finding.case.mechanism == mechanism;
    let (number, finding) = findings
        .results
        .iter()
        .enumerate()
        .find(is_wanted)
        .ok_or("the record lacks the mechanism")?;
    Ok((record, number, finding))
}

/// Returns the time of an iteration, which is a round trip through both threads, in ns.
fn iteration(records: &Records, step: &str) -> Outcome<Estimate> {
    let (_, _, finding) = case(records, step, PROGRAM)?;
    finding
        .round_trip_ns
        .clone()
        .ok_or_else(|| "the round trip could not be measured: see the record".to_owned())
}

/// Returns the number of switches per iteration with an interval from the spread of the
/// repetitions, and the share of involuntary switches.
fn switches(records: &Records, mechanism: Mechanism) -> Outcome<(Interval, f64)> {
    let (record, number, finding) = case(records, STEP, mechanism)?;
    let counts: Vec<f64> = switches_of_repetitions(record, number)
        .iter()
        .map(|each| each * HANDOFFS)
        .collect();
    let all =
        mean_interval(&counts).ok_or("the switches of fewer than two repetitions were counted")?;
    let share = finding
        .involuntary_share
        .ok_or("the kinds of switches were not counted")?;
    Ok((all, share))
}

/// Returns the elapsed time per switch in ns, computed as in the blog post.
fn elapsed(records: &Records) -> Outcome<Term> {
    let round = iteration(records, STEP)?;
    let (all, _) = switches(records, PROGRAM)?;
    Ok(ratio("elapsed time over switches, ns", &round, all))
}

/// Returns the ratio of the time in user mode to the time in the kernel.
fn user_over_system(records: &Records) -> Outcome<Term> {
    let (record, number, _) = case(records, STEP, PROGRAM)?;
    user_mode::over_kernel(record, number)
}

fn counts(records: &Records) -> Exhibit {
    let mut exhibit = Exhibit::new(
        "the program",
        "Condition variable ping-pong: time and counted switches",
        ["what", "published", "here"],
    );
    exhibit.add_step(STEP);
    let time = iteration(records, STEP).map(|round| round.estimate);
    let under_lock = switches(records, PROGRAM);
    let lost = under_lock.clone().err().unwrap_or_default();
    let counted = under_lock.ok().map(|(all, share)| (all.estimate, share));
    let missing = time.clone().err().unwrap_or_default();
    let user = user_over_system(records);
    let no_user = user.clone().err().unwrap_or_default();
    let each = time
        .as_ref()
        .ok()
        .zip(counted)
        .map(|(ns, (switches, _))| ns / switches);
    let rows: [(&str, f64, Option<f64>, usize, &str); 6] = [
        (
            "20,000 iterations, ms",
            ELAPSED_MS,
            time.as_ref().ok().map(|ns| ns * ITERATIONS / 1e6),
            1,
            &missing,
        ),
        (
            "voluntary switches of 20,000",
            VOLUNTARY,
            counted.map(|(all, share)| all * (1.0 - share) * ITERATIONS),
            0,
            &lost,
        ),
        (
            "involuntary switches of 20,000",
            INVOLUNTARY,
            counted.map(|(all, share)| all * share * ITERATIONS),
            0,
            &lost,
        ),
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
        exhibit.row(vec![
            what.into(),
            Cell::number(published, decimals),
            Cell::or_missing(here, decimals, why),
        ]);
    }
    exhibit.add_note("As in the post, two threads share a condition variable and a lock, which is held except while waiting. The \
         post divides elapsed time by counted switches; this includes system calls and the loop. The record also has \
         the direct cost, which excludes both.");
    exhibit.add_note("The post's 10 % of user time is 3 of 33 clock ticks (135 ms at 250 Hz). Any share from 0.5 % to 20 % could \
         give this count.");
    exhibit
}

/// Returns an exhibit that compares the environment printed in the blog post with this machine.
fn environment(records: &Records) -> Exhibit {
    let mut exhibit = Exhibit::new("ENV", "The machines", ["what", "published", "here"]);
    exhibit.add_step(STEP);
    let host = records
        .measured(STEP)
        .map(|(record, _)| &record.header.host);
    let why = host.as_ref().err().cloned().unwrap_or_default();
    let host = host.ok();
    let turbo = |on: bool| if on { "on" } else { "off" }.to_owned();
    let rows: [(&str, &str, Option<String>); 6] = [
        (
            "compiler",
            "Clang 14 -O",
            Some("rustc, optimised: docs/method/papers.md".to_owned()),
        ),
        ("kernel", "Linux 5.10", host.map(|host| host.kernel.clone())),
        (
            "system",
            "Debian 11.6",
            host.and_then(|host| host.distribution.known().cloned()),
        ),
        (
            "CPUs",
            "12 (6 cores)",
            host.map(|host| host.cpus_online.len().to_string()),
        ),
        (
            "processor",
            "Core i7-9850H, 2.60 GHz",
            host.and_then(|host| host.cpu_model.known().cloned()),
        ),
        (
            "turbo",
            "off",
            host.and_then(|host| host.is_turbo_on).map(turbo),
        ),
    ];
    for (what, published, here) in rows {
        let why = if why.is_empty() { "not reported" } else { &why };
        let missing = Cell::Missing {
            why: why.to_owned(),
        };
        exhibit.row(vec![
            what.into(),
            published.into(),
            here.map_or(missing, Cell::from),
        ]);
    }
    exhibit
}

/// Returns the number of switches that perf counted. perf counts 0 if the kernel lets it count only
/// in user mode.
fn switches_by_perf(records: &Records) -> Outcome<f64> {
    let count = perf::Counts::read(records.text(OBSERVED)?).count(COUNTED[0].0);
    count
        .ok()
        .filter(|count| *count > 0.0)
        .ok_or_else(|| format!("perf stat counted no switches: see records/{OBSERVED}.watched.txt"))
}

/// Returns the time of an iteration under `perf stat` in ns; an error if perf counted no switches.
fn watched(records: &Records) -> Outcome<Estimate> {
    switches_by_perf(records)?;
    iteration(records, OBSERVED)
}

fn observer(records: &Records) -> Exhibit {
    let mut exhibit = Exhibit::new(
        "the observer",
        "The program under perf stat",
        ["what", "published", "here"],
    );
    exhibit.steps.extend([STEP.to_owned(), OBSERVED.to_owned()]);
    let alone = iteration(records, STEP);
    let watched = watched(records);
    let rows = [
        (
            "alone, us an iteration",
            ELAPSED_MS * 1e3 / ITERATIONS,
            &alone,
        ),
        (
            "under perf stat, us an iteration",
            OBSERVED_MS * 1e3 / ITERATIONS,
            &watched,
        ),
    ];
    for (what, published, here) in rows {
        let here = Cell::new(here, 3, |round| round.estimate / 1e3);
        exhibit.row(vec![what.into(), Cell::number(published, 3), here]);
    }
    exhibit.add_note("perf stat watches the same measurements, and counts the switches and the CPU time of all their tasks.");
    exhibit
}

fn switches_an_iteration(records: &Records, mechanism: Mechanism) -> Outcome {
    let (all, share) = switches(records, mechanism)?;
    let term = Term::new("switches per iteration", all);
    Ok(Found::number(
        term,
        format!("{} of them involuntary", percent(share)),
    ))
}

/// Returns the number of involuntary switches per iteration, with its interval.
fn involuntary_an_iteration(records: &Records) -> Outcome {
    let (all, share) = switches(records, PROGRAM)?;
    let term = Term::new(
        "involuntary switches per iteration",
        all.map(|switches| switches * share),
    );
    Ok(Found::number(
        term,
        format!("{} voluntary ones", number(all.estimate * (1.0 - share))),
    ))
}

fn fewer_when_unlocked(records: &Records) -> Outcome {
    let (held, _) = switches(records, PROGRAM)?;
    let (unlocked, share) = switches(records, Mechanism::MutexCondvarUnlocked)?;
    let note = format!(
        "{} and {}, {} of these involuntary",
        number(held.estimate),
        number(unlocked.estimate),
        percent(share)
    );
    Ok(Found::number(
        ratio(
            "switches, notified under the lock / after unlocking",
            held,
            unlocked,
        ),
        note,
    ))
}

/// Returns the ratio of the time in user mode to the time in the kernel. The note has the time of
/// the same library calls without a waiting task, as a share of a hand-off; without a waiting task,
/// the calls stay in user mode.
fn mostly_kernel(records: &Records) -> Outcome {
    let (_, _, finding) = case(records, STEP, PROGRAM)?;
    let alone = finding.baseline_ns.as_ref().map(|alone| alone.estimate);
    let each = finding
        .round_trip_ns
        .as_ref()
        .map(|round| round.estimate / HANDOFFS);
    let note = match alone.zip(each) {
        Some((alone, each)) => format!(
            "without the probes between the batches; the same calls to itself, all in user mode, take {} of a hand-off",
            percent(alone / each)
        ),
        None => "without the probes between the batches".to_owned(),
    };
    Ok(Found::number(user_over_system(records)?, note))
}

fn convert_to_microseconds(term: Term) -> Found {
    let us = term.interval().map(|ns| ns / 1e3);
    let term = Term::new("elapsed time over switches, us", us);
    Found::number(term, "")
}

/// Returns the ratio of two counts of switches of the same processes: by perf, and by the kernel
/// over the whole lives of the processes.
fn perf_over_kernel(records: &Records) -> Outcome {
    let seen = switches_by_perf(records)?;
    let (record, _) = records.measured(OBSERVED)?;
    let counted = record
        .end
        .and_then(|end| end.switches)
        .map_or(0, |switches| switches.total());
    if counted == 0 {
        return Err("the record does not count the switches of the whole run".to_owned());
    }
    let note = format!("{seen:.0} by perf, {counted} by getrusage");
    // The interval is no shorter than that of the ratio of two counts.
    let half = 1.645 * (1.0 / seen + 1.0 / counted as f64).sqrt();
    let ratio = Interval::symmetric(1.0, half).map(|end| end * (seen / counted as f64));
    let term = Term::new("perf's switches over getrusage's", ratio);
    Ok(Found::number(term, note))
}

/// Returns an exhibit with each event that perf counted, in total and per switch.
fn counted_by_perf(records: &Records) -> Exhibit {
    let mut exhibit = Exhibit::new(
        "perf's counts",
        "Counts by perf stat, in total and per switch",
        ["event", "published", "a switch", "here", "a switch, here"],
    );
    exhibit.add_step(OBSERVED);
    let counts = records.text(OBSERVED).map(perf::Counts::read);
    let of = |event: &str| {
        counts
            .as_ref()
            .map_err(Clone::clone)
            .and_then(|counts| counts.count(event))
    };
    let switches = switches_by_perf(records);
    for (event, published) in COUNTED {
        let here = of(event);
        let each = here.clone().and_then(|count| Ok(count / switches.clone()?));
        let unit = if event == "task-clock" {
            "task-clock, ms"
        } else {
            event
        };
        let decimals = if event == "task-clock" { 2 } else { 0 };
        exhibit.row(vec![
            unit.into(),
            Cell::number(published, decimals),
            Cell::number(published / COUNTED[0].1, 4),
            Cell::new(&here, decimals, |count| *count),
            Cell::new(&each, 4, |each| *each),
        ]);
    }
    exhibit.add_note("perf watches a measurement here, not the post's program. It also counts the baseline, the probes and the \
         start of each repetition, so its counts per switch are higher than the post's.");
    exhibit
}

pub(crate) fn quantities() -> Quantities {
    vec![
        ("four-switches", |r| switches_an_iteration(r, PROGRAM)),
        ("not-always-preempted", involuntary_an_iteration),
        ("fewer-when-unlocked", fewer_when_unlocked),
        ("mostly-kernel", mostly_kernel),
        ("elapsed-a-switch", |r| {
            Ok(convert_to_microseconds(elapsed(r)?))
        }),
        ("kinds-alike", kinds::voluntary_over_involuntary),
        ("perf-agrees", perf_over_kernel),
        ("observer-slows", |r| {
            let (alone, watched) = (iteration(r, STEP)?, watched(r)?);
            Ok(Found::number(
                ratio("under perf stat over alone", &watched, &alone),
                "",
            ))
        }),
    ]
}
