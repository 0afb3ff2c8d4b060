//! What observing costs, and whether the cost that it reports is true.

use std::path::Path;

use crate::observed::CPU;
use crate::patterns;
use crate::program::Program;
use crate::row::Row;
use crate::run::words;
use crate::spread::Spread;

/// Each is run so often beside the same unwatched, all in turn.
const ROUNDS: usize = 7;

/// Round trips of `perf bench sched pipe`, of two switches each.
const TRIPS: &str = "100000";

pub(crate) fn all(program: &Program) -> Vec<Row> {
    let mut rows = overhead(program);
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
