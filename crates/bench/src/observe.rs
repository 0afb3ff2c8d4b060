//! What observing costs, and whether the cost that it reports is true.

use std::path::Path;

use crate::observed::{CPU, observed};
use crate::order::Order;
use crate::patterns;
use crate::ping_pong::{self, Work};
use crate::program::{Program, number};
use crate::row::Row;
use crate::run::{run, words};
use crate::spread::Spread;

/// Each is run so often beside the same unwatched, all in turn.
const ROUNDS: usize = 7;

/// Round trips of `perf bench sched pipe`, of two switches each.
const TRIPS: &str = "100000";

/// Arrays walked between switches, in KiB.
const SIZES: [usize; 10] = [0, 16, 64, 128, 256, 512, 1024, 2048, 3072, 4096];

/// About so long takes each run of a known cost ...
const SECONDS: f64 = 0.3;

/// ... and so many there are, in turn with the same work alone.
const RUNS: usize = 7;

pub(crate) fn all(program: &Program) -> Vec<Row> {
    let mut rows = overhead(program);
    rows.extend(truth(program));
    rows.extend(patterns::all(program));
    rows
}

// --- What it costs ---

/// What it is, the words before its command, and how many nanoseconds it may add to a switch.
type Watcher = (&'static str, &'static [&'static str], Option<f64>);

/// The observers of a ping-pong over a pipe; `{}` is an unused file.
const WATCHERS: [Watcher; 6] = [
    (
        "observe",
        &[
            "{switchcost}",
            "observe",
            "--no-calibration",
            "--record",
            "{}",
            "--",
        ],
        Some(300.0),
    ),
    (
        "observe --counts-only",
        &[
            "{switchcost}",
            "observe",
            "--no-calibration",
            "--counts-only",
            "--record",
            "{}",
            "--",
        ],
        Some(150.0),
    ),
    (
        "observe --wakers",
        &[
            "{switchcost}",
            "observe",
            "--no-calibration",
            "--wakers",
            "--record",
            "{}",
            "--",
        ],
        None,
    ),
    (
        "perf stat -a -e context-switches",
        &[
            "perf",
            "stat",
            "-a",
            "-e",
            "context-switches",
            "-o",
            "{}",
            "--",
        ],
        None,
    ),
    (
        "perf record -e sched:sched_switch -a",
        &[
            "perf",
            "record",
            "-q",
            "-e",
            "sched:sched_switch",
            "-a",
            "-o",
            "{}",
            "--",
        ],
        None,
    ),
    (
        "perf sched record",
        &["perf", "sched", "record", "-q", "-o", "{}", "--"],
        None,
    ),
];

fn overhead(program: &Program) -> Vec<Row> {
    let scratch = program.path("watched");
    let binary = program
        .command(&[])
        .get_program()
        .to_string_lossy()
        .into_owned();
    let mut added: Vec<Vec<f64>> = vec![Vec::new(); WATCHERS.len()];
    let trip = |watcher: &[&str]| trip_ns(watcher, &binary, &scratch);
    for round in 0..ROUNDS {
        for (watcher, added) in WATCHERS.iter().zip(&mut added) {
            // The first of two finds the core as the pause before it left it: each is first in every other round.
            let (alone, watched) = if round % 2 == 0 {
                let alone = trip(&[]);
                (alone, trip(watcher.1))
            } else {
                let watched = trip(watcher.1);
                (trip(&[]), watched)
            };
            added.extend(
                watched
                    .zip(alone)
                    .map(|(watched, alone)| (watched - alone) / 2.0),
            );
        }
    }
    let row = |(watcher, added): (&Watcher, &Vec<f64>)| {
        let what = format!(
            "{} of a pinned perf bench sched pipe, added to each switch",
            watcher.0
        );
        let command = format!(
            "{} taskset -c {CPU} perf bench sched pipe -l {TRIPS}",
            watcher.1.join(" ")
        );
        let most = watcher
            .2
            .map_or("-".to_owned(), |most| format!("<= {most} ns"));
        let found = Spread::of(added).map(|Spread { low, median, high }| {
            (
                format!("{median:.0} ns ({low:.0} to {high:.0})"),
                watcher.2.map(|most| median <= most),
            )
        });
        Row::of(
            what,
            most,
            command,
            found.ok_or("perf bench is not to be had, or what watches it"),
        )
    };
    WATCHERS.iter().zip(&added).map(row).collect()
}

/// Nanoseconds of a round trip, as `perf bench` prints them; none where it does not.
fn trip_ns(watcher: &[&str], binary: &str, scratch: &Path) -> Option<f64> {
    let _ = std::fs::remove_file(scratch);
    let scratch = scratch.to_string_lossy();
    let mut line: Vec<String> = watcher
        .iter()
        .map(|word| word.replace("{switchcost}", binary).replace("{}", &scratch))
        .collect();
    line.extend(
        [
            "taskset", "-c", CPU, "perf", "bench", "sched", "pipe", "-l", TRIPS,
        ]
        .map(str::to_owned),
    );
    let output = words(&line.iter().map(String::as_str).collect::<Vec<_>>())
        .output()
        .ok()?;
    // What is observed prints to standard error.
    let text = [output.stdout, output.stderr]
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .concat();
    let line = text
        .lines()
        .find_map(|line| line.trim().strip_suffix("usecs/op"))?;
    line.trim().parse::<f64>().ok().map(|us| us * 1000.0)
}

// --- Whether it is true ---

/// A workload of which the cost of its switches is known, and what was reported of it; in nanoseconds of all its switches.
struct Known {
    kib: usize,
    cost: Spread,
    reported: Option<(f64, f64, f64)>,
    switches: f64,
}

impl Known {
    fn is_inside(&self) -> bool {
        self.reported
            .is_some_and(|(low, _, high)| (low..=high).contains(&self.cost.median))
    }

    fn is_near(&self) -> bool {
        self.reported
            .is_some_and(|(_, likely, _)| (likely / self.cost.median - 1.0).abs() <= 0.25)
    }
}

fn truth(program: &Program) -> Vec<Row> {
    let (inside, near) = (
        "cost reported of ping-pongs with arrays of 0 to 4 MiB holds the CPU time that they take above the same work without switches",
        "the same: what is reported as likely, against it",
    );
    let command =
        "observe -- ping-pong, each beside itself and beside the same work alone, 7 times in turn"
            .to_owned();
    // Measured as users have it: once, before anything is observed.
    if let Err(why) = program.run(&["measure"]) {
        return vec![Row::failed(inside, ">= 9 of 10", why, command)];
    }
    let known: Result<Vec<Known>, String> = SIZES.iter().map(|&kib| known(program, kib)).collect();
    let known = match known {
        Ok(known) => known,
        Err(why) => return vec![Row::failed(inside, ">= 9 of 10", why, command)],
    };
    let count = |is: fn(&Known) -> bool| known.iter().filter(|known| is(known)).count();
    let list = known.iter().map(reported).collect::<Vec<_>>().join("; ");
    let (held, hit) = (count(Known::is_inside), count(Known::is_near));
    let row = |what: &str, must_reach: &str, count: usize, least: usize, list: &str| Row {
        what: what.to_owned(),
        must_reach: must_reach.to_owned(),
        measured: format!("{count} of {}{list}", known.len()),
        is_met: Some(count >= least),
        command: command.clone(),
    };
    vec![
        row(inside, ">= 9 of 10", held, 9, &format!(": {list}")),
        row(near, "within 25 % in >= 7 of 10", hit, 7, ""),
    ]
}

/// `64 KiB: 2.31 us a switch (2.10 to 2.52), reported 2.20 (1.71 to 4.80)`.
fn reported(known: &Known) -> String {
    let each = |ns: f64| ns / known.switches / 1000.0;
    let reported = known
        .reported
        .map_or("nothing".to_owned(), |(low, likely, high)| {
            format!(
                "{:.2} ({:.2} to {:.2})",
                each(likely),
                each(low),
                each(high)
            )
        });
    let Spread { low, median, high } = known.cost;
    format!(
        "{} KiB: {:.2} us a switch ({:.2} to {:.2}), reported {reported}",
        known.kib,
        each(median),
        each(low),
        each(high)
    )
}

fn known(program: &Program, kib: usize) -> Result<Known, String> {
    let bytes = kib << 10;
    // A walk takes about a nanosecond for each three elements, a hand-off some microseconds.
    let rounds = (SECONDS * 1e9 / (bytes as f64 / 8.0 / 2.0 + 5_000.0) / 2.0) as usize;
    let work = Work {
        order: Order::Sequential,
        bytes,
        rounds,
        walks: 1,
    };
    let workload = |role| ping_pong::command(CPU, role, work).map_err(|error| error.to_string());
    let (mut costs, mut reported, mut switches) = (Vec::new(), Vec::new(), Vec::new());
    let cpu = |role| Ok::<f64, String>(run(workload(role)?, None)?.cpu.as_nanos() as f64);
    for each in 0..RUNS {
        let (alone, pair) = if each % 2 == 0 {
            let alone = cpu("alone")?;
            (alone, cpu("pair")?)
        } else {
            let pair = cpu("pair")?;
            (cpu("alone")?, pair)
        };
        costs.push(pair - alone);
        let observed = observed(program, &workload("pair")?)?;
        let of = |path: &str| number(&observed, path);
        switches.extend(of("all.switches"));
        reported.extend(
            of("all.cost_ns.low")
                .zip(of("all.cost_ns.likely"))
                .zip(of("all.cost_ns.high")),
        );
    }
    let median = |figures: &[f64]| {
        Spread::of(figures)
            .map(|spread| spread.median)
            .ok_or("nothing was counted".to_owned())
    };
    let part = |of: fn(&((f64, f64), f64)) -> f64| {
        median(&reported.iter().map(of).collect::<Vec<_>>()).ok()
    };
    let ends = part(|((low, _), _)| *low)
        .zip(part(|((_, likely), _)| *likely))
        .zip(part(|(_, high)| *high));
    Ok(Known {
        kib,
        cost: Spread::of(&costs).ok_or("nothing ran".to_owned())?,
        reported: ends.map(|((low, likely), high)| (low, likely, high)),
        switches: median(&switches)?,
    })
}
