//! The ladder of runtimes: how long it takes and how wide its intervals are; and hand-offs of it from run to run.

use serde_json::Value;

use crate::program::{Program, number};
use crate::row::Row;
use crate::spread::Spread;

const RUNS: usize = 10;
const LADDER_SECONDS: f64 = 90.0;

/// Hand-offs that stand for the others: of a runtime that is compiled, of one that compiles as it runs, of threads of the kernel.
const OVER_RUNS: [&str; 4] = [
    "go/channel",
    "java/virtual-queue",
    "node/await",
    "java/platform-queue",
];

pub(crate) fn all(program: &Program) -> Vec<Row> {
    let mut rows = ladder(program);
    rows.extend(over_runs(program));
    rows
}

fn ladder(program: &Program) -> Vec<Row> {
    let arguments = ["runtimes"];
    let (time, widths) = (
        "the ladder of all runtimes that are here",
        "its hand-offs without data whose interval is within 5 %",
    );
    let ran = match program.run(&arguments) {
        Ok(ran) => ran,
        Err(why) => return vec![Row::failed(time, "<= 90 s", why, arguments.join(" "))],
    };
    let seconds = ran.elapsed.as_secs_f64();
    let found: Vec<(String, f64)> = results(&ran.json)
        .filter_map(|result| Some((name(result), half_width(result)?)))
        .collect();
    let wide: Vec<String> = found
        .iter()
        .filter(|(_, half)| *half > 0.05)
        .map(|(name, half)| format!("{name} {:.0} %", half * 100.0))
        .collect();
    vec![
        Row {
            what: time.to_owned(),
            must_reach: format!("<= {LADDER_SECONDS} s"),
            measured: format!("{seconds:.1} s, {} hand-offs measured", found.len()),
            is_met: Some(seconds <= LADDER_SECONDS),
            command: arguments.join(" "),
        },
        Row {
            what: widths.to_owned(),
            must_reach: "all, or the reason".to_owned(),
            measured: format!(
                "{} of {}; wider: {}",
                found.len() - wide.len(),
                found.len(),
                wide.join(", ")
            ),
            is_met: None,
            command: arguments.join(" "),
        },
    ]
}

/// The runs of all of them in turn, so that a slow change of the machine is in all alike.
fn over_runs(program: &Program) -> Vec<Row> {
    let list = OVER_RUNS.join(",");
    let arguments = [
        "measure",
        "--mechanism",
        "fiber",
        "--runtime",
        &list,
        "--no-counters",
        "--budget",
        "20s",
    ];
    let runs: Vec<Value> = (0..RUNS)
        .filter_map(|_| Some(program.run(&arguments).ok()?.json))
        .collect();
    let row = |wanted: &&str| {
        let what = format!("{wanted}, core cycles: ten runs, largest deviation from their median");
        let cycles: Vec<f64> = runs
            .iter()
            .filter_map(|json| cycles(json, wanted))
            .collect();
        let found = Spread::of(&cycles)
            .filter(|_| cycles.len() == RUNS)
            .map(|spread| {
                let deviation = spread.largest_deviation_percent();
                (
                    format!("{deviation:.1} %; {spread} cycles"),
                    Some(deviation <= 3.0),
                )
            });
        let found = found.ok_or_else(|| format!("{} of {RUNS} runs measured it", cycles.len()));
        Row::of(what, "<= 3 %", arguments.join(" "), found)
    };
    OVER_RUNS.iter().map(row).collect()
}

fn results(json: &Value) -> impl Iterator<Item = &Value> {
    let without_data = |result: &&Value| result["size_bytes"] == 0 && result["runtime"].is_string();
    json["results"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(without_data)
}

fn name(result: &Value) -> String {
    format!(
        "{}/{}",
        result["runtime"].as_str().unwrap_or(""),
        result["runtime_handoff"].as_str().unwrap_or("")
    )
}

fn half_width(result: &Value) -> Option<f64> {
    let at = |end: &str| number(result, &format!("handoff_ns.{end}"));
    Some((at("high")? - at("low")?) / 2.0 / at("estimate")?)
}

fn cycles(json: &Value, wanted: &str) -> Option<f64> {
    let result = results(json).find(|result| name(result) == wanted)?;
    Some(number(result, "handoff_ns.estimate")? * number(json, "core.hertz")? / 1e9)
}
