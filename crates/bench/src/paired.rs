//! What the experiment in cycles promises: numbers that repeat, quiet and beside a neighbour.

use serde_json::Value;

use crate::neighbour::Neighbour;
use crate::program::{Program, number};
use crate::row::Row;
use crate::spread::Spread;

/// Separate runs of each kind.
const RUNS: usize = 20;

/// Of them so many have to cover the median of all: 90 % of 20 less two standard deviations of chance.
const MUST_COVER: usize = 16;

/// Trials of a change.
const TRIALS: usize = 10;

/// Default runs, half of them beside the neighbour.
const DEFAULT_RUNS: usize = 20;

pub(crate) fn all(program: &Program) -> Vec<Row> {
    let mut rows = Vec::new();
    for is_loud in [false, true] {
        rows.extend(
            [(0, "1s"), (64, "2s"), (1024, "2s")]
                .map(|(kib, budget)| coverage(program, kib, budget, is_loud)),
        );
        rows.push(half_width(program, 1, "2s", 5.0, is_loud));
        rows.push(half_width(program, 16, "5s", 20.0, is_loud));
        rows.push(small_change(program, is_loud));
    }
    rows.extend(default_runs(program));
    rows
}

fn place(is_loud: bool) -> &'static str {
    if is_loud {
        "beside a neighbour"
    } else {
        "quiet"
    }
}

fn pipe(kib: u64, budget: &str) -> Vec<String> {
    let size = format!("{kib}KiB");
    [
        "measure",
        "--mechanism",
        "pipe",
        "--size",
        &size,
        "--no-counters",
        "--budget",
        budget,
        "--precision",
        "0.1%",
    ]
    .map(str::to_owned)
    .to_vec()
}

fn run(program: &Program, arguments: &[String], is_loud: bool) -> Option<Value> {
    let _neighbour = is_loud.then(Neighbour::start);
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    program.run(&words).ok().map(|ran| ran.json)
}

/// Low, centre and high of the cost that a case is about, in core cycles without a working set.
fn interval(json: &Value, kib: u64) -> Option<[f64; 3]> {
    let quantity = if kib == 0 {
        "direct_cycles"
    } else {
        "total_ns"
    };
    let [low, centre, high] =
        ["low", "estimate", "high"].map(|end| number(json, &format!("results.0.{quantity}.{end}")));
    Some([low?, centre?, high?])
}

fn coverage(program: &Program, kib: u64, budget: &str, is_loud: bool) -> Row {
    let arguments = pipe(kib, budget);
    let what = format!(
        "pipe, {kib} KiB, {}: of {RUNS} runs, intervals that cover the median of all",
        place(is_loud)
    );
    let must_reach = format!(">= {MUST_COVER}");
    let found: Vec<[f64; 3]> = (0..RUNS)
        .filter_map(|_| interval(&run(program, &arguments, is_loud)?, kib))
        .collect();
    let Some(spread) = Spread::of(
        &found
            .iter()
            .map(|[_, centre, _]| *centre)
            .collect::<Vec<_>>(),
    ) else {
        return Row::failed(
            &what,
            &must_reach,
            "no run measured it".to_owned(),
            arguments.join(" "),
        );
    };
    let covering = found
        .iter()
        .filter(|[low, _, high]| (*low..=*high).contains(&spread.median))
        .count();
    let unit = if kib == 0 { "cycles" } else { "ns" };
    Row {
        what,
        must_reach,
        measured: format!("{covering} of {}; {spread} {unit}", found.len()),
        is_met: Some(covering >= MUST_COVER),
        command: arguments.join(" "),
    }
}

/// Half-width of the interval of the total cost in percent, the median of five runs.
fn half_width(program: &Program, mib: u64, budget: &str, limit: f64, is_loud: bool) -> Row {
    let arguments = pipe(mib << 10, budget);
    let what = format!(
        "pipe, total cost of {mib} MiB, {}: half-width in {budget}",
        place(is_loud)
    );
    let width = |_| {
        let [low, centre, high] = interval(&run(program, &arguments, is_loud)?, mib << 10)?;
        Some((high - low) / 2.0 / centre.abs() * 100.0)
    };
    let found =
        Spread::of(&(0..5).filter_map(width).collect::<Vec<f64>>()).ok_or("no run measured it");
    let found = found.map(|spread| (format!("{spread} %"), Some(spread.median <= limit)));
    Row::of(what, format!("<= {limit} %"), arguments.join(" "), found)
}

