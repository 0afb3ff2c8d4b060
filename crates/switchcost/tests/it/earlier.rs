//! Tests `--history` and `compare`: the differences between runs of this machine are found in
//! records of a folder that also has other files.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde_json::{Value, json};
use switchcost_record::Chain;

use crate::common::{Place, count, in_one_line, number};

/// Flags for a synthetic switch, so that there are numbers however busy the machine is.
const MADE_UP: &str = "--mechanism synthetic --size 0 --budget 20s --no-rt";

/// Returns a record with `change` applied to each line, and valid checksums.
fn rewritten(record: &Path, change: impl Fn(&mut Value)) -> Vec<u8> {
    let (mut written, mut old, mut new) = (Vec::new(), Chain::default(), Chain::default());
    for line in fs::read(record)
        .expect("a record")
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
    {
        let mut line = line.to_vec();
        old = old.open(&mut line).expect("as it was written");
        let mut value: Value = serde_json::from_slice(&line).expect("JSON");
        change(&mut value);
        let mut line = serde_json::to_vec(&value).expect("JSON");
        new = new.seal(&mut line);
        written.extend(line);
        written.push(b'\n');
    }
    written
}

/// Returns the record as if it began `hours` hours and 30 minutes before 2026.
fn begun(record: &Path, hours: u64) -> Vec<u8> {
    let (day, hour) = (31 - hours / 24, 23 - hours % 24);
    rewritten(record, |line| {
        if line["line"] == "header" {
            line["started_at"] = json!(format!("2025-12-{day:02}T{hour:02}:30:00Z"));
            line["seed"] = json!(hours);
        }
    })
}

/// Returns the record as if its core had never been shared: each probe takes as long as the
/// shortest probe did.
fn unshared(record: &Path) -> Vec<u8> {
    rewritten(record, |line| {
        for probe in ["chain_ticks", "addition_ticks"] {
            let Some(ticks) = line.get_mut(probe).and_then(Value::as_array_mut) else {
                continue;
            };
            let shortest = ticks.iter().filter_map(Value::as_u64).min();
            ticks.fill(json!(shortest));
        }
    })
}

/// A record, and a folder of earlier records.
struct History {
    place: Place,
    record: PathBuf,
    folder: PathBuf,
}

/// Measures, and returns the record as if its core had never been shared.
fn measured() -> Vec<u8> {
    let place = Place::new();
    place.measure(MADE_UP).assert_code(0);
    unshared(&place.path("run.jsonl"))
}

impl History {
    /// Creates an empty folder of earlier records, and a record whose content several tests share.
    fn new() -> History {
        static RECORD: OnceLock<Vec<u8>> = OnceLock::new();
        History::beside(RECORD.get_or_init(measured))
    }

    fn beside(bytes: &[u8]) -> History {
        let place = Place::new();
        let (record, folder) = (place.path("run.jsonl"), place.path("history"));
        fs::write(&record, bytes).expect("written");
        fs::create_dir(&folder).expect("a folder");
        History {
            place,
            record,
            folder,
        }
    }

    fn keep(&self, name: &str, bytes: &[u8]) {
        fs::write(self.folder.join(name), bytes).expect("written");
    }

    /// Writes a record for each of `hours`, so that the records began an hour apart.
    fn keep_hours(&self, hours: Range<u64>) {
        hours.for_each(|hours| self.keep(&format!("{hours}.jsonl"), &begun(&self.record, hours)));
    }

    fn report(&self) -> Value {
        let ran = self
            .place
            .run("report run.jsonl --history history --format json");
        ran.assert_code(0);
        ran.json()
    }
}

fn counts(json: &Value) -> (u64, u64, &str) {
    let runs = &json["results"][0]["between_runs"];
    let found = count(&json["earlier"]["found"]);
    (
        found,
        count(&runs["earlier_runs"]),
        runs["source"].as_str().expect("a name"),
    )
}

#[test]
fn a_comparison_learns_the_spread_from_runs_before_it_only() {
    let History {
        place,
        record,
        folder,
    } = History::new();
    let runs = place.path("switchcost/runs");
    fs::create_dir_all(&runs).expect("a folder");
    for (name, hours) in [("base", 10), ("new", 9)] {
        fs::write(folder.join(name), begun(&record, hours)).expect("written");
    }
    for (hours, origin) in [(0..5, "assumed"), (11..16, "earlier-records")] {
        for hours in hours {
            let name = format!("{hours}-measure.jsonl");
            fs::write(runs.join(name), begun(&record, hours)).expect("written");
        }
        let ran = place.run("compare history/base history/new --format json");
        assert_eq!(ran.json()["run_spread"]["origin"], origin);
    }
}

