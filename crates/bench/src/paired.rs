//! Checks of measurements: results are reproducible on a quiet machine and next to another task,
//! and equal arms show no difference.

use serde_json::Value;

use crate::figure::{Bound, count_trials};
use crate::row::Row;
use crate::shell::{Shell, interval, need};
use crate::spread::Spread;
use crate::tables::{self, BESIDE_NEIGHBOUR, PLACES};

/// Number of runs for each condition.
const RUNS: usize = 20;

/// Number of runs whose interval must cover the median of all: 90 % of 20, minus two standard
/// deviations.
const MUST_COVER: usize = 16;

/// Number of trials that search for a small change.
const TRIALS: usize = 10;

/// Number of runs with default settings, half of which are next to another task.
const DEFAULT_RUNS: usize = 20;

/// Number of runs with equal arms. With intervals of 90 %, one in ten may show a difference by
/// chance.
const NULLS: usize = 400;

pub(crate) fn measure(shell: &Shell) -> Vec<Row> {
    let mut rows = tables::half_widths().measure(shell);
    for place in PLACES {
        for (size, budget, quantity) in [
            ("0", "1s", "direct_cycles"),
            ("64KiB", "2s", "total_ns"),
            ("1MiB", "2s", "total_ns"),
        ] {
            rows.push(coverage(shell, place, size, budget, quantity));
        }
        rows.push(small_change(shell, place));
    }
    rows.extend(default_runs(shell));
    rows
}

fn coverage(
    shell: &Shell,
    (place, prefix): (&str, &str),
    size: &str,
    budget: &str,
    quantity: &str,
) -> Row {
    let command = format!(
        "{prefix}switchcost measure --mechanism pipe --size {size} --no-counters --budget {budget} --precision 0.1% --format json"
    );
    let run = |_| {
        interval(
            &shell.json(&command)?,
            &format!("results.0.{quantity}"),
            "estimate",
        )
    };
    let found = (0..RUNS)
        .map(run)
        .collect::<Result<Vec<[f64; 3]>, String>>();
    let found = found.and_then(|intervals| {
        let centres: Vec<f64> = intervals.iter().map(|[_, centre, _]| *centre).collect();
        let spread = Spread::new(&centres).ok_or("no run")?;
        let covers = |[low, _, high]: &&[f64; 3]| (*low..=*high).contains(&spread.median);
        let covering = intervals.iter().filter(covers).count();
        let measured = format!("{covering} of {RUNS}; {spread}");
        Ok((measured, Some(covering >= MUST_COVER)))
    });
    Row::new(
        format!(
            "pipe, {size}, {place}: of {RUNS} runs, intervals of {quantity} that cover the median of all"
        ),
        format!(">= {MUST_COVER}"),
        &command,
        found,
    )
}

/// Tests whether runs of one second distinguish a synthetic switch from one that is 1 % longer.
fn small_change(shell: &Shell, (place, prefix): (&str, &str)) -> Row {
    let command = |length: &str| {
        format!(
            "{prefix}switchcost measure --mechanism synthetic --no-counters --budget 1s --precision 0.1% \
             --synthetic-switch {length} --format json"
        )
    };
    let end = |length: &str, place: usize| {
        let path = format!("results.0.direct_ns.within_run.{place}");
        need(&shell.json(&command(length))?, &path)
    };
    count_trials(
        format!(
            "made-up switches of 2000 and 2020 ns, {place}: of {TRIALS} trials of 1 s each, distinguished"
        ),
        TRIALS,
        Bound::AtLeast(TRIALS as f64 - 1.0),
        command("2020ns"),
        |_| Ok(end("2000ns", 1)? < end("2020ns", 0)?),
    )
}

/// Makes runs with default settings, every other one next to another task. Tests whether every
/// mechanism has a result in all runs, and how well the runs agree.
fn default_runs(shell: &Shell) -> Vec<Row> {
    let command = "switchcost measure --format json";
    let run = |index: usize| {
        let prefix = if index % 2 == 1 { BESIDE_NEIGHBOUR } else { "" };
        let json = shell.json(&format!("{prefix}{command}"))?;
        Ok(json["results"].as_array().cloned().unwrap_or_default())
    };
    let runs = (0..DEFAULT_RUNS)
        .map(run)
        .collect::<Result<Vec<Vec<Value>>, String>>();
    let missing = runs.clone().map(|runs| {
        let missing: Vec<String> = runs.iter().flatten().filter_map(missing_reason).collect();
        let all = runs.iter().flatten().count();
        let measured = format!("{} of {all}: {}", missing.len(), missing.join(", "));
        (measured, Some(missing.is_empty()))
    });
    let deviations = runs.and_then(|runs| {
        let cases = runs.iter().map(Vec::len).max().unwrap_or(0);
        let deviation = |case: usize| {
            let cycles: Vec<f64> = runs
                .iter()
                .filter_map(|run| unshared_cycles(run.get(case)?))
                .collect();
            Spread::new(&cycles).map(|spread| spread.largest_deviation_percent())
        };
        let deviations: Vec<f64> = (0..cases).filter_map(deviation).collect();
        let spread = Spread::new(&deviations).ok_or("no core cycles here")?;
        let measured = format!("{spread} % over {} mechanisms", deviations.len());
        Ok((measured, Some(spread.median <= 3.0)))
    });
    vec![
        Row::new(
            format!(
                "{DEFAULT_RUNS} default runs, half of them beside a neighbour: rows not measured"
            ),
            "0",
            command,
            missing,
        ),
        Row::new(
            "the same: largest deviation of direct costs in core cycles, median of all mechanisms",
            "<= 3 %",
            command,
            deviations,
        ),
    ]
}

fn missing_reason(result: &Value) -> Option<String> {
    let fields = ["mechanism", "policy", "size_bytes", "why"];
    (result["status"] == "not-measured")
        .then(|| fields.map(|field| result[field].to_string()).join(" "))
}

/// Returns the direct cost in cycles of a result without a working set. `None` for other results,
/// or if more than 95 % of the core's cycles were shared.
fn unshared_cycles(result: &Value) -> Option<f64> {
    let is_unshared = result["shared"]["share"].as_f64()? <= 0.95;
    let cycles = result["direct_cycles"]["estimate"].as_f64()?;
    (is_unshared && result["size_bytes"] == 0).then_some(cycles)
}

/// Counts how often a difference between equal arms is reported.
pub(crate) fn equal_arms(shell: &Shell) -> Row {
    let command = "switchcost measure --mechanism synthetic --no-counters --synthetic-switch 0ns --max-repetitions 10 \
                   --precision 0.1% --format json";
    count_trials(
        format!(
            "{NULLS} runs of two equal arms, every other one beside a neighbour: differences called"
        ),
        NULLS,
        Bound::AtMost(NULLS as f64 / 10.0),
        command,
        |trial| {
            let prefix = if trial % 2 == 1 { BESIDE_NEIGHBOUR } else { "" };
            let json = shell.json(&format!("{prefix}{command}"))?;
            need(&json, "results.0.direct_ns.estimate")?;
            let flags = json["results"][0]["flags"].as_array();
            let is_zero = |flags: &Vec<Value>| {
                flags
                    .iter()
                    .any(|flag| flag == "not-distinguishable-from-0")
            };
            Ok(!flags.is_some_and(is_zero))
        },
    )
}
