//! Tests comparisons of records, as a user makes them.

use std::path::{Path, PathBuf};

use crate::common::{Place, text};
use serde_json::Value;

/// Measures a synthetic switch of known length into `name`.
pub(crate) fn measured(place: &Place, name: &str, length: &str) {
    let path = place.path(name);
    let ran = place.run(&[
        "measure",
        "--mechanism",
        "synthetic",
        "--no-counters",
        "--budget",
        "1s",
        "--synthetic-switch",
        length,
        "--record",
        text(&path),
    ]);
    assert!(path.exists(), "{}", ran.stderr);
}

#[test]
fn what_is_no_record_is_refused() {
    let place = Place::new();
    let empty = place.path("empty");
    std::fs::create_dir(&empty).expect("room");
    let none = place.run(&["compare", text(&empty), text(&empty)]);
    assert_eq!(
        (none.code, none.stderr.contains("there is no record in ")),
        (5, true),
        "{}",
        none.stderr
    );
    let missing = place.run(&["compare", "/nonexistent/a.jsonl", "/nonexistent/b.jsonl"]);
    assert_eq!(
        (missing.code, missing.stderr.contains("cannot read")),
        (5, true),
        "{}",
        missing.stderr
    );
    let share = place.run(&["compare", "a", "b", "--fail-above", "5"]);
    assert_eq!(
        (
            share.code,
            share.stderr.contains("write a percentage such as 5%")
        ),
        (2, true),
        "{}",
        share.stderr
    );
}

#[test]
fn a_copy_of_a_run_is_no_second_run() {
    let place = Place::new();
    let folder = place.path("base");
    std::fs::create_dir(&folder).expect("room");
    measured(&place, "base/a.jsonl", "2us");
    measured(&place, "new.jsonl", "2us");
    let (once, copy, new) = (
        place.path("base/a.jsonl"),
        place.path("base/b.jsonl"),
        place.path("new.jsonl"),
    );
    std::fs::copy(&once, &copy).expect("room");
    let error = |place: &str, first: &Path, second: &Path| {
        let remedy = match place {
            "on both sides" => "name two different runs",
            _ => "leave one out",
        };
        format!(
            "error: the same run is given {place}, as {} and {}\nhint: {remedy}\n",
            first.display(),
            second.display()
        )
    };
    let twice = place.run(&["compare", text(&folder), text(&new)]);
    assert_eq!(
        (twice.code, twice.stderr),
        (2, error("twice in the base records", &once, &copy))
    );
    let both = place.run(&["compare", text(&once), text(&copy)]);
    assert_eq!(
        (both.code, both.stderr),
        (2, error("on both sides", &once, &copy))
    );
}