#[test]
fn seven_earlier_runs_replace_what_is_assumed_of_the_spread_between_runs() {
    let history = History::new();
    let without = history.place.run("report run.jsonl --format json").json();
    let empty = history.report();
    assert_eq!(counts(&empty), (0, 0, "assumed"));
    assert!(without["earlier"].is_null());
    let results = [&empty, &without].map(|json| &json["results"][0]);
    assert_eq!(results[0]["direct_ns"], results[1]["direct_ns"]);
    assert_eq!(results[1]["between_runs"]["source"], "assumed");

    history.keep_hours(0..6);
    assert_eq!(counts(&history.report()), (6, 6, "assumed"));
    history.keep_hours(6..7);
    let seven = history.report();
    assert_eq!(counts(&seven), (7, 7, "earlier-records"));
    // The records are equal, so the interval is narrower than by the assumed difference.
    let [seven, assumed] = [&seven, &without].map(|json| &json["results"][0]["direct_ns"]);
    assert_eq!(seven["within_run"], assumed["within_run"]);
    let end = |cost: &Value, name: &str| number(&cost[name]);
    assert!(end(seven, "low") > end(assumed, "low"), "{seven} {assumed}");
    assert!(
        end(seven, "high") < end(assumed, "high"),
        "{seven} {assumed}"
    );
}

#[test]
fn what_counts_in_a_folder_of_much_else_is_used_and_said() {
    let history = History::new();
    let record = history.record.as_path();
    history.keep_hours(0..7);
    let whole = begun(record, 10);
    let replaced = |old: &str, new: &str| {
        let text = String::from_utf8_lossy(&whole).replacen(old, new, 1);
        text.into_bytes()
    };
    for (name, bytes) in [
        (
            "this-very-run.jsonl",
            &fs::read(record).expect("a record")[..],
        ),
        ("cut.jsonl", &whole[..whole.len() - 20]),
        ("header-cut.jsonl", &whole[..100]),
        (
            "damaged.jsonl",
            &replaced("\"line\":\"cycles\"", "\"line\":\"cycled\""),
        ),
        ("newer.jsonl", &replaced("measure/2\"", "measure/3\"")),
        ("notes.jsonl", b"not a record\n"),
        ("empty.jsonl", b""),
        ("notes.txt", b"whatever"),
    ] {
        history.keep(name, bytes);
    }
    fs::create_dir(history.folder.join("folder.jsonl")).expect("a folder");
    let all = history.report();
    // The record that ends inside its last line was cut off, and counts.
    assert_eq!(
        counts(&all),
        (12, 8, "earlier-records"),
        "{}",
        all["earlier"]
    );
    assert_eq!(
        all["earlier"]["left_out"],
        json!({ "that do not begin as records do": 2, "damaged": 1, "of another version of the format": 1 })
    );
    let ran = history.place.run("report run.jsonl --history history");
    let screen = in_one_line(&ran.stdout);
    for words in [
        "intervals from 8 earlier runs of this machine, 2025-12-31, which differ by 0",
        "(12 records found; left out: 2 that do not begin as",
    ] {
        assert!(screen.contains(words), "{screen}");
    }
}

/// Measures with earlier records; returns the result. Returns `None` if another
/// program has begun or stopped using perf or BPF since the earlier records were made, as a
/// concurrent test may, because that changes the environment.
fn measured_beside(history: &History) -> Option<Value> {
    let flags = "--max-repetitions 8 --no-counters --precision 1% --format json";
    let files = "--history history --record history/new.jsonl";
    let words = format!("measure {MADE_UP} {flags} {files}");
    let measured = history.place.run(words).assert_code(0).json();
    let is_other = measured["earlier"]["left_out"]["of another setting: perf and BPF"] == 8;
    (!is_other).then_some(measured)
}

#[test]
fn a_run_beside_its_own_records_takes_them_into_its_record_and_reports_say_so_without_them() {
    let beside = || {
        let history = History::beside(&measured());
        history.keep_hours(0..8);
        measured_beside(&history).map(|measured| (history, measured))
    };
    let (history, measured) = (0..10)
        .find_map(|_| beside())
        .expect("two runs of one setting");
    assert_eq!(
        counts(&measured),
        (8, 8, "earlier-records"),
        "{}",
        measured["earlier"]
    );
    fs::remove_file(history.folder.join("0.jsonl")).expect("ours");
    let again = history
        .place
        .run("report history/new.jsonl --format json")
        .json();
    assert_eq!(
        (&again["earlier"], &again["results"]),
        (&measured["earlier"], &measured["results"])
    );
}
