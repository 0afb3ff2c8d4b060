//! The pipe against itself and against `perf bench sched pipe`; the resolution of a fiber switch.

use std::process::Command;

use crate::program::{Program, number};
use crate::row::Row;
use crate::spread::Spread;

const RUNS: usize = 10;

pub(crate) fn pipe(program: &Program) -> Vec<Row> {
    let mut rows = vec![precision(program), agreement(program)];
    rows.push(against_perf(program));
    rows
}

const PIPE: [&str; 7] = [
    "measure",
    "--mechanism",
    "pipe",
    "--no-counters",
    "--budget",
    "2s",
    "--precision",
];

/// Half-width of the interval after two seconds, in percent, over several runs.
fn precision(program: &Program) -> Row {
    let (what, must_reach) = (
        "pipe, direct cost: half-width of the 90 % interval after 2 s",
        "<= 1 %",
    );
    let arguments = [&PIPE[..], &["0.1%"]].concat();
    let outcomes = (0..RUNS).map(|_| {
        program
            .run(&arguments)
            .and_then(|ran| half_width_percent(&ran.json))
    });
    let (widths, failures): (Vec<_>, Vec<_>) = outcomes.partition(Result::is_ok);
    let widths: Vec<f64> = widths.into_iter().flatten().collect();
    let found = match (
        Spread::of(&widths),
        failures.into_iter().find_map(Result::err),
    ) {
        (Some(spread), why) => {
            let why = why.map_or_else(String::new, |why| format!(" ({why})"));
            let measured = format!("{spread} %; {} of {RUNS} runs measured{why}", widths.len());
            Ok((measured, Some(spread.median <= 1.0)))
        }
        (None, why) => Err(why.unwrap_or_default()),
    };
    Row::of(what, must_reach, arguments.join(" "), found)
}

fn half_width_percent(json: &serde_json::Value) -> Result<f64, String> {
    let at = |name: &str| number(json, &format!("results.0.direct_ns.{name}"));
    let half = || Some((at("high")? - at("low")?) / 2.0 / at("estimate")? * 100.0);
    half().ok_or_else(|| format!("not measured: {}", json["results"][0]["why"]))
}

/// Ten separate runs, largest deviation from their median.
fn agreement(program: &Program) -> Row {
    let (what, must_reach) = (
        "pipe, direct cost: ten runs, largest deviation from their median",
        "<= 3 %",
    );
    let arguments = [&PIPE[..], &["1%"]].concat();
    let estimates: Vec<f64> = (0..RUNS)
        .filter_map(|_| {
            number(
                &program.run(&arguments).ok()?.json,
                "results.0.direct_ns.estimate",
            )
        })
        .collect();
    let found = Spread::of(&estimates)
        .filter(|_| estimates.len() == RUNS)
        .map(|spread| {
            let deviation = spread.largest_deviation_percent();
            (
                format!("{deviation:.2} %; {spread} ns"),
                Some(deviation <= 3.0),
            )
        });
    let found = found.ok_or_else(|| format!("{} of {RUNS} runs measured", estimates.len()));
    Row::of(what, must_reach, arguments.join(" "), found)
}

/// The round trip under the default policy on one CPU, against perf's, in turn.
fn against_perf(program: &Program) -> Row {
    let what = "pipe, round trip on one CPU without real-time priority, over perf bench sched pipe's, in turn";
    let command =
        "measure --mechanism pipe --no-rt --cpu C | taskset -c C perf bench sched pipe -l 50000";
    let ratios: Vec<(f64, f64)> = (0..RUNS)
        .filter_map(|_| {
            let ran = program
                .run(&[&PIPE[..], &["1%", "--no-rt", "--cpu", "0"]].concat())
                .ok()?;
            Some((
                number(&ran.json, "results.0.round_trip_ns.estimate")?,
                perf_round_trip_ns()?,
            ))
        })
        .collect();
    let ours = Spread::of(&ratios.iter().map(|(ours, _)| *ours).collect::<Vec<_>>());
    let theirs = Spread::of(&ratios.iter().map(|(_, theirs)| *theirs).collect::<Vec<_>>());
    let ratio = Spread::of(
        &ratios
            .iter()
            .map(|(ours, theirs)| ours / theirs)
            .collect::<Vec<_>>(),
    );
    let found = ours.zip(theirs).zip(ratio).map(|((ours, theirs), ratio)| {
        (
            format!(
                "ratio {ratio}; ours {ours} ns, perf's {theirs} ns; {} pairs",
                ratios.len()
            ),
            None,
        )
    });
    let found = found.ok_or("perf bench is not to be had (package linux-perf)");
    Row::of(what, "side by side", command, found)
}

/// `perf bench` calls a round trip an op, and prints microseconds.
fn perf_round_trip_ns() -> Option<f64> {
    let arguments = [
        "-c", "0", "perf", "bench", "-f", "simple", "sched", "pipe", "-l", "50000",
    ];
    let output = Command::new("taskset").args(arguments).output().ok()?;
    let seconds: f64 = String::from_utf8_lossy(&output.stdout)
        .trim()
        .parse()
        .ok()?;
    Some(seconds * 1e9 / 50_000.0)
}

/// Half-width of the interval of a fiber switch in nanoseconds, over several runs.
pub(crate) fn fiber(program: &Program) -> Vec<Row> {
    let (what, must_reach) = (
        "fiber, direct cost: half-width of the 90 % interval",
        "<= 0.1 ns",
    );
    let arguments = [
        "measure",
        "--mechanism",
        "fiber",
        "--no-counters",
        "--budget",
        "2s",
        "--precision",
        "0.5%",
    ];
    let runs: Vec<(f64, f64)> = (0..RUNS)
        .filter_map(|_| {
            let json = program.run(&arguments).ok()?.json;
            let at = |name: &str| number(&json, &format!("results.0.direct_ns.{name}"));
            Some((at("estimate")?, (at("high")? - at("low")?) / 2.0))
        })
        .collect();
    let estimates = Spread::of(
        &runs
            .iter()
            .map(|(estimate, _)| *estimate)
            .collect::<Vec<_>>(),
    );
    let widths = Spread::of(&runs.iter().map(|(_, width)| *width).collect::<Vec<_>>());
    let found = estimates.zip(widths).map(|(estimates, widths)| {
        (
            format!("{widths} ns; estimates {estimates} ns; {} runs", runs.len()),
            Some(widths.median <= 0.1),
        )
    });
    vec![Row::of(
        what,
        must_reach,
        arguments.join(" "),
        found.ok_or("no run measured it"),
    )]
}
