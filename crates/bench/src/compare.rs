//! Counts how often `compare` reports a difference between runs of the same machine, although there
//! is none.
//!
//! Every other one of forty quick runs is next to another task. Each run is compared with each
//! other run, and the first ten runs in every division into two sets of five. The outcomes are not
//! independent, because pairs share runs. A further check shows whether sets of three runs find an
//! existing change.

use crate::figure::{Bound, count_trials};
use crate::row::Row;
use crate::shell::Shell;
use crate::tables::BESIDE_NEIGHBOUR;

const RUNS: usize = 40;

/// Number of runs of which every division into two sets of equal size is compared.
const IN_SETS: usize = 10;

/// Error rate in percent that `compare` promises at its default confidence.
const NOMINAL_PERCENT: usize = 10;

/// Number of trials that compare a synthetic switch with one that is longer by the factor
/// [`CHANGE`], with three records per side.
const TRIALS: usize = 10;
const CHANGE: f64 = 1.05;

pub(crate) fn measure(shell: &Shell) -> Vec<Row> {
    let records = (0..RUNS).try_for_each(|index| {
        let prefix = if index % 2 == 1 { BESIDE_NEIGHBOUR } else { "" };
        let record = format!("{prefix}switchcost measure --quick --record itself-{index}.jsonl");
        shell.run(&record).map(drop)
    });
    let row = |what: String, mut comparisons: Box<dyn Iterator<Item = String>>| {
        let count = records.clone().and_then(|()| {
            comparisons.try_fold(Count::default(), |count, comparison| {
                count.add(shell, &comparison)
            })
        });
        let must_reach = format!("<= {NOMINAL_PERCENT} %, on average over such sets of runs");
        let command = format!("{RUNS} x switchcost measure --quick; switchcost compare");
        Row::new(what, must_reach, command, count.map(Count::judge))
    };
    let halves = IN_SETS / 2;
    vec![
        row(
            format!(
                "compare of the same machine, {RUNS} runs two by two: comparisons that call any difference"
            ),
            Box::new(pairs()),
        ),
        row(
            format!("the first {IN_SETS} of them in sets of {halves}, all ways to make them"),
            Box::new(halves_of(IN_SETS).map(sets)),
        ),
        made_up_change(shell),
    ]
}

/// Returns the command lines that compare each run with each later run.
fn pairs() -> impl Iterator<Item = String> {
    let later = |base| (base + 1..RUNS).map(move |new| (base, new));
    (0..RUNS).flat_map(later).map(|(base, new)| {
        format!("switchcost compare itself-{base}.jsonl itself-{new}.jsonl --format json")
    })
}

/// Returns the command line that compares the runs in `members`, one bit for each, with the others
/// of the first [`IN_SETS`] runs.
fn sets(members: u32) -> String {
    let link = |index: usize| {
        let side = if members >> index & 1 == 1 {
            "new"
        } else {
            "base"
        };
        format!("ln itself-{index}.jsonl $out/{side}/; ")
    };
    let links: String = (0..IN_SETS).map(link).collect();
    format!("mkdir $out/base $out/new; {links}switchcost compare $out/base $out/new --format json")
}

/// Returns every division of a set into halves, as bits that mark the second half. The first member
/// is always in the first half, so that no division occurs twice.
fn halves_of(count: usize) -> impl Iterator<Item = u32> {
    (0..1_u32 << count)
        .filter(move |members| members & 1 == 0 && members.count_ones() as usize == count / 2)
}

#[derive(Clone, Copy, Default)]
struct Count {
    called: usize,
    compared: usize,
    failed: usize,
}

impl Count {
    /// Makes one comparison, and counts its result.
    fn add(mut self, shell: &Shell, comparison: &str) -> Result<Count, String> {
        let json = shell.json(comparison)?;
        if json["compared"].as_u64().unwrap_or(0) == 0 {
            self.failed += 1;
            return Ok(self);
        }
        let pairs = json["pairs"]
            .as_array()
            .ok_or("found no pairs in a comparison")?;
        let is_called = pairs
            .iter()
            .any(|pair| pair["verdict"] == "slower" || pair["verdict"] == "faster");
        self.compared += 1;
        self.called += usize::from(is_called);
        Ok(self)
    }

    fn judge(self) -> (String, Option<bool>) {
        let Count {
            called,
            compared,
            failed,
        } = self;
        let is_met = (compared > 0).then_some(called * 100 <= compared * NOMINAL_PERCENT);
        (
            format!("{called} of {compared} ({failed} could not be compared)"),
            is_met,
        )
    }
}

fn made_up_change(shell: &Shell) -> Row {
    let command = "mkdir $out/base $out/new; \
                   measure='switchcost measure --mechanism synthetic --no-counters --budget 1s'; \
                   for run in 1 2 3; do \
                   $measure --synthetic-switch 2us --record $out/base/$run.jsonl; \
                   $measure --synthetic-switch 2100ns --record $out/new/$run.jsonl; \
                   done > /dev/null; \
                   switchcost compare $out/base $out/new --format json";
    count_trials(
        format!(
            "made-up switches of 2 us and 2.1 us, 3 records a side: of {TRIALS} trials, slower and within 3 % of it"
        ),
        TRIALS,
        Bound::AtLeast(TRIALS as f64 - 1.0),
        command,
        |_| {
            let pair = &shell.json(command)?["pairs"][0];
            let ratio = pair["ratio"].as_f64().unwrap_or(f64::NAN);
            Ok(pair["verdict"] == "slower" && (ratio / CHANGE - 1.0).abs() <= 0.03)
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_runs_make_two_sets_of_five_in_126_ways() {
        assert_eq!(halves_of(4).collect::<Vec<_>>(), [0b0110, 0b1010, 0b1100]);
        assert_eq!(halves_of(IN_SETS).count(), 126);
        assert_eq!(pairs().count(), 780);
    }
}
