//! Tests `--history`: the differences between runs of this machine are found in records of a folder
//! that also has other files.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use switchcost_record::Chain;

use crate::common::{Place, count, text};

/// Flags for a synthetic switch, so that there are numbers however busy the machine is.
const MADE_UP: &str = "--mechanism synthetic --size 0 --budget 20s --no-rt";

/// Returns the record's lines as if the run had begun at another time with another program and
/// seed.
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

/// Returns the record with a changed header.
fn headed(record: &Path, change: impl Fn(&mut Value)) -> Vec<u8> {
    rewritten(record, |line| {
        if line["line"] == "header" {
            change(line);
        }
    })
}

/// Returns the record as if it began this many hours before 2026.
fn begun(record: &Path, hours: u64) -> Vec<u8> {
    let (day, hour) = (31 - hours / 24, 23 - hours % 24);
    headed(record, |header| {
        header["started_at"] = json!(format!("2025-12-{day:02}T{hour:02}:30:00Z"));
        header["seed"] = json!(hours);
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

impl History {
    fn new() -> History {
        let place = Place::new();
        place.measure(MADE_UP).assert_code(0);
        let (record, folder) = (place.path("run.jsonl"), place.path("history"));
        fs::write(&record, unshared(&record)).expect("written");
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

    /// Writes this many records, an hour apart.
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
fn seven_earlier_runs_replace_what_is_assumed_of_the_spread_between_runs() {
    let history = History::new();
    let without = history.place.run("report run.jsonl --format json").json();
    let empty = history.report();
    assert_eq!(
        (counts(&empty), &empty["results"][0]["direct_ns"]),
        ((0, 0, "assumed"), &without["results"][0]["direct_ns"])
    );
    assert!(
        without.get("earlier").is_none()
            && without["results"][0]["between_runs"]["source"] == "assumed"
    );

    history.keep_hours(0..6);
    assert_eq!(counts(&history.report()), (6, 6, "assumed"));
    history.keep_hours(6..7);
    let seven = history.report();
    assert_eq!(counts(&seven), (7, 7, "earlier-records"));
    // The records are equal, so the interval is extended by the assumed difference between runs,
    // whatever the uncertainty within the run is.
    let interval = |json: &Value| {
        let cost = &json["results"][0]["direct_ns"];
        let number = |value: &Value| value.as_f64().expect("a number");
        let within = [
            number(&cost["within_run"][0]),
            number(&cost["within_run"][1]),
        ];
        (
            number(&cost["low"])..number(&cost["high"]),
            within[0]..within[1],
        )
    };
    let (seven, by_seven) = interval(&seven);
    assert!(
        (seven.start - by_seven.start).abs() + (seven.end - by_seven.end).abs() < 1e-6,
        "{seven:?} {by_seven:?}"
    );
    let (assumed, by_itself) = interval(&without);
    assert_eq!(by_itself, by_seven);
    assert!(
        assumed.start < by_itself.start && by_itself.end < assumed.end,
        "{assumed:?} {by_itself:?}"
    );
}

#[test]
fn what_counts_in_a_folder_of_much_else_is_used_and_said() {
    let history = History::new();
    let record = history.record.as_path();
    history.keep_hours(0..7);
    let whole = begun(record, 10);
    let damaged = String::from_utf8(begun(record, 12))
        .expect("text")
        .replacen("\"line\":\"cycles\"", "\"line\":\"cycled\"", 1);
    history.keep("this-very-run.jsonl", &fs::read(record).expect("a record"));
    history.keep("cut.jsonl", &whole[..whole.len() - 20]);
    history.keep("header-cut.jsonl", &whole[..100]);
    history.keep("damaged.jsonl", damaged.as_bytes());
    history.keep(
        "newer.jsonl",
        String::from_utf8_lossy(&whole)
            .replacen("measure/2\"", "measure/3\"", 1)
            .as_bytes(),
    );
    history.keep("notes.jsonl", b"not a record\n");
    history.keep("empty.jsonl", b"");
    history.keep("notes.txt", b"whatever");
    history.keep("copy-of-3.jsonl", &begun(record, 3));
    history.keep(
        "tomorrow.jsonl",
        &headed(record, |header| {
            header["started_at"] = json!("2999-01-01T00:00:00Z");
        }),
    );
    history.keep(
        "elsewhere.jsonl",
        &headed(record, |header| {
            (header["started_at"], header["host"]["hostname"]) =
                (json!("2025-01-01T00:00:00Z"), json!("elsewhere"));
        }),
    );
    history.keep(
        "older-program.jsonl",
        &headed(record, |header| {
            (header["started_at"], header["program_version"]) =
                (json!("2025-01-02T00:00:00Z"), json!("0.0.9"));
        }),
    );
    fs::create_dir(history.folder.join("folder.jsonl")).expect("a folder");
    let all = history.report();
    // The record that ends inside its last line was cut off, and counts.
    assert_eq!(
        counts(&all),
        (16, 8, "earlier-records"),
        "{}",
        all["earlier"]
    );
    assert_eq!(
        all["earlier"]["left_out"],
        json!({
            "that do not begin as records do": 2, "damaged": 1, "of another version of the format": 1,
            "less than an hour before another": 1, "begun later": 1, "of another machine or kernel, or without its name": 1,
            "of another setting: switchcost": 1,
        })
    );
    let screen = history
        .place
        .run("report run.jsonl --history history")
        .stdout;
    let screen = screen.split_whitespace().collect::<Vec<_>>().join(" ");
    let said = "intervals from 8 earlier runs of this machine, 2025-12-31, which differ by 0";
    assert!(
        screen.contains("(16 records found; left out: 2 that do not begin as"),
        "{screen}"
    );
    assert!(screen.contains(said), "{screen}");
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
        let history = History::new();
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

#[test]
fn a_folder_that_is_not_there_and_a_record_without_runs_are_refused() {
    let place = Place::new();
    place
        .run(("measure --history nowhere", MADE_UP))
        .assert_code(5)
        .assert_message("nowhere")
        .assert_message("No such file or directory")
        .assert_message("name a folder of records that can be read");
    let sample = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../simulation-record/tests/samples/simulation-1.parquet");
    let ran = place.run(["report", text(&sample), "--history", "."]);
    let why = "error: simulation-1.parquet is not a record of measure, which --history needs\nhint: leave out --history\n";
    ran.assert_messages(2, why);
}