/// A switch that is made up, and one that is a hundredth longer: whether each run of a second by itself keeps them apart.
fn small_change(program: &Program, is_loud: bool) -> Row {
    let what = format!(
        "made-up switches of 2000 and 2020 ns, {}: of {TRIALS} trials of 1 s each, distinguished",
        place(is_loud)
    );
    let arguments = |length: &str| {
        [
            "measure",
            "--mechanism",
            "synthetic",
            "--no-counters",
            "--budget",
            "1s",
            "--precision",
            "0.1%",
            "--synthetic-switch",
            length,
        ]
        .map(str::to_owned)
        .to_vec()
    };
    let within_run = |length: &str| {
        let json = run(program, &arguments(length), is_loud)?;
        let end = |place: usize| number(&json, &format!("results.0.direct_ns.within_run.{place}"));
        end(0).zip(end(1))
    };
    let trials: Vec<((f64, f64), (f64, f64))> = (0..TRIALS)
        .filter_map(|_| within_run("2000ns").zip(within_run("2020ns")))
        .collect();
    let found = trials
        .iter()
        .filter(|((_, high), (low, _))| high < low)
        .count();
    Row {
        what,
        must_reach: format!(">= {}", TRIALS - 1),
        measured: format!("{found} of {}", trials.len()),
        is_met: (trials.len() == TRIALS).then_some(found + 1 >= TRIALS),
        command: arguments("2020ns").join(" "),
    }
}

/// Default runs, every other one beside a neighbour: whether every mechanism has a number in all, and how well they agree.
fn default_runs(program: &Program) -> Vec<Row> {
    let arguments = ["measure".to_owned()];
    let runs: Vec<Value> = (0..DEFAULT_RUNS)
        .filter_map(|index| run(program, &arguments, index % 2 == 1))
        .collect();
    let results = |json: &Value| json["results"].as_array().cloned().unwrap_or_default();
    let missing: Vec<String> = runs
        .iter()
        .flat_map(results)
        .filter(|result| result["status"] == "not-measured")
        .map(|result| {
            format!(
                "{} {} {}: {}",
                result["mechanism"], result["policy"], result["size_bytes"], result["why"]
            )
        })
        .collect();
    let what =
        format!("{DEFAULT_RUNS} default runs, half of them beside a neighbour: rows not measured");
    let first = Row {
        what,
        must_reach: "0".to_owned(),
        measured: format!(
            "{} of {}: {}",
            missing.len(),
            runs.iter().map(|run| results(run).len()).sum::<usize>(),
            missing.join(", ")
        ),
        is_met: (runs.len() == DEFAULT_RUNS).then_some(missing.is_empty()),
        command: "measure".to_owned(),
    };
    vec![
        first,
        agreement(&runs.iter().map(results).collect::<Vec<_>>()),
    ]
}

/// Largest deviation of the direct cost in core cycles from its median over all runs with a twentieth of unshared cycles; of
/// all mechanisms the median.
fn agreement(runs: &[Vec<Value>]) -> Row {
    let direct = |result: &Value| {
        let is_unshared = result["shared"]["share"]
            .as_f64()
            .is_some_and(|share| share <= 0.95);
        result["direct_cycles"]["estimate"]
            .as_f64()
            .filter(|_| is_unshared && result["size_bytes"] == 0)
    };
    let cases = runs.iter().map(Vec::len).max().unwrap_or(0);
    let deviations: Vec<f64> = (0..cases)
        .filter_map(|case| {
            let values: Vec<f64> = runs
                .iter()
                .filter_map(|run| direct(run.get(case)?))
                .collect();
            Some(Spread::of(&values)?.largest_deviation_percent())
        })
        .collect();
    let (what, must_reach) = (
        "the same: largest deviation of direct costs in core cycles, median of all mechanisms",
        "<= 3 %",
    );
    let found = Spread::of(&deviations)
        .ok_or("no core cycles here")
        .map(|spread| {
            (
                format!("{spread} % over {} mechanisms", deviations.len()),
                Some(spread.median <= 3.0),
            )
        });
    Row::of(what, must_reach, "measure", found)
}
