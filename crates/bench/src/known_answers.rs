//! What is known before it is measured: made-up switches, made-up reloads, and runs without any difference.

use crate::neighbour::Neighbour;
use crate::program::{Program, has_flag, number};
use crate::row::Row;
use crate::spread::Spread;

const RUNS: usize = 5;

/// Runs without any difference; one in ten may call one by chance at 90 %.
const TRIALS: usize = 400;

pub(crate) fn all(program: &Program) -> Vec<Row> {
    let mut rows: Vec<Row> = ["200ns", "2us", "20us"]
        .into_iter()
        .map(|length| switch(program, length))
        .collect();
    rows.extend(
        [("64KiB", "20us"), ("1MiB", "100us")].map(|(size, length)| reload(program, size, length)),
    );
    rows.push(without_difference(program));
    rows
}

fn nanos(text: &str) -> f64 {
    let split = text
        .find(|c: char| c.is_ascii_alphabetic())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    number.parse::<f64>().unwrap_or(f64::NAN) * if unit == "us" { 1e3 } else { 1.0 }
}

/// Ratio of what is found to what was made up, over several runs.
fn recovered(program: &Program, arguments: &[&str], path: &str, truth: f64) -> Option<Spread> {
    let ratios: Vec<f64> = (0..RUNS)
        .filter_map(|_| Some(number(&program.run(arguments).ok()?.json, path)? / truth))
        .collect();
    Spread::of(&ratios)
}

fn switch(program: &Program, length: &str) -> Row {
    let (what, must_reach) = (
        format!("made-up switch of {length}: found over made up"),
        "within 2 %",
    );
    let arguments = [
        "measure",
        "--mechanism",
        "synthetic",
        "--no-counters",
        "--synthetic-switch",
        length,
    ];
    let found = recovered(
        program,
        &arguments,
        "results.0.direct_ns.estimate",
        nanos(length),
    );
    row(&what, must_reach, found, 0.02, arguments.join(" "))
}

/// What a made-up reload adds to the indirect cost that the same walk has without one: a walk behind a spin costs a
/// little more than one behind another walk, since the prefetchers start anew, and that much is no error.
fn reload(program: &Program, size: &str, length: &str) -> Row {
    let what = format!(
        "made-up reload of {length} behind a walk of {size}, over the same without: found over made up"
    );
    let arguments = |length| {
        [
            "measure",
            "--mechanism",
            "synthetic",
            "--no-counters",
            "--size",
            size,
            "--synthetic-reload",
            length,
        ]
    };
    let indirect = |length| {
        number(
            &program.run(&arguments(length)).ok()?.json,
            "results.0.indirect_ns.estimate",
        )
    };
    let ratios: Vec<f64> = (0..RUNS)
        .filter_map(|_| Some((indirect(length)? - indirect("0ns")?) / nanos(length)))
        .collect();
    row(
        &what,
        "within 5 %",
        Spread::of(&ratios),
        0.05,
        arguments(length).join(" "),
    )
}

fn row(what: &str, must_reach: &str, found: Option<Spread>, within: f64, command: String) -> Row {
    let found = found.map(|ratio| {
        let is_met = (ratio.low - 1.0).abs() <= within && (ratio.high - 1.0).abs() <= within;
        (format!("{ratio} over {RUNS} runs"), Some(is_met))
    });
    Row::of(what, must_reach, command, found.ok_or("no run measured it"))
}

/// How often a difference is called where there is none.
fn without_difference(program: &Program) -> Row {
    let what = format!(
        "{TRIALS} runs of two equal arms, every other one beside a neighbour: differences called"
    );
    let must_reach = format!("<= {} (10 %)", TRIALS / 10);
    let arguments = [
        "measure",
        "--mechanism",
        "synthetic",
        "--no-counters",
        "--synthetic-switch",
        "0ns",
        "--max-repetitions",
        "10",
        "--precision",
        "0.1%",
    ];
    let verdicts: Vec<bool> = (0..TRIALS)
        .filter_map(|trial| {
            let _neighbour = (trial % 2 == 1).then(Neighbour::start);
            let json = program.run(&arguments).ok()?.json;
            number(&json, "results.0.direct_ns.estimate")?;
            Some(!has_flag(&json, "not-distinguishable-from-0"))
        })
        .collect();
    let called = verdicts.iter().filter(|is_called| **is_called).count();
    Row {
        what,
        must_reach,
        measured: format!("{called} of {}", verdicts.len()),
        is_met: (verdicts.len() == TRIALS).then_some(called * 10 <= TRIALS),
        command: arguments.join(" "),
    }
}
