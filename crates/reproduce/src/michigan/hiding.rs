//! Measures how much of a short wait becomes work if the CPU switches to another task: the poster's
//! motivation.

use serde::Deserialize;

use crate::claims::{Found, Quantities, Term};
use crate::exhibit::Cell;
use crate::interval::{Interval, mean_interval};
use crate::text::percent;
use crate::{Exhibit, Outcome, Records, Site, Step};

pub(super) const STEP: &str = "michigan-hiding";
const WAITS_NS: [u64; 3] = [1_000, 10_000, 100_000];

/// A way to wait, and how often the kernel must take the CPU from the waiting task per request.
type Way = (&'static str, f64);
const SPIN: Way = ("spin", 0.0);
const FIBERS: Way = ("fibers", 0.0);
const THREADS: Way = ("threads", 1.0);
const PROCESSES: Way = ("processes", 1.0);

pub(super) fn step(site: &Site<'_>) -> Step {
    let (repetitions, window_ms) = site.effort.choose((20, 50), (10, 5));
    let (cpu, seed) = (site.quiet_cpu, site.seed);
    Step {
        name: STEP.to_owned(),
        arguments: format!("{cpu} {repetitions} {window_ms} {seed} records/{STEP}.json")
            .split(' ')
            .map(str::to_owned)
            .collect(),
        watched_by: Vec::new(),
        source: Some(("michigan/hiding.c", include_str!("hiding.c"))),
    }
}

/// Counts of one window: a line of the program's output.
#[derive(Deserialize)]
struct Window {
    way: String,
    wait_ns: u64,
    ns: f64,
    units: f64,
    requests: f64,
    switches: f64,
}

/// Results of one repetition.
struct Compared {
    requests_per_ms: f64,
    /// Units of work per time, relative to those of the worker alone.
    work: f64,
    /// Share of the wait that became work.
    hidden: f64,
}

/// Largest share of the CPU that other tasks or the hypervisor may take.
const MOST_LOST: f64 = 0.05;

fn select<'a>(
    windows: &'a [Window],
    way: &'a str,
    wait_ns: u64,
) -> impl Iterator<Item = &'a Window> {
    let is_it = move |window: &&Window| window.way == way && window.wait_ns == wait_ns;
    windows.iter().filter(is_it)
}

/// Compares a way to wait with spinning and with the worker alone, in each repetition.
fn compare(records: &Records, (way, expected): Way, wait_ns: u64) -> Outcome<Vec<Compared>> {
    let windows: Vec<Window> = records
        .text(STEP)?
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()
        .map_err(|error| format!("the output of {STEP} has another format ({error})"))?;
    let each = |way, wait_ns, number: fn(&Window) -> f64| {
        let requests: f64 = select(&windows, way, wait_ns)
            .map(|window| window.requests)
            .sum();
        select(&windows, way, wait_ns).map(number).sum::<f64>() / requests
    };
    let switches = each(way, wait_ns, |window| window.switches);
    if (switches - expected).abs() > 0.1 {
        return Err(format!(
            "the kernel took the CPU from the waiting task {switches:.2} times per request, not {expected}"
        ));
    }
    let longest_ns = WAITS_NS[2];
    let lost = 1.0 - longest_ns as f64 / each(SPIN.0, longest_ns, |window| window.ns);
    if lost > MOST_LOST {
        return Err(format!(
            "{} of the CPU's time was lost to others",
            percent(lost)
        ));
    }
    let alone = windows.iter().filter(|window| window.way == "alone");
    let baselines = select(&windows, SPIN.0, wait_ns).zip(alone);
    let compared = |(window, (spin, alone)): (&Window, (&Window, &Window))| {
        let work_ns = window.units * alone.ns / alone.units;
        let request_ns = (window.ns - work_ns) / window.requests;
        Compared {
            requests_per_ms: window.requests / window.ns * 1e6,
            work: work_ns / window.ns,
            hidden: 1.0 - request_ns / (spin.ns / spin.requests),
        }
    };
    Ok(select(&windows, way, wait_ns)
        .zip(baselines)
        .map(compared)
        .collect())
}

/// Returns the mean of a number over the repetitions, with its interval.
fn mean<T>(repetitions: &[T], number: impl Fn(&T) -> f64) -> Outcome<Interval> {
    let numbers: Vec<f64> = repetitions.iter().map(number).collect();
    mean_interval(&numbers).ok_or_else(|| "fewer than two repetitions".to_owned())
}

pub(super) fn exhibit(records: &Records) -> Exhibit {
    let mut exhibit = Exhibit::new(
        "Hiding a wait",
        "Work of another task while a task waits for an answer, on one CPU",
        [
            "wait, us",
            "way to wait",
            "requests per ms",
            "work, % of alone",
            "hidden, %",
            "from",
            "to",
        ],
    );
    exhibit.add_step(STEP);
    for wait_ns in WAITS_NS {
        for way in [SPIN, FIBERS, THREADS, PROCESSES] {
            let compared = compare(records, way, wait_ns);
            let column = |number: fn(&Compared) -> f64| mean(compared.as_ref()?, number);
            let hidden = column(|one| one.hidden * 100.0);
            exhibit.row(vec![
                Cell::number(wait_ns as f64 / 1e3, 0),
                way.0.into(),
                Cell::new(&column(|one| one.requests_per_ms), 1, |mean| mean.estimate),
                Cell::new(&column(|one| one.work * 100.0), 1, |mean| mean.estimate),
                Cell::new(&hidden, 1, |mean| mean.estimate),
                Cell::new(&hidden, 1, |mean| mean.low),
                Cell::new(&hidden, 1, |mean| mean.high),
            ]);
        }
    }
    exhibit.add_note("A task asks a simulated device, and switches to a task that counts units of work (some 100 ns) until the clock \
         reaches the answer. *Hidden* is 1 minus the ratio of a request's time without work to a request's time if the CPU \
         spins: negative if switching takes longer than the wait.");
    exhibit.add_note("Fibers use setjmp and longjmp, without system calls; threads and processes use a futex. The device has no \
         interrupt and no kernel timer, which was late by 4 us in our guest (54 us without SCHED_FIFO).");
    exhibit
}

fn hidden_by_kernel(records: &Records, wait_ns: u64) -> Outcome {
    let term = |way: Way| {
        let hidden = mean(&compare(records, way, wait_ns)?, |one| one.hidden)?;
        Ok(Term::new(way.0, hidden))
    };
    let terms = [THREADS, PROCESSES].map(term).into_iter();
    Ok(Found::new(terms.collect::<Outcome<_>>()?, ""))
}

fn fibers_minus_threads(records: &Records) -> Outcome {
    let [fibers, threads] = [FIBERS, THREADS].map(|way| compare(records, way, WAITS_NS[0]));
    let pairs: Vec<_> = fibers?.into_iter().zip(threads?).collect();
    let difference = mean(&pairs, |(fibers, threads)| fibers.hidden - threads.hidden)?;
    let fibers = mean(&pairs, |(fibers, _)| fibers.hidden)?.estimate;
    Ok(Found::number(
        Term::new("fibers minus threads", difference),
        format!("fibers hide {}", percent(fibers)),
    ))
}

pub(super) fn quantities() -> Quantities {
    vec![
        ("fibers-hide-more", fibers_minus_threads),
        ("kernel-hides-no-microsecond", |r| {
            hidden_by_kernel(r, WAITS_NS[0])
        }),
        ("kernel-hides-100-microseconds", |r| {
            hidden_by_kernel(r, WAITS_NS[2])
        }),
    ]
}
