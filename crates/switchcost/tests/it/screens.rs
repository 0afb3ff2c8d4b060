//! Tests the default screen of each command for a committed record or a generated trace: at most 45
//! lines of 100 columns.

use crate::common::{Place, finished};

const LINES: usize = 45;
const COLUMNS: usize = 100;

/// Kept records, each with its name in the test's folder.
const SAMPLES: &str = "\
crates/record/tests/samples/measure-2.jsonl measure-2.jsonl
crates/record/tests/samples/measure-run.jsonl measure-run.jsonl
crates/record/tests/samples/observation-2.json observation-2.json
crates/record/tests/samples/observation-run.json observation-run.json
fuzz/corpus/injection_record/small injection.jsonl";

const SCREENS: &str = "\
report measure-2.jsonl
report measure-run.jsonl
report observation-2.json
report observation-run.json
report injection.jsonl
trace walks --size 4KiB -o made.sct
trace walks --size 8KiB -o more.sct
trace info made.sct
trace check made.sct
trace head made.sct -n 8
simulate made.sct --record made.parquet
simulate more.sct --record more.parquet
report made.parquet
compare made.parquet more.parquet
reproduce lmbench --claims
reproduce blog --claims
reproduce mogul1990 --claims
reproduce all --claims";

fn screen(place: &Place, line: &str) -> String {
    let ran = finished(place.command(line).env("TERM", "xterm"));
    let widest = ran.stdout.lines().map(|line| line.chars().count()).max();
    let height = ran.stdout.lines().count();
    assert!(
        height <= LINES && widest.unwrap_or(0) <= COLUMNS,
        "{line}: {height} lines, {widest:?} columns\n{}",
        ran.stdout
    );
    format!("$ switchcost {line}\n{}[{}]\n\n", ran.stdout, ran.code)
}

#[test]
fn each_default_screen_fits_and_reads_as_kept() {
    let place = Place::new();
    for line in SAMPLES.lines() {
        let (sample, name) = line.split_once(' ').expect("a file and its name");
        place.copy(sample, name);
    }
    let screens: String = SCREENS.lines().map(|line| screen(&place, line)).collect();
    insta::assert_snapshot!(screens);
}
