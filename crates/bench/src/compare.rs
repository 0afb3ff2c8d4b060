//! The same machine against itself: how often `compare` calls a difference where there is none to be found.
//!
//! Ten short runs, compared two by two, and in every way of making two sets of five of them. Pairs share runs, so the
//! outcomes are not independent, and a share of ten runs is a rough figure.

use std::fs;
use std::path::{Path, PathBuf};

use crate::program::Program;
use crate::row::Row;

const RUNS: usize = 10;

/// Six cases: about a quarter of a minute a run.
const MEASURE: [&str; 9] =
    ["measure", "--mechanism", "pipe,futex,fiber", "--size", "0,64KiB", "--no-counters", "--quick", "--budget", "15s"];

/// What `compare` promises at its usual confidence.
const NOMINAL_PERCENT: usize = 10;

pub(crate) fn against_itself(program: &Program) -> Vec<Row> {
    let whats = [
        format!("compare of the same machine, {RUNS} runs two by two: comparisons that call any difference"),
        format!("the same in sets of {}, all ways to make them", RUNS / 2),
    ];
    let must_reach = format!("<= {NOMINAL_PERCENT} %, on average over such sets of runs");
    let command = format!("{RUNS} x {}; compare", MEASURE.join(" "));
    let records = match records(program) {
        Ok(records) => records,
        Err(why) => {
            return whats.iter().map(|what| Row::failed(what, &must_reach, why.clone(), command.clone())).collect();
        }
    };
    let counts = [of_pairs(program, &records), of_sets(program, &records)];
    let row = |(what, count): (String, Result<Count, String>)| match count {
        Err(why) => Row::failed(&what, &must_reach, why, command.clone()),
        Ok(count) => Row {
            measured: format!("{} of {} ({} could not be compared)", count.called, count.compared, count.failed),
            is_met: (count.compared > 0).then_some(count.called * 100 <= count.compared * NOMINAL_PERCENT),
            what,
            must_reach: must_reach.clone(),
            command: command.clone(),
        },
    };
    whats.into_iter().zip(counts).map(row).collect()
}

fn records(program: &Program) -> Result<Vec<PathBuf>, String> {
    let record = |number: usize| {
        let path = program.path(&format!("itself-{number}.jsonl"));
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
        let pairs = json["pairs"].as_array().ok_or("found no pairs in a comparison")?;
        let is_called = |verdict: &str| ["slower", "faster"].contains(&verdict);
        if json["compared"].as_u64().unwrap_or(0) == 0 {
            self.failed += 1;
            return Ok(());
        }
        self.compared += 1;
        self.called += usize::from(pairs.iter().filter_map(|pair| pair["verdict"].as_str()).any(is_called));
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
            for (place, record) in records.iter().enumerate().filter(|(place, _)| (members >> place & 1 == 1) == is_new)
            {
                fs::hard_link(record, folder.join(format!("{place}.jsonl"))).map_err(|error| error.to_string())?;
            }
        }
        count.add(program, &folders[0], &folders[1])?;
    }
    Ok(count)
}

/// Every way to make two halves of so many, as bits of the second; the first member is in the first half always, so that
/// no way is there twice.
fn halves(count: usize) -> impl Iterator<Item = u32> {
    (0..1_u32 << count).filter(move |members| members & 1 == 0 && members.count_ones() as usize == count / 2)
}

fn text(path: &Path) -> Result<&str, String> {
    path.to_str().ok_or_else(|| format!("found a name that is no text: {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_runs_make_two_sets_of_five_in_126_ways() {
        assert_eq!(halves(4).collect::<Vec<_>>(), [0b0110, 0b1010, 0b1100]);
        assert_eq!(halves(RUNS).count(), 126);
    }
}
