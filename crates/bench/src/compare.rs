//! The same machine against itself: how often `compare` calls a difference where there is none to be found.
//!
//! Forty quick runs, every other one beside a neighbour, compared two by two; and the first ten in every way of making two sets of
//! five of them. Pairs share runs, so the outcomes are not independent. And whether sets of three find a change that there is.

use std::fs;
use std::path::{Path, PathBuf};

use crate::neighbour::Neighbour;
use crate::program::Program;
use crate::row::Row;

const RUNS: usize = 40;

/// Runs that sets are made of.
const IN_SETS: usize = 10;

const MEASURE: [&str; 2] = ["measure", "--quick"];

/// What `compare` promises at its usual confidence.
const NOMINAL_PERCENT: usize = 10;

pub(crate) fn against_itself(program: &Program) -> Vec<Row> {
    let whats = [
        format!(
            "compare of the same machine, {RUNS} runs two by two: comparisons that call any difference"
        ),
        format!(
            "the first {IN_SETS} of them in sets of {}, all ways to make them",
            IN_SETS / 2
        ),
    ];
    let must_reach = format!("<= {NOMINAL_PERCENT} %, on average over such sets of runs");
    let command = format!("{RUNS} x {}; compare", MEASURE.join(" "));
    let records = match records(program) {
        Ok(records) => records,
        Err(why) => {
            return whats
                .iter()
                .map(|what| Row::failed(what, &must_reach, why.clone(), command.clone()))
                .collect();
        }
    };
    let counts = [
        of_pairs(program, &records),
        of_sets(program, &records[..IN_SETS]),
    ];
    let row = |(what, count): (String, Result<Count, String>)| {
        let found = count.map(
            |Count {
                 called,
                 compared,
                 failed,
             }| {
                let is_met = (compared > 0).then_some(called * 100 <= compared * NOMINAL_PERCENT);
                (
                    format!("{called} of {compared} ({failed} could not be compared)"),
                    is_met,
                )
            },
        );
        Row::of(what, &must_reach, &command, found)
    };
    whats
        .into_iter()
        .zip(counts)
        .map(row)
        .chain([made_up_change(program)])
        .collect()
}

/// Trials with three records a side, of a made-up switch and one that is a twentieth longer.
const TRIALS: usize = 10;
const CHANGE: f64 = 1.05;

fn made_up_change(program: &Program) -> Row {
    let what = format!(
        "made-up switches of 2 us and 2.1 us, 3 records a side: of {TRIALS} trials, slower and within 3 % of it"
    );
    let command = "measure --mechanism synthetic --synthetic-switch 2us --budget 1s; compare";
    let found: Result<usize, String> = (0..TRIALS)
        .map(|trial| finds_change(program, trial).map(usize::from))
        .sum();
    let found = found.map(|found| (found.to_string(), Some(found + 1 >= TRIALS)));
    Row::of(what, format!(">= {}", TRIALS - 1), command, found)
}

fn finds_change(program: &Program, trial: usize) -> Result<bool, String> {
    let sides =
        ["2us", "2100ns"].map(|length| (length, program.path(&format!("change-{trial}-{length}"))));
    for (_, folder) in &sides {
        fs::create_dir(folder).map_err(|error| error.to_string())?;
    }
    for run in 0..3 {
        for (length, folder) in &sides {
            let record = folder.join(format!("{run}.jsonl"));
            let usual = [
                "measure",
                "--mechanism",
                "synthetic",
                "--no-counters",
                "--budget",
                "1s",
            ];
            program.run(
                &[
                    &usual[..],
                    &["--synthetic-switch", length, "--record", text(&record)?],
                ]
                .concat(),
            )?;
        }
    }
    let pair = &program
        .run(&["compare", text(&sides[0].1)?, text(&sides[1].1)?])?
        .json["pairs"][0];
    let ratio = pair["ratio"].as_f64().unwrap_or(f64::NAN);
    Ok(pair["verdict"] == "slower" && (ratio / CHANGE - 1.0).abs() <= 0.03)
}

fn records(program: &Program) -> Result<Vec<PathBuf>, String> {
    let record = |number: usize| {
        let path = program.path(&format!("itself-{number}.jsonl"));
        let _neighbour = (number % 2 == 1).then(Neighbour::start);
        program.run(&[&MEASURE[..], &["--record", text(&path)?]].concat())?;
        Ok(path)
    };
    (0..RUNS).map(record).collect()
}

#[derive(Clone, Copy, Default)]
struct Count {
    called: usize,
    compared: usize,
    failed: usize,
}

impl Count {
    /// Adds a comparison.
    fn add(&mut self, program: &Program, base: &Path, new: &Path) -> Result<(), String> {
        let json = program.run(&["compare", text(base)?, text(new)?])?.json;
        let pairs = json["pairs"]
            .as_array()
            .ok_or("found no pairs in a comparison")?;
        let is_called = |verdict: &str| ["slower", "faster"].contains(&verdict);
        if json["compared"].as_u64().unwrap_or(0) == 0 {
            self.failed += 1;
            return Ok(());
        }
        self.compared += 1;
        self.called += usize::from(
            pairs
                .iter()
                .filter_map(|pair| pair["verdict"].as_str())
                .any(is_called),
        );
        Ok(())
    }
}

fn of_pairs(program: &Program, records: &[PathBuf]) -> Result<Count, String> {
    let mut count = Count::default();
    for (place, base) in records.iter().enumerate() {
        for new in &records[place + 1..] {
            count.add(program, base, new)?;
        }
    }
    Ok(count)
}

fn of_sets(program: &Program, records: &[PathBuf]) -> Result<Count, String> {
    let mut count = Count::default();
    for members in halves(records.len()) {
        let folders = ["base", "new"].map(|side| program.path(&format!("itself-{side}")));
        for (folder, is_new) in folders.iter().zip([false, true]) {
            let _ = fs::remove_dir_all(folder);
            fs::create_dir(folder).map_err(|error| error.to_string())?;
            for (place, record) in records
                .iter()
                .enumerate()
                .filter(|(place, _)| (members >> place & 1 == 1) == is_new)
            {
                fs::hard_link(record, folder.join(format!("{place}.jsonl")))
                    .map_err(|error| error.to_string())?;
            }
        }
        count.add(program, &folders[0], &folders[1])?;
    }
    Ok(count)
}

/// Every way to make two halves of so many, as bits of the second; the first member is in the first half always, so that
/// no way is there twice.
fn halves(count: usize) -> impl Iterator<Item = u32> {
    (0..1_u32 << count)
        .filter(move |members| members & 1 == 0 && members.count_ones() as usize == count / 2)
}

fn text(path: &Path) -> Result<&str, String> {
    path.to_str()
        .ok_or_else(|| format!("found a name that is no text: {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_runs_make_two_sets_of_five_in_126_ways() {
        assert_eq!(halves(4).collect::<Vec<_>>(), [0b0110, 0b1010, 0b1100]);
        assert_eq!(halves(IN_SETS).count(), 126);
    }
}