fn sample(path: &str) -> String {
    format!("{}/../{path}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn simulations_are_compared_design_by_design_and_the_design_is_said_first() {
    let place = Place::new();
    let trace = sample("trace/tests/samples/trace-3-marks.sctrace");
    let simulate = |design: &str, name: &str| {
        let record = place.path(name);
        let ran = place.run(&[
            "simulate",
            &trace,
            "--design",
            design,
            "--record",
            text(&record),
        ]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        record
    };
    let (one, two) = (
        simulate("mogul-1a", "one.parquet"),
        simulate("mogul-2a", "two.parquet"),
    );
    let ran = place.run(&["compare", text(&one), text(&two), "--format", "json"]);
    let value = ran.json();
    // The sample is so short that no cost has an interval.
    assert_eq!(
        (&value["basis"], ran.code),
        (&"same-trace".into(), 3),
        "{value}"
    );
    let (base, new) = (
        serde_json::json!(["mogul-1a"]),
        serde_json::json!(["mogul-2a"]),
    );
    let first = &value["designs"][0];
    assert_eq!(
        (&first["what"], &first["base"], &first["new"]),
        (&"design".into(), &base, &new)
    );
    assert_eq!(
        value["pairs"][0]["outcome"], "not-comparable",
        "{}",
        value["pairs"][0]
    );
    let table = place
        .run(&["compare", text(&one), text(&two), "--details"])
        .stdout;
    let at = |words: &str| {
        table
            .find(words)
            .unwrap_or_else(|| panic!("no '{words}' in {table}"))
    };
    assert!(
        at("Designs") < at("Simulated costs") && at("Simulated costs") < at("all switches"),
        "{table}"
    );
    let page = place.path("page.html");
    place.run(&["compare", text(&one), text(&two), "-o", text(&page)]);
    assert!(
        std::fs::read_to_string(page)
            .expect("a page")
            .contains("Both sides since the switch")
    );
    let again = place.run(&["compare", text(&one), text(&one)]);
    assert_eq!(
        (
            again.code,
            again.stderr.contains("the same run is given on both sides")
        ),
        (2, true),
        "{}",
        again.stderr
    );
}

#[test]
fn records_of_two_kinds_are_refused() {
    let place = Place::new();
    let (measured, simulated) = (
        sample("record/tests/samples/measure-2.jsonl"),
        sample("simulation-record/tests/samples/simulation-1.parquet"),
    );
    let ran = place.run(&["compare", &measured, &simulated]);
    let error = format!(
        "error: {measured} is a record of a measurement, and {simulated} of a simulation\nhint: compare records of one kind\n"
    );
    assert_eq!((ran.code, ran.stderr), (2, error));
}

/// Observes three times a shell that runs `true` this many times, by the kernel's own counters,
/// which need no rights.
fn observed(place: &Place, folder: &str, times: u32) -> PathBuf {
    std::fs::create_dir(place.path(folder)).expect("room");
    let script =
        format!("i=0; while [ $i -lt {times} ]; do sleep 0.001; i=$((i + 1)); done; sleep 0.5");
    for run in 0..3 {
        let record = place.path(&format!("{folder}/{run}.json"));
        let observe = [
            "observe",
            "--no-bpf",
            "--no-calibration",
            "--record",
            text(&record),
            "--",
        ];
        let ran = place.run(&[&observe[..], &["sh", "-c", &script]].concat());
        assert!(record.exists(), "{}", ran.stderr);
    }
    place.path(folder)
}

#[test]
fn an_observed_program_that_switches_more_is_reported_and_one_record_gives_no_verdict() {
    let place = Place::new();
    let (few, many) = (observed(&place, "few", 5), observed(&place, "many", 100));
    let json = |base: &Path, new: &Path| {
        let ran = place.run(&["compare", text(base), text(new), "--format", "json"]);
        let value = ran.json();
        assert_eq!(value["basis"], "observations");
        let is_of_all = |pair: &&Value| pair["kind"] == "all" && pair["quantity"] == "switches";
        let pair = value["pairs"]
            .as_array()
            .expect("a list")
            .iter()
            .find(is_of_all)
            .expect("switches")
            .clone();
        (pair, ran.code)
    };
    let (more, _) = json(&few, &many);
    assert_eq!(
        (&more["outcome"], &more["verdict"]),
        (&"compared".into(), &"slower".into()),
        "{more}"
    );
    let (fewer, _) = json(&many, &few);
    assert_eq!(fewer["verdict"], "faster", "{fewer}");
    let (alone, code) = json(&few.join("0.json"), &many.join("0.json"));
    assert_eq!(
        (&alone["outcome"], code),
        (&"not-judged".into(), 3),
        "{alone}"
    );
    let screen = place.run(&["compare", text(&few), text(&many)]).stdout;
    assert!(
        screen.contains("switches per second") && screen.contains("higher"),
        "{screen}"
    );
    let failed = place.run(&["compare", text(&few), text(&many), "--fail-above", "50%"]);
    assert_eq!(failed.code, 6, "{}", failed.stdout);
    let measured = sample("record/tests/samples/measure-2.jsonl");
    let mixed = place.run(&["compare", text(&few), &measured]);
    assert_eq!(
        (mixed.code, mixed.stderr.contains("of an observation")),
        (2, true),
        "{}",
        mixed.stderr
    );
}
